// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	client "cloud.google.com/go/storage"
	"github.com/jonboulle/clockwork"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	gcs "google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/storage"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const (
	project = "resilient-project"
	region  = "us-central1"
)

// world is one emulated Cloud Storage with the clients that judge it.
type world struct {
	t        *testing.T
	service  *storage.Service
	server   *httptest.Server
	clock    *clockwork.FakeClock
	script   *faults.Script
	accounts *accounts
	store    *store.Store
	stopped  sync.Once
	// api is Google's generated JSON client, go Google's handwritten one.
	api *gcs.Service
	go_ *client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, store.Memory())
}

func newWorldOn(t *testing.T, s *store.Store) *world {
	t.Helper()
	w := &world{
		t: t, store: s, accounts: &accounts{},
		clock: clockwork.NewFakeClockAt(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)),
	}
	w.script = faults.NewScript(w.clock)
	var err error
	if w.service, err = storage.New(s, w.clock, w.script, w.accounts); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewUnstartedServer(w.script.Middleware(w.service))
	w.server.Config.ConnContext = faults.ConnContext
	w.server.Start()
	ctx := context.Background()
	if w.api, err = gcs.NewService(ctx, option.WithEndpoint(w.server.URL+"/storage/v1/"), option.WithoutAuthentication()); err != nil {
		t.Fatal(err)
	}
	if w.go_, err = client.NewClient(ctx, option.WithEndpoint(w.server.URL+"/storage/v1/"), option.WithoutAuthentication(), client.WithJSONReads()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	return w
}

// stop ends the world, as the end of the test does by itself.
func (w *world) stop() {
	w.stopped.Do(func() {
		_ = w.go_.Close()
		w.server.Close()
		if err := errors.Join(w.service.Close(), w.store.Close()); err != nil {
			w.t.Error(err)
		}
	})
}

// bucket makes a bucket with uniform access and without soft delete.
func (w *world) bucket(name string, changes ...func(*gcs.Bucket)) *gcs.Bucket {
	w.t.Helper()
	b := &gcs.Bucket{
		Name: name, Location: region,
		IamConfiguration: &gcs.BucketIamConfiguration{UniformBucketLevelAccess: &gcs.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
		SoftDeletePolicy: &gcs.BucketSoftDeletePolicy{ForceSendFields: []string{"RetentionDurationSeconds"}},
	}
	for _, change := range changes {
		change(b)
	}
	made, err := w.api.Buckets.Insert(project, b).Do()
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func hierarchical(b *gcs.Bucket) {
	b.HierarchicalNamespace = &gcs.BucketHierarchicalNamespace{Enabled: true}
}

func versioned(b *gcs.Bucket) { b.Versioning = &gcs.BucketVersioning{Enabled: true} }

func softDeleted(b *gcs.Bucket) {
	b.SoftDeletePolicy = &gcs.BucketSoftDeletePolicy{RetentionDurationSeconds: 7 * 24 * 3600}
}

// send makes a request that no client would and returns its answer.
func (w *world) send(method, path, body string, header ...string) (int, string, http.Header) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := w.server.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Header
}

// refused holds an error to a status, reason and part of the text.
func refused(t *testing.T, err error, code int, reason, text string) {
	t.Helper()
	var e *googleapi.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want %d %s %q", err, code, reason, text)
	}
	got := ""
	if len(e.Errors) > 0 {
		got = e.Errors[0].Reason
	}
	if e.Code != code || got != reason || !strings.Contains(e.Message, text) {
		t.Fatalf("got %d %s %q, want %d %s %q", e.Code, got, e.Message, code, reason, text)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// accounts is a directory of service accounts.
type accounts struct {
	mu   sync.Mutex
	byID map[string]string // email → unique id
}

func (a *accounts) set(email, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byID == nil {
		a.byID = map[string]string{}
	}
	a.byID[email] = id
	if id == "" {
		delete(a.byID, email)
	}
}

func (a *accounts) MemberExists(member string) bool {
	_, ok := a.Lookup(strings.TrimPrefix(member, "serviceAccount:"))
	return ok
}

func (a *accounts) Lookup(email string) (*adminpb.ServiceAccount, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, ok := a.byID[email]
	return &adminpb.ServiceAccount{Email: email, UniqueId: id}, ok
}
