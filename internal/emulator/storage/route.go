// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"net/http"
	"net/url"
	"strings"
)

// The prefixes of the JSON API. Uploads and downloads have their own, and one
// client starts resumable uploads under a third.
const (
	apiPath          = "/storage/v1"
	uploadPath       = "/upload/storage/v1"
	resumablePath    = "/resumable/upload/storage/v1"
	downloadPath     = "/download/storage/v1"
	prefixAPI        = ""
	prefixUpload     = "upload"
	prefixDownload   = "download"
	prefixXML        = "xml"
	methodChunk      = "storage.objects.insert.resume"
	permissionCreate = "storage.objects.create"
)

var apiPrefixes = []string{apiPath, uploadPath, resumablePath, downloadPath}

// route is one method of the API.
type route struct {
	prefix, method, path string
	// id is the method's name in the discovery document.
	id string
	// permission is what the caller needs for it.
	permission string
	handle     func(*call) error
	// stream leaves the body to the handler: it may be an object.
	stream bool
}

var routes = []route{
	{prefixAPI, "GET", "b", "storage.buckets.list", "storage.buckets.list", (*call).listBuckets, false},
	{prefixAPI, "POST", "b", "storage.buckets.insert", "storage.buckets.create", (*call).insertBucket, false},
	{prefixAPI, "GET", "b/{bucket}", "storage.buckets.get", "storage.buckets.get", (*call).getBucket, false},
	{prefixAPI, "PATCH", "b/{bucket}", "storage.buckets.patch", "storage.buckets.update", (*call).patchBucket, false},
	{prefixAPI, "PUT", "b/{bucket}", "storage.buckets.update", "storage.buckets.update", (*call).updateBucket, false},
	{prefixAPI, "DELETE", "b/{bucket}", "storage.buckets.delete", "storage.buckets.delete", (*call).deleteBucket, false},
	{prefixAPI, "GET", "b/{bucket}/storageLayout", "storage.buckets.getStorageLayout", "storage.objects.list", (*call).storageLayout, false},
	{prefixAPI, "GET", "b/{bucket}/anywhereCaches", "storage.anywhereCaches.list", "storage.anywhereCaches.list", (*call).listCaches, false},
	{prefixAPI, "GET", "b/{bucket}/notificationConfigs", "storage.notifications.list", "storage.buckets.get", (*call).listNotifications, false},
	{prefixAPI, "GET", "projects/{project}/serviceAccount", "storage.projects.serviceAccount.get", "resourcemanager.projects.get", (*call).serviceAgent, false},

	{prefixAPI, "GET", "b/{bucket}/iam", "storage.buckets.getIamPolicy", "storage.buckets.getIamPolicy", (*call).getPolicy, false},
	{prefixAPI, "PUT", "b/{bucket}/iam", "storage.buckets.setIamPolicy", "storage.buckets.setIamPolicy", (*call).setPolicy, false},
	{prefixAPI, "GET", "b/{bucket}/iam/testPermissions", "storage.buckets.testIamPermissions", "", (*call).testPermissions, false},

	{prefixUpload, "POST", "b/{bucket}/o", "storage.objects.insert", permissionCreate, (*call).upload, true},
	{prefixUpload, "PUT", "b/{bucket}/o", "storage.objects.insert", permissionCreate, (*call).upload, true},
	{prefixUpload, "DELETE", "b/{bucket}/o", "storage.objects.insert", permissionCreate, (*call).upload, true},
	{prefixDownload, "GET", "b/{bucket}/o/{object}", "storage.objects.get", "storage.objects.get", (*call).download, false},

	{prefixAPI, "GET", "b/{bucket}/o", "storage.objects.list", "storage.objects.list", (*call).listObjects, false},
	{prefixAPI, "POST", "b/{bucket}/o", "storage.objects.insert", permissionCreate, (*call).insertObject, false},
	{prefixAPI, "GET", "b/{bucket}/o/{object}", "storage.objects.get", "storage.objects.get", (*call).getObject, false},
	{prefixAPI, "PATCH", "b/{bucket}/o/{object}", "storage.objects.patch", "storage.objects.update", (*call).patchObject, false},
	{prefixAPI, "PUT", "b/{bucket}/o/{object}", "storage.objects.update", "storage.objects.update", (*call).updateObject, false},
	{prefixAPI, "DELETE", "b/{bucket}/o/{object}", "storage.objects.delete", "storage.objects.delete", (*call).deleteObject, false},
	{prefixAPI, "POST", "b/{bucket}/o/{object}/compose", "storage.objects.compose", permissionCreate, (*call).composeObject, false},
	{prefixAPI, "POST", "b/{bucket}/o/{object}/restore", "storage.objects.restore", "storage.objects.restore", (*call).restoreObject, false},
	{prefixAPI, "POST", "b/{bucket}/o/{object}/moveTo/o/{target}", "storage.objects.move", "storage.objects.move", (*call).moveObject, false},
	{prefixAPI, "POST", "b/{bucket}/o/{object}/copyTo/b/{destination}/o/{target}", "storage.objects.copy", "storage.objects.get", (*call).copyObject, false},
	{prefixAPI, "POST", "b/{bucket}/o/{object}/rewriteTo/b/{destination}/o/{target}", "storage.objects.rewrite", "storage.objects.get", (*call).rewriteObject, false},

	{prefixAPI, "GET", "b/{bucket}/folders", "storage.folders.list", "storage.folders.list", (*call).listFolders, false},
	{prefixAPI, "POST", "b/{bucket}/folders", "storage.folders.insert", "storage.folders.create", (*call).insertFolder, false},
	{prefixAPI, "GET", "b/{bucket}/folders/{folder}", "storage.folders.get", "storage.folders.get", (*call).getFolder, false},
	{prefixAPI, "DELETE", "b/{bucket}/folders/{folder}", "storage.folders.delete", "storage.folders.delete", (*call).deleteFolder, false},
	{prefixAPI, "POST", "b/{bucket}/folders/{folder}/renameTo/folders/{target}", "storage.folders.rename", "storage.folders.rename", (*call).renameFolder, false},
	{prefixAPI, "GET", "b/{bucket}/operations", "storage.buckets.operations.list", "storage.bucketOperations.list", (*call).listOperations, false},
	{prefixAPI, "GET", "b/{bucket}/operations/{operation}", "storage.buckets.operations.get", "storage.bucketOperations.get", (*call).getOperation, false},

	{prefixAPI, "GET", "b/{bucket}/managedFolders", "storage.managedFolders.list", "storage.managedFolders.list", (*call).listManagedFolders, false},
	{prefixAPI, "POST", "b/{bucket}/managedFolders", "storage.managedFolders.insert", "storage.managedFolders.create", (*call).insertManagedFolder, false},
	{prefixAPI, "GET", "b/{bucket}/managedFolders/{folder}", "storage.managedFolders.get", "storage.managedFolders.get", (*call).getManagedFolder, false},
	{prefixAPI, "DELETE", "b/{bucket}/managedFolders/{folder}", "storage.managedFolders.delete", "storage.managedFolders.delete", (*call).deleteManagedFolder, false},
	{prefixAPI, "GET", "b/{bucket}/managedFolders/{folder}/iam", "storage.managedFolders.getIamPolicy", "storage.managedFolders.getIamPolicy", (*call).getManagedPolicy, false},
	{prefixAPI, "PUT", "b/{bucket}/managedFolders/{folder}/iam", "storage.managedFolders.setIamPolicy", "storage.managedFolders.setIamPolicy", (*call).setManagedPolicy, false},
	{prefixAPI, "GET", "b/{bucket}/managedFolders/{folder}/iam/testPermissions", "storage.managedFolders.testIamPermissions", "", (*call).testManagedPermissions, false},
}

