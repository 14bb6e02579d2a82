// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"strings"
	"testing"
)

func TestCheckMember(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		"user:ann@example.com", "user:Ann@Example.com", "group:ml@example.com", "domain:example.com", "serviceAccount:trainer@my-project.iam.gserviceaccount.com",
		"serviceAccount:123-compute@developer.gserviceaccount.com", "serviceAccount:my-project.svc.id.goog[ns/account]", "projectEditor:my-project",
		"principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/s", "principalSet://iam.googleapis.com/projects/1/x/*",
		"somethingNew:x",
	} {
		if err := checkMember(member); err != nil {
			t.Errorf("%s: %v", member, err)
		}
	}
	for member, says := range map[string]string{
		"": "a member is empty", "  ": "a member is empty",
		" user:ann@example.com":       `has blanks around it: write "user:ann@example.com"`,
		"allUsers":                    "stands for everybody",
		"allAuthenticatedUsers":       "stands for everybody",
		"ALLUSERS":                    "stands for everybody",
		"ann@example.com":             `write "user:ann@example.com", or "group:ann@example.com" if it is a group`,
		"t@p.iam.gserviceaccount.com": `write "serviceAccount:t@p.iam.gserviceaccount.com"`,
		"p.svc.id.goog[ns/a]":         `write "serviceAccount:p.svc.id.goog[ns/a]"`,
		"example.com":                 `write "domain:example.com"`,
		"//iam.googleapis.com/projects/1/subject/s": `write "principal://iam.googleapis.com/projects/1/subject/s" for one identity`,
		"trainer":                      "write user:NAME@DOMAIN, group:NAME@DOMAIN, domain:DOMAIN or serviceAccount:",
		"projects/p/serviceAccounts/x": "write user:NAME@DOMAIN",
		"deleted:serviceAccount:t@p.iam.gserviceaccount.com?uid=1": "take it out, or write the account that is there now",
		"serviceaccount:t@p.iam.gserviceaccount.com":               `write "serviceAccount:t@p.iam.gserviceaccount.com"`,
		"service_account:t@p.iam.gserviceaccount.com":              `write "serviceAccount:t@p.iam.gserviceaccount.com"`,
		"users:ann@example.com":                                    `write "user:ann@example.com"`,
		"user:t@p.iam.gserviceaccount.com":                         `is a service account: write "serviceAccount:t@p.iam.gserviceaccount.com"`,
		"user:":                                                    "names nobody: write user:NAME@DOMAIN",
		"user:ann":                                                 "has no e-mail: write user:NAME@DOMAIN",
		"serviceAccount:trainer":                                   "has no e-mail: write serviceAccount:ID@PROJECT.iam.gserviceaccount.com",
		"domain:ann@example.com":                                   `write "domain:example.com" for the domain, or user:ann@example.com for one person`,
		strings.Repeat("x", 9999):                                  "has no type in front",
	} {
		if err := checkMember(member); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 400 {
			t.Errorf("%.100q: %v, want %q", member, err, says)
		}
	}
}

func FuzzCheckMember(f *testing.F) {
	for _, s := range []string{"", "a", "user:", ":", "a:b:c", "deleted:x", "domain:@", "user:@x", "principal://", "//", "é@ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := checkMember(s); err != nil && (err.Error() == "" || len(err.Error()) > 2000) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
