// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
)

// What is forced is sent although it is zero, and what is nulled is sent as null (cases 92, 94, 100).
func TestBucketBodies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies, queries []string
	client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, r.Method+" "+r.URL.Path+" "+strings.TrimSpace(string(text)))
		queries = append(queries, r.URL.Query().Get("project")+r.URL.Query().Get("ifMetagenerationMatch"))
		fmt.Fprint(w, `{"name":"b","metageneration":"7"}`)
	}))
	_, err := client.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b", Labels: map[string]string{"a": ""},
		SoftDeletePolicy: &storage.BucketSoftDeletePolicy{ForceSendFields: []string{"RetentionDurationSeconds"}}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.PatchBucket(t.Context(), "b", &storage.Bucket{ForceSendFields: []string{"Labels"}, NullFields: []string{"Labels.a"},
		Versioning: &storage.BucketVersioning{ForceSendFields: []string{"Enabled"}}}, IfMetageneration(7))
	if err != nil || made.Metageneration != 7 {
		t.Fatal(made, err)
	}
	want := []string{
		`POST /storage/v1/b {"labels":{"a":""},"name":"b","softDeletePolicy":{"retentionDurationSeconds":"0"}}`,
		`PATCH /storage/v1/b/b {"labels":{"a":null},"versioning":{"enabled":false}}`,
	}
	for i, w := range want {
		if bodies[i] != w {
			t.Errorf("got  %s\nwant %s", bodies[i], w)
		}
	}
	if queries[0] != "p" || queries[1] != "7" {
		t.Errorf("queries %v", queries)
	}
}

// What 409 means depends on the call; newer answers say it themselves.
func TestConflictCodes(t *testing.T) {
	t.Parallel()
	body := `{"error":{"code":409,"message":"The bucket you tried to delete is not empty.","errors":[{"reason":"conflict"}]}}`
	client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(409)
		if strings.HasSuffix(r.URL.Path, "/new") {
			fmt.Fprint(w, `{"error":{"code":409,"message":"m","status":"ABORTED","details":[{"@type":"x","reason":"CONCURRENT"}]}}`)
			return
		}
		fmt.Fprint(w, body)
	}))
	_, err := client.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
	if !IsAlreadyExists(err) || IsAmbiguous(err) {
		t.Errorf("create: %+v", err)
	}
	err = client.DeleteBucket(t.Context(), "b")
	if e := wantError(t, err); e.Code != codes.FailedPrecondition || e.HTTP != 409 || IsConflict(err) {
		t.Errorf("delete: %+v", e)
	}
	_, err = client.PatchBucket(t.Context(), "new", &storage.Bucket{StorageClass: "X"})
	if e := wantError(t, err); !IsConflict(err) || e.Reason != "CONCURRENT" {
		t.Errorf("patch: %+v", e)
	}
}

// A proxy's page is not shown to users.
func TestProxyAnswer(t *testing.T) {
	t.Parallel()
	client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		fmt.Fprint(w, "<html><body>"+strings.Repeat("blocked ", 1000)+"</body></html>")
	}))
	_, err := client.GetBucket(t.Context(), "b")
	if want := "read bucket b: Forbidden (HTTP 403, PERMISSION_DENIED)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestBucketPermissions(t *testing.T) {
	t.Parallel()
	client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query()["permissions"]; len(got) != 2 {
			t.Errorf("asked for %v", got)
		}
		fmt.Fprint(w, `{"permissions":["storage.buckets.getIamPolicy"]}`)
	}))
	got, err := client.Permissions(t.Context(), "projects/_/buckets/b", []string{"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"})
	if err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// contents is a bucket full of objects, folders and managed folders, in pages.
type contents struct {
	t    *testing.T
	page int

	mu      sync.Mutex
	objects map[string]bool // name@generation
	folders map[string]bool
	managed map[string]bool
	busy    atomic.Int32
	most    atomic.Int32
	deny    func(method, path string) bool
	// together is called by each delete, before it takes its turn.
	together func()
}

