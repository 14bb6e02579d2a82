// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package diags

import "github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"

// roles names, for each permission that the provider uses, the smallest
// predefined role that has it and is enough for what the provider does with it.
var roles = map[string]string{
	"run.jobs.create": "roles/run.developer", "run.jobs.get": "roles/run.viewer", "run.jobs.list": "roles/run.viewer", "run.jobs.update": "roles/run.developer", "run.jobs.delete": "roles/run.developer",
	// Each run has overrides, which roles/run.invoker does not permit.
	"run.jobs.run": "roles/run.developer", "run.jobs.runWithOverrides": "roles/run.developer", "run.operations.get": "roles/run.viewer", "run.executions.list": "roles/run.viewer",
	"run.executions.get": "roles/run.viewer", "run.executions.cancel": "roles/run.developer", "run.executions.delete": "roles/run.developer", "run.tasks.list": "roles/run.viewer",
	"iam.serviceAccounts.create": "roles/iam.serviceAccountAdmin", "iam.serviceAccounts.get": "roles/iam.serviceAccountAdmin", "iam.serviceAccounts.list": "roles/iam.serviceAccountAdmin", "iam.serviceAccounts.delete": "roles/iam.serviceAccountAdmin",
	"storage.buckets.create": "roles/storage.admin", "storage.buckets.get": "roles/storage.admin", "storage.buckets.update": "roles/storage.admin", "storage.buckets.delete": "roles/storage.admin",
	"storage.buckets.getIamPolicy": "roles/storage.admin", "storage.buckets.setIamPolicy": "roles/storage.admin",
	"storage.objects.list": "roles/storage.objectViewer", "storage.objects.delete": "roles/storage.objectUser",
	"storage.folders.list": "roles/storage.objectViewer", "storage.folders.delete": "roles/storage.objectUser",
	"storage.managedFolders.list": "roles/storage.objectViewer", "storage.managedFolders.delete": "roles/storage.objectUser",
	"logging.logEntries.list":   "roles/logging.viewer",
	"secretmanager.secrets.get": "roles/secretmanager.viewer", "secretmanager.secrets.getIamPolicy": "roles/secretmanager.admin", "secretmanager.secrets.setIamPolicy": "roles/secretmanager.admin",
}

// RoleWith returns the predefined role to give for a permission, such as
// "roles/run.developer" for "run.jobs.create"; "" when it is not known.
func RoleWith(permission string) string { return roles[permission] }

var permissionDenied = lazyregexp.New(`(?i)(?:Permission '?([a-zA-Z]+\.[\w.]+?)'? (?:is )?denied|does not have ([a-z]+\.[\w.]+) access)`)

// permissionNamed finds the name of a permission, known or not, such as
// "compute.networks.use"; a host name or an e-mail address is none.
var permissionNamed = lazyregexp.New(`(?:^|[\s'"(:])[a-z][A-Za-z]+\.[a-z][A-Za-z]+\.[a-z][A-Za-z]+(?:[\s'").,;]|$)`)

// roleHint says which role has the permission that Google's text names; "" when
// it names none, or one that is not known.
func roleHint(text string) string {
	found := permissionDenied.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	name := found[1] + found[2]
	if roles[name] == "" {
		return ""
	}
	return "The account that Terraform runs as lacks the permission " + name + ", which the role " + roles[name] + " has. Give it that role, or a custom one with the permission, and apply again."
}
