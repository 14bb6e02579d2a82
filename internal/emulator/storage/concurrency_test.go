// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/api/googleapi"
	gcs "google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
)

// case 76: of many writers of one policy who merge and try again, none loses
// its grant to another.
func TestConcurrentPolicyWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("shared")
	const writers = 8
	var group sync.WaitGroup
	var refusals atomic.Int64
	for i := range writers {
		group.Go(func() {
			for {
				p, err := w.api.Buckets.GetIamPolicy("shared").OptionsRequestedPolicyVersion(3).Do()
				if err != nil {
					t.Error(err)
					return
				}
				p.Bindings = append(p.Bindings, &gcs.PolicyBindings{Role: "roles/storage.objectViewer", Members: []string{fmt.Sprintf("user:w%d@example.com", i)}})
				_, err = w.api.Buckets.SetIamPolicy("shared", p).Do()
				if err == nil {
					return
				}
				if !googleapiCode(err, 412) {
					t.Error(err)
					return
				}
				refusals.Add(1)
			}
		})
	}
	group.Wait()
	for i := range writers {
		equal(t, fmt.Sprint("writer ", i), w.service.Allowed("shared", fmt.Sprintf("user:w%d@example.com", i), "storage.objects.get"), true)
	}
	b, err := w.api.Buckets.Get("shared").Do()
	ok(t, err)
	equal(t, "metageneration", b.Metageneration, 1+writers)
}

// One creator of a bucket or of an object that must not exist wins.
func TestConcurrentCreators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group sync.WaitGroup
	var buckets, objects atomic.Int64
	for range 8 {
		group.Go(func() {
			_, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "contested"}).Do()
			switch {
			case err == nil:
				buckets.Add(1)
			case !googleapiCode(err, 409):
				t.Error(err)
			}
			_, err = w.api.Objects.Insert("contested", &gcs.Object{Name: "o"}).IfGenerationMatch(0).Media(strings.NewReader("x"), googleapi.ChunkSize(0)).Do()
			switch {
			case err == nil:
				objects.Add(1)
			case !googleapiCode(err, 412):
				t.Error(err)
			}
		})
	}
	group.Wait()
	equal(t, "buckets made", buckets.Load(), 1)
	equal(t, "objects made", objects.Load(), 1)
}

// Clients and tasks that all do what they like never get an error of the
// emulator's own, and in the end index and files agree.
func TestConcurrentClientsAndTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("busy", hierarchical)
	m := w.mount("busy")
	serverFault := func(err error) {
		if err != nil && !googleapiCode(err, 404) && !googleapiCode(err, 409) {
			t.Error(err)
		}
	}
	var group sync.WaitGroup
	for worker := range 3 {
		group.Go(func() {
			for i := range 25 {
				name := fmt.Sprintf("d%d/f%d", i%3, i%5)
				_, err := w.api.Objects.Insert("busy", &gcs.Object{Name: name}).Media(strings.NewReader(strings.Repeat("x", i*worker)), googleapi.ChunkSize(0)).Do()
				serverFault(err)
				_, err = w.api.Objects.List("busy").Do()
				serverFault(err)
				serverFault(w.api.Objects.Delete("busy", name).Do())
				_, err = w.api.Folders.List("busy").Do()
				serverFault(err)
			}
		})
		group.Go(func() {
			for i := range 100 {
				dir := fmt.Sprintf("d%d", i%3)
				_ = os.Mkdir(m.path(dir), 0o755)
				_ = os.WriteFile(m.path(fmt.Sprintf("%s/t%d.tmp", dir, worker)), []byte("task"), 0o644)
				_ = os.Rename(m.path(fmt.Sprintf("%s/t%d.tmp", dir, worker)), m.path(fmt.Sprintf("%s/f%d", dir, i%5)))
				if i%10 == worker {
					_ = os.RemoveAll(m.path(dir))
				}
			}
		})
	}
	group.Wait()
	for _, name := range w.list("busy") {
		equal(t, name, w.text("busy", name), m.read(name))
	}
	for _, name := range w.list("busy") {
		serverFault(w.api.Objects.Delete("busy", name).Do())
	}
	folders := strings.Fields(w.folders("busy"))
	for i := len(folders) - 1; i >= 0; i-- {
		ok(t, w.api.Folders.Delete("busy", folders[i]).Do())
	}
	ok(t, w.api.Buckets.Delete("busy").Do())
	for _, c := range w.script.Calls() { // the client itself would ask again
		if c.Code == codes.Internal {
			t.Errorf("%s %s was answered with a fault of the emulator", c.Method, c.Resource)
		}
	}
}
