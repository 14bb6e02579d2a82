// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"regexp"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// latest stands for the version that was added last.
const latest = "latest"

var (
	secretID   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	aliasForm  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	numberForm = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)
)

// secretName is the name of a secret. Requests may have the project's id or its
// number; answers and records have the number.
type secretName struct{ project, secret string }

func (n secretName) String() string { return "projects/" + n.project + "/secrets/" + n.secret }

func (n secretName) version(id string) versionName { return versionName{n, id} }

// versionName is the name of a version; its id may be an alias.
type versionName struct {
	secretName
	id string
}

func (n versionName) String() string { return n.secretName.String() + "/versions/" + n.id }

func parseProject(name string) (string, error) {
	project, ok := strings.CutPrefix(name, "projects/")
	if !ok || project == "" || strings.Contains(project, "/") {
		return "", invalid("parent", "The provided name [%s] does not have the form projects/PROJECT; regional secrets are not served here.", name)
	}
	return store.ProjectNumber(project), nil
}

func parseSecret(name string) (secretName, error) {
	p := strings.Split(name, "/")
	if len(p) != 4 || p[0] != "projects" || p[1] == "" || p[2] != "secrets" || !secretID.MatchString(p[3]) {
		return secretName{}, invalid("name", "The provided name [%s] does not have the form projects/PROJECT/secrets/SECRET; regional secrets are not served here.", name)
	}
	return secretName{store.ProjectNumber(p[1]), p[3]}, nil
}

func parseVersion(name string) (versionName, error) {
	at := strings.LastIndex(name, "/versions/")
	if at < 0 {
		return versionName{}, invalid("name", "The provided name [%s] does not have the form projects/PROJECT/secrets/SECRET/versions/VERSION.", name)
	}
	n, err := parseSecret(name[:at])
	v := n.version(name[at+len("/versions/"):])
	if err == nil && !numberForm.MatchString(v.id) && !aliasForm.MatchString(v.id) {
		err = invalid("name", "The provided version [%s] is neither a number nor an alias.", v.id)
	}
	return v, err
}
