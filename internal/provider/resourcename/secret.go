// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"fmt"
	"slices"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// Secret is the name of a secret in Secret Manager.
type Secret struct{ Project, Name string }

// String returns the full name, projects/PROJECT/secrets/NAME.
func (s Secret) String() string { return "projects/" + s.Project + "/secrets/" + s.Name }

// secretShape is Secret Manager's rule for the id of a secret (CreateSecret).
var secretShape = lazyregexp.New(`^[A-Za-z0-9_-]{1,255}$`)

// ParseSecret reads NAME, which is one of the given project, or
// projects/PROJECT/secrets/NAME. The error is for users.
func ParseSecret(s, project string) (Secret, error) {
	if secretShape.MatchString(s) {
		return Secret{project, s}, nil
	}
	p := strings.Split(s, "/")
	if len(p) == 4 && p[0] == "projects" && p[2] == "secrets" && projectShape.MatchString(p[1]) && secretShape.MatchString(p[3]) {
		return Secret{p[1], p[3]}, nil
	}
	if len(p) == 6 && p[0] == "projects" && p[2] == "secrets" && p[4] == "versions" {
		return Secret{}, fmt.Errorf("%q names a version: write the secret, %q, and the version in version", Shorten(s), strings.Join(p[:4], "/"))
	}
	return Secret{}, fmt.Errorf("%q is not a secret: write its name, such as \"api-token\", or for one of another project \"projects/PROJECT/secrets/NAME\"", Shorten(s))
}

// CheckSecret holds the rules for naming a secret. The error is for users.
func CheckSecret(s string) error {
	_, err := ParseSecret(s, "")
	return err
}

var projectNumber = lazyregexp.New(`^[0-9]+$`)

// SameSecret tells whether two spellings name one secret for a job of the given
// project. Where lenient, as for what Google answers, the number of a project
// and an id are taken for the same project: Google answers with the number where
// the id was sent.
func SameSecret(a, b, project string, lenient bool) bool {
	x, errX := ParseSecret(a, project)
	y, errY := ParseSecret(b, project)
	if errX != nil || errY != nil {
		return a == b
	}
	return x.Name == y.Name && sameProject(x.Project, y.Project, lenient)
}

// SameName tells whether two full names are the same, the projects as
// [SameSecret] compares them.
func SameName(a, b string, lenient bool) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	if len(x) != len(y) || len(x) < 2 || x[0] != "projects" || y[0] != "projects" {
		return a == b
	}
	return slices.Equal(x[2:], y[2:]) && sameProject(x[1], y[1], lenient)
}

func sameProject(a, b string, lenient bool) bool {
	return a == b || lenient && projectNumber.MatchString(a) != projectNumber.MatchString(b)
}
