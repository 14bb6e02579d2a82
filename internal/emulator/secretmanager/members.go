// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
)

var (
	everyone = []string{"allUsers", "allAuthenticatedUsers"}
	// addressed are the kinds of members that are addresses, kept in lower case.
	addressed = []string{"user", "serviceAccount", "group", "domain"}
)

const accountPrefix = "serviceAccount:"

func unknownMember(member string) error {
	return invalid("", "The member %s is of an unknown type. Please set a valid type prefix for the member.", member)
}

// readMember checks a member of a policy that is to be written and returns its
// kept form.
func (s *Service) readMember(member string) (string, error) {
	if slices.Contains(everyone, member) || strings.HasPrefix(member, "principal://") || strings.HasPrefix(member, "principalSet://") {
		return member, nil
	}
	kind, rest, ok := strings.Cut(member, ":")
	switch {
	case !ok || rest == "":
		return "", unknownMember(member)
	case kind == "deleted":
		return readDeleted(member, rest)
	case kind == "projectOwner" || kind == "projectEditor" || kind == "projectViewer":
		return member, nil
	case !slices.Contains(addressed, kind):
		return "", unknownMember(member)
	case kind != "domain" && !strings.Contains(rest, "@") || strings.ContainsAny(rest, " ?\n"):
		return "", invalid("", "Invalid argument.")
	}
	address := strings.ToLower(rest)
	if kind == "serviceAccount" && s.accounts != nil && !s.accounts.MemberExists(accountPrefix+address) {
		return "", invalid("", "Service account %s does not exist.", address)
	}
	return kind + ":" + address, nil
}

func readDeleted(member, rest string) (string, error) {
	kind, address, ok := strings.Cut(rest, ":")
	address, query, hasUID := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if !ok || !hasUID || err != nil || values.Get("uid") == "" || address == "" || !slices.Contains(addressed[:3], kind) {
		return "", unknownMember(member)
	}
	return deletedMember(kind+":"+strings.ToLower(address), values.Get("uid")), nil
}

func deletedMember(member, uid string) string { return "deleted:" + member + "?uid=" + uid }

// refuseTwins: a policy must not name an address both as deleted and as live.
func refuseTwins(p *iampb.Policy) error {
	live := map[string]bool{}
	for _, b := range p.GetBindings() {
		for _, m := range b.GetMembers() {
			live[m] = true
		}
	}
	for _, b := range p.GetBindings() {
		for _, m := range b.GetMembers() {
			rest, ok := strings.CutPrefix(m, "deleted:")
			if twin, _, _ := strings.Cut(rest, "?"); ok && live[twin] {
				return invalid("", "Inconsistent representation of deleted member: '%s' and '%s'.", m, twin)
			}
		}
	}
	return nil
}

func (s *Service) uniqueID(email string) string {
	if s.accounts == nil {
		return ""
	}
	account, ok := s.accounts.Lookup(email)
	if !ok {
		return ""
	}
	return account.GetUniqueId()
}

// kept is the form in which a member is stored: a service account has its unique
// id with it, because a grant belongs to that account and not to the address.
func (s *Service) kept(member string) string {
	email, ok := strings.CutPrefix(member, accountPrefix)
	if uid := s.uniqueID(email); ok && uid != "" {
		return member + "?uid=" + uid
	}
	return member
}

// shown is what a reader sees of a stored member: an account that is gone is
// shown as deleted, also when another account has the address now, and one that
// was undeleted as live.
func (s *Service) shown(stored string) string {
	member, uid, ok := strings.Cut(strings.TrimPrefix(stored, "deleted:"), "?uid=")
	email, isAccount := strings.CutPrefix(member, accountPrefix)
	switch {
	case !ok || !isAccount:
		return stored
	case s.uniqueID(email) == uid:
		return member
	}
	return deletedMember(member, uid)
}
