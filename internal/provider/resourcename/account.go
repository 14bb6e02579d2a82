// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// ServiceAccount is the name of a service account. Project is empty where the
// e-mail does not tell it, as for the default accounts of Google's services.
type ServiceAccount struct{ Project, Email string }

// String returns the full name, projects/P/serviceAccounts/EMAIL. Without a
// project it has the wildcard "-", for which Google answers 403 instead of 404
// when the account is missing.
func (a ServiceAccount) String() string {
	project := a.Project
	if project == "" {
		project = "-"
	}
	return "projects/" + project + "/serviceAccounts/" + a.Email
}

// Member returns the account as a member of a policy, serviceAccount:EMAIL.
func (a ServiceAccount) Member() string { return "serviceAccount:" + a.Email }

const accountDomain = ".iam.gserviceaccount.com"

// ServiceAccountEmail returns the e-mail of an account by its id. The project
// example.com:web has ID@web.example.com.iam.gserviceaccount.com.
func ServiceAccountEmail(project, id string) string {
	if domain, name, scoped := strings.Cut(project, ":"); scoped {
		project = name + "." + domain
	}
	return id + "@" + project + accountDomain
}

// NewServiceAccount returns the name of the account with this id.
func NewServiceAccount(project, id string) ServiceAccount {
	return ServiceAccount{Project: project, Email: ServiceAccountEmail(project, id)}
}

// ServiceAccountID returns the default id of a job's account: the first 21
// characters of the name, "-", and 8 hexadecimal digits of a hash, because the
// same job name in two regions must not share an account. It never exceeds
// the 30 characters that an id may have.
func ServiceAccountID(project, location, name string) string {
	sum := sha256.Sum256([]byte(project + "/" + strings.ToLower(location) + "/" + name))
	if len(name) > 21 {
		name = name[:21]
	}
	return name + "-" + hex.EncodeToString(sum[:4])
}

const accountForm = "write its e-mail, such as trainer@my-project.iam.gserviceaccount.com"

var (
	emailShape   = lazyregexp.New(`^[a-z0-9][-a-z0-9.]*@([a-z0-9][-a-z0-9.]*\.)?gserviceaccount\.com$`)
	accountShape = lazyregexp.New(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// ParseServiceAccount reads the e-mail of a service account, alone or at the
// end of its full name. The error is for users.
func ParseServiceAccount(s string) (ServiceAccount, error) {
	a := ServiceAccount{Email: s}
	if p := strings.Split(s, "/"); len(p) == 4 && p[0] == "projects" && p[2] == "serviceAccounts" {
		a = ServiceAccount{p[1], p[3]}
		if a.Project == "-" {
			a.Project = ""
		}
		if a.Project != "" && !projectShape.MatchString(a.Project) {
			return ServiceAccount{}, fmt.Errorf("%q is not a service account: %s", Shorten(s), accountForm)
		}
	}
	if err := CheckServiceAccount(a.Email); err != nil {
		return ServiceAccount{}, err
	}
	if a.Project == "" {
		a.Project = emailProject(a.Email)
	}
	return a, nil
}

// emailProject returns the project that an e-mail names, or nothing.
func emailProject(email string) string {
	_, domain, _ := strings.Cut(email, "@")
	project, ok := strings.CutSuffix(domain, accountDomain)
	if !ok {
		return ""
	}
	// Service agents live in projects of Google's, under gcp-sa-*.
	if strings.HasPrefix(project, "gcp-sa-") {
		return ""
	}
	if name, org, scoped := strings.Cut(project, "."); scoped {
		return org + ":" + name
	}
	return project
}

// CheckServiceAccount says whether s is the e-mail of a service account. The
// error is for users.
func CheckServiceAccount(s string) error {
	if emailShape.MatchString(s) {
		return nil
	}
	if rest, ok := strings.CutPrefix(s, "serviceAccount:"); ok && emailShape.MatchString(rest) {
		return fmt.Errorf("%q is a member of a policy: write the e-mail alone, %q", Shorten(s), rest)
	}
	if i := strings.LastIndex(s, "/"); i >= 0 && emailShape.MatchString(s[i+1:]) {
		return fmt.Errorf("%q is a full name: write the e-mail alone, %q", Shorten(s), s[i+1:])
	}
	if lower := strings.ToLower(strings.TrimSpace(s)); lower != s && emailShape.MatchString(lower) {
		return fmt.Errorf("%q is not how Google writes it: write %q", Shorten(s), lower)
	}
	if strings.Contains(s, "@") {
		return fmt.Errorf("%q is not a service account: %s; accounts of people and groups do not serve here", Shorten(s), accountForm)
	}
	return fmt.Errorf("%q is not a service account: %s", Shorten(s), accountForm)
}

// CheckServiceAccountID holds the rules for the id of a new account. The error
// is for users.
func CheckServiceAccountID(s string) error {
	if id, _, isEmail := strings.Cut(s, "@"); isEmail {
		return fmt.Errorf("%q is an e-mail: write the id alone, %q", Shorten(s), id)
	}
	if err := accountIDRule(s); err != nil {
		return fmt.Errorf("%q cannot be the id of a service account: %w", Shorten(s), err)
	}
	return nil
}

func accountIDRule(s string) error {
	switch {
	case len(s) < 6:
		return fmt.Errorf("it has %d characters; write 6 to 30", len(s))
	case len(s) > 30:
		return fmt.Errorf("it has %d characters; write 6 to 30", len(s))
	case !accountShape.MatchString(s):
		return errors.New("use lower-case letters, digits and \"-\", with a letter first and no \"-\" last")
	}
	return nil
}