func (c *contents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := c.busy.Add(1)
	defer c.busy.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	path := strings.TrimPrefix(r.URL.Path, "/storage/v1/b/ckpt")
	if r.Method == http.MethodDelete && c.together != nil {
		c.together()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deny != nil && c.deny(r.Method, path) {
		writeError(w, 403, "forbidden", "denied")
		return
	}
	kind, name, single := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	set := map[string]map[string]bool{"o": c.objects, "folders": c.folders, "managedFolders": c.managed}[kind]
	switch {
	case path == "":
		fmt.Fprint(w, `{"name":"ckpt","hierarchicalNamespace":{"enabled":true}}`)
	case r.Method == http.MethodGet:
		c.list(w, r, kind, set)
	case r.Method == http.MethodDelete && single:
		if kind == "o" {
			name += "@" + r.URL.Query().Get("generation")
		}
		if !set[name] {
			writeError(w, 404, "notFound", "gone")
			return
		}
		for other := range set {
			if kind != "o" && other != name && strings.HasPrefix(other, name) {
				writeError(w, 409, "conflict", "The folder you tried to delete is not empty.")
				return
			}
		}
		delete(set, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		c.t.Errorf("unexpected %s %s", r.Method, r.URL)
	}
}

func (c *contents) list(w http.ResponseWriter, r *http.Request, kind string, set map[string]bool) {
	if kind == "o" && r.URL.Query().Get("versions") != "true" {
		c.t.Error("only live objects were listed")
	}
	var names []string
	for name := range set {
		if name > r.URL.Query().Get("pageToken") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	answer := map[string]any{}
	if len(names) > c.page {
		names = names[:c.page]
		answer["nextPageToken"] = names[len(names)-1]
	}
	items := []map[string]any{}
	for _, name := range names {
		base, generation, _ := strings.Cut(name, "@")
		item := map[string]any{"name": base}
		if generation != "" {
			item["generation"] = generation
		}
		items = append(items, item)
	}
	answer["items"] = items
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		c.t.Error(err)
	}
}

func newContents(t *testing.T, objects int) *contents {
	t.Helper()
	c := &contents{t: t, page: 50, objects: map[string]bool{}, folders: map[string]bool{}, managed: map[string]bool{}}
	for i := range objects {
		c.objects[fmt.Sprintf("run/step %d?#/model.pt@%d", i/2, i+1)] = true
	}
	return c
}

func clientOf(t *testing.T, c *contents) *Client {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return newTestClient(t, Options{EmulatorHost: strings.TrimPrefix(server.URL, "http://")})
}

// A bucket is emptied page by page, every version and every folder, however deep (cases 85, 88).
func TestEmptyBucket(t *testing.T) {
	t.Parallel()
	c := newContents(t, 321)
	deep := ""
	for i := range 120 { // parents on earlier pages than their children
		deep += fmt.Sprintf("d%d/", i)
		c.folders[deep] = true
	}
	for i := range 70 {
		c.folders[fmt.Sprintf("e%d/", i)] = true
	}
	c.managed["m/"], c.managed["m/n/"] = true, true
	client := clientOf(t, c)
	if n, more, err := client.CountObjects(t.Context(), "ckpt", 1000); n != 321 || more || err != nil {
		t.Errorf("counted %d, more %v, %v", n, more, err)
	}
	if n, more, err := client.CountObjects(t.Context(), "ckpt", 100); n != 100 || !more || err != nil {
		t.Errorf("counted %d, more %v, %v", n, more, err)
	}
	if n, more, err := client.CountObjects(t.Context(), "ckpt", 321); n != 321 || more || err != nil {
		t.Errorf("counted %d, more %v, %v", n, more, err)
	}
	var deletes atomic.Int32
	second := make(chan struct{})
	c.together = func() {
		switch deletes.Add(1) {
		case 1: // waits for company
			select {
			case <-second:
			case <-time.After(10 * time.Second):
				t.Error("objects are deleted one by one")
			}
		case 2:
			close(second)
		}
	}
	deleted, err := client.EmptyBucket(t.Context(), "ckpt")
	if err != nil || deleted != 321 {
		t.Errorf("deleted %d, %v", deleted, err)
	}
	if len(c.objects)+len(c.folders)+len(c.managed) != 0 {
		t.Errorf("left: %d objects, %d folders, %d managed folders", len(c.objects), len(c.folders), len(c.managed))
	}
	if most := c.most.Load(); most > deleteWorkers {
		t.Errorf("%d calls at once", most)
	}
}

// What may not be done for one kind does not keep the others from being deleted; what cannot be deleted ends it soon (case 89).
func TestEmptyBucketDenied(t *testing.T) {
	t.Parallel()
	c := newContents(t, 10)
	c.folders["a/"] = true
	c.deny = func(_, path string) bool { return path == "/managedFolders" }
	deleted, err := clientOf(t, c).EmptyBucket(t.Context(), "ckpt")
	if deleted != 10 || !IsPermissionDenied(err) || len(c.folders) != 0 {
		t.Errorf("deleted %d, %v, folders %v", deleted, err, c.folders)
	}

	c = newContents(t, 500)
	c.deny = func(method, path string) bool { return method == http.MethodDelete && strings.HasPrefix(path, "/o/") }
	deleted, err = clientOf(t, c).EmptyBucket(t.Context(), "ckpt")
	if deleted != 0 || !IsPermissionDenied(err) || len(c.objects) != 500 {
		t.Errorf("deleted %d, %v", deleted, err)
	}
	if n := strings.Count(err.Error(), "denied"); n > 6 {
		t.Errorf("the error repeats itself %d times", n)
	}
}
