// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"slices"
	"strings"
)

// Groups of permissions that the predefined roles are made of, after the
// published table of Cloud Storage's roles.
var (
	folderReads  = []string{"storage.folders.get", "storage.folders.list"}
	folderWrites = []string{"storage.folders.create", "storage.folders.delete", "storage.folders.rename"}

	managedReads  = []string{"storage.managedFolders.get", "storage.managedFolders.list"}
	managedWrites = []string{"storage.managedFolders.create", "storage.managedFolders.delete"}
	managedPolicy = []string{"storage.managedFolders.getIamPolicy", "storage.managedFolders.setIamPolicy"}

	objectReads  = []string{"storage.objects.get", "storage.objects.list"}
	objectWrites = []string{
		"storage.objects.create", "storage.objects.delete", "storage.objects.update",
		"storage.objects.move", "storage.objects.restore",
		"storage.objects.createContext", "storage.objects.updateContext", "storage.objects.deleteContext",
	}
	objectPolicy = []string{
		"storage.objects.getIamPolicy", "storage.objects.setIamPolicy",
		"storage.objects.setRetention", "storage.objects.overrideUnlockedRetention",
	}
	multipartUploads = []string{
		"storage.multipartUploads.abort", "storage.multipartUploads.create",
		"storage.multipartUploads.list", "storage.multipartUploads.listParts",
	}
	bucketWrites = []string{
		"storage.buckets.get", "storage.buckets.update", "storage.buckets.delete",
		"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy",
		"storage.buckets.getIpFilter", "storage.buckets.setIpFilter",
		"storage.buckets.getObjectInsights", "storage.buckets.enableObjectRetention",
		"storage.buckets.createTagBinding", "storage.buckets.deleteTagBinding",
		"storage.buckets.listEffectiveTags", "storage.buckets.listTagBindings",
		"storage.buckets.relocate", "storage.buckets.restore",
		"storage.anywhereCaches.create", "storage.anywhereCaches.disable", "storage.anywhereCaches.get",
		"storage.anywhereCaches.list", "storage.anywhereCaches.pause", "storage.anywhereCaches.resume", "storage.anywhereCaches.update",
		"storage.bucketOperations.cancel", "storage.bucketOperations.get", "storage.bucketOperations.list",
	}
)

// roles are the predefined roles that can be granted on a bucket.
var roles = map[string][]string{
	"roles/storage.objectViewer": slices.Concat(objectReads, folderReads, managedReads),
	"roles/storage.objectCreator": {
		"storage.objects.create", "storage.folders.create", "storage.managedFolders.create",
		"storage.multipartUploads.abort", "storage.multipartUploads.create", "storage.multipartUploads.listParts",
	},
	"roles/storage.objectUser":         slices.Concat(objectReads, objectWrites, folderReads, folderWrites, managedReads, managedWrites, multipartUploads),
	"roles/storage.objectAdmin":        slices.Concat(objectReads, objectWrites, objectPolicy, folderReads, folderWrites, managedReads, managedWrites, managedPolicy, multipartUploads),
	"roles/storage.folderAdmin":        slices.Concat(folderReads, folderWrites, managedReads, managedWrites, managedPolicy),
	"roles/storage.bucketViewer":       {"storage.buckets.get", "storage.buckets.list"},
	"roles/storage.admin":              slices.Concat(bucketWrites, objectReads, objectWrites, objectPolicy, folderReads, folderWrites, managedReads, managedWrites, managedPolicy, multipartUploads),
	"roles/storage.legacyObjectReader": {"storage.objects.get"},
	"roles/storage.legacyObjectOwner":  slices.Concat([]string{"storage.objects.get", "storage.objects.update"}, objectPolicy),
	"roles/storage.legacyBucketReader": slices.Concat(
		[]string{"storage.buckets.get", "storage.objects.list", "storage.multipartUploads.list"}, folderReads, managedReads),
	"roles/storage.legacyBucketWriter": slices.Concat(
		[]string{"storage.buckets.get", "storage.objects.list", "storage.objects.create", "storage.objects.delete", "storage.objects.restore"},
		folderReads, folderWrites, managedReads, managedWrites, multipartUploads),
	"roles/storage.legacyBucketOwner": slices.Concat(
		[]string{
			"storage.buckets.get", "storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy", "storage.buckets.update",
			"storage.objects.list", "storage.objects.create", "storage.objects.delete", "storage.objects.restore", "storage.objects.setRetention",
			"storage.buckets.enableObjectRetention",
		},
		folderReads, folderWrites, managedReads, managedWrites, managedPolicy, multipartUploads),
	"roles/storage.insightsCollectorService": {"storage.buckets.get", "storage.buckets.getObjectInsights"},
}

// roleProblem is nil for a role that a bucket's policy takes. The permissions
// of a custom role are not known here: it grants nothing.
func roleProblem(role string) error {
	parts := strings.Split(role, "/")
	switch {
	case len(parts) == 2 && parts[0] == "roles" && parts[1] != "":
		if roles[role] == nil {
			return invalid("Role %s is not supported for this resource.", role)
		}
		return nil
	case len(parts) == 4 && (parts[0] == "projects" || parts[0] == "organizations") && parts[1] != "" && parts[2] == "roles" && parts[3] != "":
		return nil
	}
	return invalid(`The role name must be in the form "roles/{role}", "organizations/{organization_id}/roles/{role}", or "projects/{project_id}/roles/{role}".`)
}

// permissionProblem is nil for a permission that can be asked about a bucket.
func permissionProblem(permission string) error {
	if permission == "storage.buckets.list" || permission == "storage.buckets.create" {
		return invalid("Invalid argument.")
	}
	if len(strings.Split(permission, ".")) != 3 || !strings.HasPrefix(permission, "storage.") || strings.Contains(permission, "*") {
		return invalid("%s is not a valid Google Cloud Storage permission.", permission)
	}
	return nil
}
