// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/type/expr"
)

// allowed reports whether the secret's policy gives the member the permission.
// There are no policies of projects here, and no basic role has access to
// payloads but the owner's: the policy of the secret alone counts.
func (s *Service) allowed(n secretName, member, permission string) (bool, error) {
	p, err := s.policy(n)
	if err != nil {
		return false, err
	}
	are := append([]string{normal(member)}, everyone...)
	for _, b := range p.GetBindings() {
		if !slices.Contains(roles[b.GetRole()], permission) || !s.holds(b.GetCondition()) {
			continue
		}
		for _, m := range b.GetMembers() {
			if slices.Contains(are, s.shown(m)) {
				return true, nil
			}
		}
	}
	return false, nil
}

func normal(member string) string {
	if kind, rest, _ := strings.Cut(member, ":"); slices.Contains(addressed, kind) {
		return kind + ":" + strings.ToLower(rest)
	}
	return member
}

var until = regexp.MustCompile(`^\s*request\.time\s*(<|>|<=|>=)\s*timestamp\(["']([^"']+)["']\)\s*$`)

// holds evaluates conditions of one comparison with the time. Others, which
// speak of the resource, are taken to hold.
func (s *Service) holds(condition *expr.Expr) bool {
	m := until.FindStringSubmatch(condition.GetExpression())
	if m == nil {
		return true
	}
	t, err := time.Parse(time.RFC3339, m[2])
	if err != nil {
		return false
	}
	if strings.HasPrefix(m[1], "<") {
		return s.clock.Now().Before(t)
	}
	return s.clock.Now().After(t)
}
