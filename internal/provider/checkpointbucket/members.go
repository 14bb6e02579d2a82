// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

const memberForms = "write user:NAME@DOMAIN, group:NAME@DOMAIN, domain:DOMAIN or serviceAccount:ID@PROJECT.iam.gserviceaccount.com"

// accountDomain ends the e-mail of every service account.
const accountDomain = "gserviceaccount.com"

// The kinds of members that have a type in front, with the form of each.
var memberKinds = map[string]string{
	"user":           "user:NAME@DOMAIN",
	"group":          "group:NAME@DOMAIN",
	"serviceAccount": "serviceAccount:ID@PROJECT.iam.gserviceaccount.com",
	"domain":         "domain:DOMAIN",
	"projectOwner":   "projectOwner:PROJECT",
	"projectEditor":  "projectEditor:PROJECT",
	"projectViewer":  "projectViewer:PROJECT",
}

// checkMember says whether s can be a member of the bucket's policy. What can never work is refused: the API's own text about it does not
// say what to write. A type that is not known here passes. The error is for users.
func checkMember(s string) error {
	kind, rest, typed := strings.Cut(s, ":")
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("a member is empty: " + memberForms)
	case s != strings.TrimSpace(s):
		return fmt.Errorf("%.80q has blanks around it: write %.80q", s, strings.TrimSpace(s))
	case strings.ContainsFunc(s, unicode.IsSpace):
		return fmt.Errorf("%.80q has a blank in it: write %.80q", s, strings.Join(strings.Fields(s), ""))
	case strings.EqualFold(s, "allUsers"), strings.EqualFold(s, "allAuthenticatedUsers"):
		return fmt.Errorf("%q stands for everybody, and the bucket prevents public access: name users, groups, domains or service accounts", s)
	case kind == "deleted":
		return fmt.Errorf("%.120q is what a policy keeps of a deleted account: take it out, or write the account that is there now", s)
	case !typed:
		return fmt.Errorf("%.80q has no type in front: %s", s, typeOf(s))
	case strings.HasPrefix(rest, "//"):
		return nil // principal://, principalSet://
	}
	if name := kindNamed(kind); name != kind {
		if name == "" {
			return nil
		}
		return fmt.Errorf("%.80q is not how the type is written: write %.120q", s, name+":"+rest)
	}
	switch service := strings.HasSuffix(strings.ToLower(rest), accountDomain); {
	case rest == "":
		return fmt.Errorf("%q names nobody: write %s", s, memberKinds[kind])
	case (kind == "user" || kind == "group") && service:
		return fmt.Errorf("%.80q is a service account: write %.120q", s, "serviceAccount:"+rest)
	case (kind == "user" || kind == "group") && !strings.Contains(rest, "@"),
		kind == "serviceAccount" && !strings.ContainsAny(rest, "@["): // PROJECT.svc.id.goog[NAMESPACE/ACCOUNT] has no @
		return fmt.Errorf("%.80q has no e-mail: write %s", s, memberKinds[kind])
	case kind == "domain" && strings.Contains(rest, "@"):
		return fmt.Errorf("%.80q is no domain: write %.80q for the domain, or user:%.60s for one person", s, "domain:"+rest[strings.LastIndex(rest, "@")+1:], rest)
	}
	return nil
}

// typeOf says which type to write in front.
func typeOf(s string) string {
	lower := strings.ToLower(s)
	switch {
	case strings.HasSuffix(lower, accountDomain), strings.Contains(lower, ".svc.id.goog["):
		return fmt.Sprintf("write %.120q", "serviceAccount:"+s)
	case strings.Contains(s, "@"):
		return fmt.Sprintf("write %.120q, or %.120q if it is a group", "user:"+s, "group:"+s)
	case strings.HasPrefix(s, "//"):
		return fmt.Sprintf("write %.120q for one identity, or principalSet: in front for a set of them", "principal:"+s)
	case strings.Contains(strings.Trim(s, "."), ".") && !strings.ContainsAny(s, "/ "):
		return fmt.Sprintf("write %.120q", "domain:"+s)
	}
	return memberForms
}

// kindNamed returns the type that is meant by what is written, "" when none is.
func kindNamed(written string) string {
	plain := func(s string) string {
		return strings.TrimSuffix(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)), "s")
	}
	for kind := range memberKinds {
		if plain(kind) == plain(written) {
			return kind
		}
	}
	return ""
}