// Methods are the names of the methods that are served, as the record of calls
// has them.
func Methods() []string {
	methods := []string{methodChunk}
	for _, rt := range routes {
		methods = append(methods, rt.id)
	}
	return methods
}

// xmlPath takes a read of the XML API apart: GET /BUCKET/OBJECT.
func xmlPath(r *http.Request) (bucket, object string, ok bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "", "", false
	}
	bucket, object, ok = strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if !ok || object == "" || bucketNameProblem(bucket) != nil {
		return "", "", false
	}
	for _, p := range apiPrefixes {
		if first, _, _ := strings.Cut(p[1:], "/"); bucket == first {
			return "", "", false
		}
	}
	object, err := url.PathUnescape(object)
	return bucket, object, err == nil
}

// find returns the route of a request and the variables of its path.
func find(r *http.Request) (*route, map[string]string) {
	path := r.URL.EscapedPath()
	prefix, rest, ok := "", "", false
	for _, p := range []struct{ path, prefix string }{
		{resumablePath, prefixUpload}, {uploadPath, prefixUpload}, {downloadPath, prefixDownload}, {apiPath, prefixAPI},
	} {
		if rest, ok = strings.CutPrefix(path, p.path+"/"); ok {
			prefix = p.prefix
			break
		}
	}
	if !ok {
		bucket, object, ok := xmlPath(r)
		if !ok {
			return nil, nil
		}
		return &xmlRead, map[string]string{"bucket": bucket, "object": object}
	}
	segments := strings.Split(rest, "/")
	for i := range routes {
		if routes[i].prefix != prefix || routes[i].method != r.Method {
			continue
		}
		if vars, ok := routes[i].match(segments); ok {
			return &routes[i], vars
		}
	}
	return nil, nil
}

func (rt *route) match(segments []string) (map[string]string, bool) {
	want := strings.Split(rt.path, "/")
	if len(want) != len(segments) {
		return nil, false
	}
	vars := map[string]string{}
	for i, w := range want {
		name, variable := strings.CutPrefix(w, "{")
		if !variable {
			if w != segments[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil || value == "" {
			return nil, false
		}
		vars[strings.TrimSuffix(name, "}")] = value
	}
	return vars, true
}
