// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// everyone are the members that public access prevention excludes.
var everyone = []string{"allUsers", "allAuthenticatedUsers"}

// kinds of members that are addresses, kept in lower case.
var addressed = []string{"user", "serviceAccount", "group", "domain"}

func unknownMember(member string) error {
	return invalid("The member %s is of an unknown type. Please set a valid type prefix for the member.", member)
}

// readMember checks a member of a policy that is to be written, notes the
// unique id behind its address and returns its kept form.
func (s *Service) readMember(o policyOwner, member string, uids map[string]string) (string, error) {
	if slices.Contains(everyone, member) {
		if preventsPublic(o.bucket.Resource) {
			return "", unmet("The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced.")
		}
		return member, nil
	}
	if strings.HasPrefix(member, "principal://") || strings.HasPrefix(member, "principalSet://") {
		return member, nil
	}
	kind, rest, ok := strings.Cut(member, ":")
	if !ok {
		return "", unknownMember(member)
	}
	switch kind {
	case "user", "group", "domain", "serviceAccount":
		return s.readAddress(kind, strings.ToLower(rest), uids)
	case "projectOwner", "projectEditor", "projectViewer":
		if rest == "" || strings.Trim(rest, "0123456789") == "" { // an id, not a number
			return "", invalid("Project %s does not exist.", rest)
		}
		return member, nil
	case "deleted":
		return readDeleted(member, rest)
	}
	return "", unknownMember(member)
}

func (s *Service) readAddress(kind, address string, uids map[string]string) (string, error) {
	if address == "" {
		noun := map[string]string{"user": "user", "group": "group", "domain": "domain", "serviceAccount": "service account"}[kind]
		return "", invalid("The email address of a %s in the IAM policy is empty.", noun)
	}
	member := kind + ":" + address
	if kind != "domain" && !strings.Contains(address, "@") || strings.ContainsAny(address, " ?\n") {
		return "", invalid("Invalid argument.")
	}
	if kind != "serviceAccount" {
		return member, nil
	}
	if s.accounts != nil && userManaged(address) && !s.accounts.MemberExists(member) {
		return "", invalid("Service account %s does not exist.", address)
	}
	if uid := s.uniqueID(address); uid != "" {
		uids[member] = uid
	}
	return member, nil
}

func readDeleted(member, rest string) (string, error) {
	kind, address, ok := strings.Cut(rest, ":")
	address, query, hasUID := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if !ok || !hasUID || err != nil || values.Get("uid") == "" || address == "" || !slices.Contains(addressed[:3], kind) {
		return "", unknownMember(member)
	}
	return "deleted:" + kind + ":" + strings.ToLower(address) + "?uid=" + values.Get("uid"), nil
}

// refuseTwins: a policy must not name an address both as deleted and as live.
func refuseTwins(p policyRecord) error {
	live := map[string]bool{}
	for _, b := range p.Bindings {
		for _, m := range b.Members {
			live[m] = true
		}
	}
	for _, b := range p.Bindings {
		for _, m := range b.Members {
			rest, ok := strings.CutPrefix(m, "deleted:")
			if !ok {
				continue
			}
			if twin, _, _ := strings.Cut(rest, "?"); live[twin] {
				return invalid("Inconsistent representation of deleted member: '%s' and '%s'.", m, twin)
			}
		}
	}
	return nil
}

// userManaged tells accounts that somebody makes from those that Google keeps
// itself, of which the emulator knows nothing.
func userManaged(email string) bool {
	rest, ok := strings.CutSuffix(email, ".iam.gserviceaccount.com")
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 {
		return false
	}
	project := rest[at+1:]
	if project == "" || strings.Trim(project, "abcdefghijklmnopqrstuvwxyz0123456789.:-") != "" {
		return false
	}
	return !strings.HasPrefix(project, "gcp-sa-") && project != "gs-project-accounts" && !strings.HasPrefix(project, "serverless-robot")
}

func (s *Service) uniqueID(email string) string {
	d, ok := s.accounts.(directory)
	if !ok {
		return ""
	}
	account, ok := d.Lookup(email)
	if !ok {
		return ""
	}
	return account.GetUniqueId()
}

// shownMembers shows the grants of accounts that are gone, also when another
// account has the address now.
func (s *Service) shownMembers(p *policyRecord, members []string) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m
		if rest, ok := strings.CutPrefix(m, "deleted:serviceAccount:"); ok {
			// One that was undeleted.
			if email, uid, _ := strings.Cut(rest, "?uid="); uid != "" && s.uniqueID(email) == uid {
				out[i] = "serviceAccount:" + email
			}
			continue
		}
		uid := p.UIDs[m]
		if uid == "" {
			continue
		}
		if s.uniqueID(strings.TrimPrefix(m, "serviceAccount:")) != uid {
			out[i] = "deleted:" + m + "?uid=" + uid
		}
	}
	return out
}

// Allowed reports whether a member has a permission on a bucket by the
// bucket's policy: serviceAccount:EMAIL, user:EMAIL, projectEditor:PROJECT and
// so on. The default compute account of the bucket's project counts as an
// editor of it. Managed folders and custom roles grant nothing here.
func (s *Service) Allowed(bucket, member, permission string) bool {
	b, err := s.lockBucket(bucket)
	if err != nil {
		return false
	}
	defer b.mu.Unlock()
	are := []string{normalMember(member)}
	if strings.HasPrefix(member, "serviceAccount:") || strings.HasPrefix(member, "user:") {
		are = append(are, everyone...)
	}
	if member == "serviceAccount:"+projectNumber(b.Project)+"-compute@developer.gserviceaccount.com" {
		are = append(are, "projectEditor:"+b.Project)
	}
	for _, bd := range b.Policy.Bindings {
		if !slices.Contains(roles[bd.Role], permission) || !s.holds(bd.Condition) {
			continue
		}
		for _, m := range s.shownMembers(&b.Policy, bd.Members) {
			if slices.Contains(are, m) && (!slices.Contains(everyone, m) || !preventsPublic(b.Resource)) {
				return true
			}
		}
	}
	return false
}

func normalMember(member string) string {
	kind, rest, _ := strings.Cut(member, ":")
	if slices.Contains(addressed, kind) {
		return kind + ":" + strings.ToLower(rest)
	}
	return member
}

var until = regexp.MustCompile(`^\s*request\.time\s*(<|>|<=|>=)\s*timestamp\(["']([^"']+)["']\)\s*$`)

// holds evaluates conditions of one comparison with the time. Others, which
// speak of the object, are taken to hold.
func (s *Service) holds(condition map[string]any) bool {
	if condition == nil {
		return true
	}
	m := until.FindStringSubmatch(asString(condition["expression"]))
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
