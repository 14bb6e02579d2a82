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
