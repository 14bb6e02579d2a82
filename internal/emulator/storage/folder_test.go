// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	gcs "google.golang.org/api/storage/v1"
)

func response(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body))}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("deep", hierarchical)
	w.bucket("flat")
	insert := func(name string, recursive bool) error {
		_, err := w.api.Folders.Insert("deep", &gcs.Folder{Name: name}).Recursive(recursive).Do()
		return err
	}
	f, err := w.api.Folders.Insert("deep", &gcs.Folder{Name: "a"}).Do()
	ok(t, err)
	equal(t, "folder", f.Kind+" "+f.Name+" "+f.Id+" "+f.Bucket+" "+f.CreateTime, "storage#folder a/ deep/a/ deep 2026-11-29T12:00:00.000Z")
	equal(t, "metageneration", f.Metageneration, 1)
	refused(t, insert("a/", false), 409, "conflict", "The folder you tried to create already exists.")
	refused(t, insert("x/y/z", false), 409, "conflict", "The parent folder does not exist.")
	ok(t, insert("x/y/z", true))
	refused(t, insert("x/y/z", true), 409, "conflict", "already exists")
	equal(t, "folders", w.folders("deep"), "a/ x/ x/y/ x/y/z/")
	for _, bad := range []string{"", "/", "a//b", "..", "a/../b", strings.Repeat("d/", 51)} {
		if err := insert(bad, true); !googleapiCode(err, 400) {
			t.Errorf("folder %q: %v, want 400", bad, err)
		}
	}

	page, err := w.api.Folders.List("deep").Prefix("x/").Delimiter("/").Do()
	ok(t, err)
	equal(t, "one level", len(page.Items), 2)
	_, err = w.api.Folders.Get("deep", "none/").Do()
	refused(t, err, 404, "notFound", "The specified folder does not exist.")
	_, err = w.api.Folders.List("flat").Do()
	refused(t, err, 409, "conflict", "The bucket does not support hierarchical namespace.")

	refused(t, w.api.Folders.Delete("deep", "x/y/").Do(), 409, "conflict", "The folder you tried to delete is not empty.")
	refused(t, w.api.Folders.Delete("deep", "x/y/z/").IfMetagenerationMatch(9).Do(), 412, "conditionNotMet", "pre-conditions")
	ok(t, w.api.Folders.Delete("deep", "x/y/z/").IfMetagenerationMatch(1).Do())
	refused(t, w.api.Folders.Delete("deep", "x/y/z/").Do(), 404, "notFound", "The specified folder does not exist.")
	w.put("deep", "x/y/o", "content")
	refused(t, w.api.Folders.Delete("deep", "x/y/").Do(), 409, "conflict", "not empty")
	refused(t, w.api.Buckets.Delete("deep").Do(), 409, "conflict", "The bucket you tried to delete is not empty.")
}

func googleapiCode(err error, code int) bool {
	var e *googleapi.Error
	return errors.As(err, &e) && e.Code == code
}

func TestRenameFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("deep", hierarchical)
	m := w.mount("deep")
	o := w.put("deep", "run/tmp/model.bin", "weights")
	m.write("run/tmp/sub/opt.bin", "optimizer")
	odd := w.put("deep", "run/tmp/a/../b", "odd")
	rename := func(from, to string) (*gcs.GoogleLongrunningOperation, error) {
		return w.api.Folders.Rename("deep", from, to).Do()
	}
	_, err := rename("none/", "x/")
	refused(t, err, 404, "notFound", "The specified folder does not exist.")
	_, err = rename("run/tmp/", "run/")
	refused(t, err, 409, "conflict", "already exists")
	_, err = rename("run/tmp/", "nowhere/final/")
	refused(t, err, 409, "conflict", "The parent folder does not exist.")
	_, err = rename("run/tmp/", "run/tmp/inner/")
	refused(t, err, 400, "invalid", "must not be within")

	op, err := rename("run/tmp/", "run/final/")
	ok(t, err)
	equal(t, "done", op.Done, true)
	if !strings.Contains(string(op.Metadata), `"destinationFolderId":"run/final/"`) || !strings.Contains(string(op.Response), "google.storage.control.v2.Folder") {
		t.Errorf("metadata %s, response %s", op.Metadata, op.Response)
	}
	id := op.Name[strings.LastIndex(op.Name, "/")+1:]
	again, err := w.api.Operations.Get("deep", id).Do()
	ok(t, err)
	equal(t, "operation", again.Name, op.Name)

	moved, err := w.api.Objects.Get("deep", "run/final/model.bin").Do()
	ok(t, err)
	equal(t, "generation", moved.Generation, o.Generation)
	equal(t, "content", w.text("deep", "run/final/sub/opt.bin"), "optimizer")
	equal(t, "odd", w.text("deep", "run/final/a/../b", odd.Generation), "odd")
	equal(t, "objects", w.names("deep", func(c *gcs.ObjectsListCall) { c.Prefix("run/tmp/") }), "")
	equal(t, "in the mount", m.read("run/final/model.bin"), "weights")
	if _, err := os.Stat(m.path("run/tmp")); !os.IsNotExist(err) {
		t.Errorf("the old directory: %v", err)
	}
	if got := w.folders("deep"); strings.Contains(got, "tmp") || !strings.Contains(got, "run/final/sub/") {
		t.Errorf("folders %s", got)
	}
	// To a name that no directory can have, and back.
	long := strings.Repeat("n", 300) + "/"
	_, err = rename("run/final/", long)
	ok(t, err)
	equal(t, "content", w.text("deep", long+"model.bin"), "weights")
	_, err = rename(long, "back/")
	ok(t, err)
	equal(t, "content", w.text("deep", "back/sub/opt.bin"), "optimizer")
}

func TestManagedFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("flat")
	_, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "finegrained"}).Do()
	ok(t, err)
	_, err = w.api.ManagedFolders.List("finegrained").Do()
	refused(t, err, 412, "conditionNotMet", "Uniform bucket-level access is required to be enabled on the bucket")

	f, err := w.api.ManagedFolders.Insert("flat", &gcs.ManagedFolder{Name: "team/a"}).Do()
	ok(t, err)
	equal(t, "folder", f.Kind+" "+f.Name, "storage#managedFolder team/a/")
	_, err = w.api.ManagedFolders.Insert("flat", &gcs.ManagedFolder{Name: "team/a/"}).Do()
	refused(t, err, 409, "conflict", "The specified managed folder already exists.")
	_, err = w.api.ManagedFolders.Get("flat", "none/").Do()
	refused(t, err, 404, "notFound", "The specified managed folder does not exist.")

	p, err := w.api.ManagedFolders.GetIamPolicy("flat", "team/a/").Do()
	ok(t, err)
	equal(t, "fresh etag", p.Etag, "CAA=")
	equal(t, "fresh bindings", len(p.Bindings), 0)
	p.Bindings = []*gcs.PolicyBindings{{Role: "roles/storage.objectViewer", Members: []string{"user:a@example.com"}}}
	p2, err := w.api.ManagedFolders.SetIamPolicy("flat", "team/a/", p).Do()
	ok(t, err)
	equal(t, "etag", p2.Etag, "CAE=")
	_, err = w.api.ManagedFolders.SetIamPolicy("flat", "team/a/", p).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	b, err := w.api.Buckets.Get("flat").Do()
	ok(t, err)
	equal(t, "metageneration of the bucket", b.Metageneration, 1)

	w.put("flat", "team/a/o", "x")
	refused(t, w.api.ManagedFolders.Delete("flat", "team/a/").Do(), 409, "conflict", "The managed folder you tried to delete is not empty.")
	refused(t, w.api.Buckets.Delete("flat").Do(), 409, "conflict", "not empty")
	ok(t, w.api.ManagedFolders.Delete("flat", "team/a/").AllowNonEmpty(true).Do())
	ok(t, w.api.Objects.Delete("flat", "team/a/o").Do())
	ok(t, w.api.Buckets.Delete("flat").Do())
}
