// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"slices"
	"strings"
)

const accessPermission = "secretmanager.versions.access"

// Groups of permissions that the predefined roles are made of, after the
// published table of Secret Manager's roles.
var (
	versionChanges = []string{
		"secretmanager.versions.add", "secretmanager.versions.destroy", "secretmanager.versions.disable",
		"secretmanager.versions.enable", "secretmanager.versions.get", "secretmanager.versions.list",
	}
	views = []string{
		"secretmanager.secrets.get", "secretmanager.secrets.getIamPolicy", "secretmanager.secrets.list",
		"secretmanager.versions.get", "secretmanager.versions.list",
	}
	secretChanges = []string{
		"secretmanager.secrets.create", "secretmanager.secrets.createTagBinding", "secretmanager.secrets.delete",
		"secretmanager.secrets.deleteTagBinding", "secretmanager.secrets.listEffectiveTags", "secretmanager.secrets.listTagBindings",
		"secretmanager.secrets.setIamPolicy", "secretmanager.secrets.update",
	}
)

// roles are the predefined roles that can be granted on a secret.
var roles = map[string][]string{
	"roles/secretmanager.admin":                slices.Concat(views, secretChanges, versionChanges, []string{accessPermission}),
	"roles/secretmanager.secretAccessor":       {accessPermission},
	"roles/secretmanager.secretVersionAdder":   {"secretmanager.versions.add"},
	"roles/secretmanager.secretVersionManager": versionChanges,
	"roles/secretmanager.viewer":               views,
}

// roleProblem is nil for a role that a secret's policy takes. The permissions of
// a custom role are not known here: it grants nothing.
func roleProblem(role string) error {
	parts := strings.Split(role, "/")
	switch {
	case roles[role] != nil:
		return nil
	case len(parts) == 2 && parts[0] == "roles" && parts[1] != "":
		return invalid("", "Role %s is not supported for this resource.", role)
	case len(parts) == 4 && (parts[0] == "projects" || parts[0] == "organizations") && parts[1] != "" && parts[2] == "roles" && parts[3] != "":
		return nil
	}
	return invalid("", "The role name must be in the form \"roles/{role}\", \"organizations/{organization_id}/roles/{role}\", or \"projects/{project_id}/roles/{role}\".")
}
