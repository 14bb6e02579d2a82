// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// policyServer is the policy of one bucket with Cloud Storage's rules: an etag that each change makes stale, version 3 for conditions.
type policyServer struct {
	t *testing.T

	mu       sync.Mutex
	version  int
	bindings []map[string]any
	reads    int
	writes   int // accepted
	refusals int

	beforeWrite func(n int) // called for each write, before anything is looked at, with the lock free
	refuse      func(n int, body string) (code int, reason, message string)
	lose        func(n int) bool // the write is done, its answer is lost
	calls       int

	refuseRead func(n int) bool
}

func (s *policyServer) etag() string {
	return base64.StdEncoding.EncodeToString([]byte{8, byte(s.version)})
}

func (s *policyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/storage/v1/b/ckpt/iam" {
		s.t.Errorf("unexpected %s %s", r.Method, r.URL)
	}
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads++
		if s.refuseRead != nil && s.refuseRead(s.reads) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"error": {"code": 403, "message": "no", "errors": [{"reason": "forbidden"}]}}`)
			return
		}
		if v := r.URL.Query().Get("optionsRequestedPolicyVersion"); v != "3" {
			s.t.Errorf("policy version %q was asked for", v)
		}
		s.answer(w)
		return
	}
	var body struct {
		Etag     string
		Version  int
		Bindings []map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.t.Errorf("body: %v", err)
	}
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	if s.beforeWrite != nil {
		s.beforeWrite(n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		text, err := json.Marshal(body.Bindings)
		if err != nil {
			s.t.Error(err)
		}
		if code, reason, message := s.refuse(n, string(text)); code != 0 {
			s.refusals++
			writeError(w, code, reason, message)
			return
		}
	}
	if body.Version != 3 || body.Etag == "" {
		s.t.Errorf("a policy of version %d with etag %q was written", body.Version, body.Etag)
	}
	if body.Etag != s.etag() {
		s.refusals++
		writeError(w, 412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
		return
	}
	s.bindings = body.Bindings
	s.version++
	s.writes++
	if s.lose != nil && s.lose(n) {
		panic(http.ErrAbortHandler)
	}
	s.answer(w)
}

func (s *policyServer) answer(w http.ResponseWriter) {
	text, err := json.Marshal(map[string]any{"kind": "storage#policy", "version": 1, "etag": s.etag(), "bindings": s.bindings})
	if err != nil {
		s.t.Error(err)
	}
	_, _ = w.Write(text)
}

// touch is another client's change.
func (s *policyServer) touch(role, member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	if role != "" {
		s.bindings = append(s.bindings, map[string]any{"role": role, "members": []any{member}})
	}
}

func (s *policyServer) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(s.bindings)
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

func newPolicyServer(t *testing.T) (*policyServer, *Client, *instantClock) {
	t.Helper()
	s := &policyServer{t: t, version: 1, bindings: []map[string]any{
		{"role": "roles/storage.legacyBucketOwner", "members": []any{"projectOwner:p"}},
		{"role": viewer, "members": []any{other}, "condition": map[string]any{"title": "c", "expression": "e", "description": "d", "location": "l"}},
	}}
	client, clock := newStorageClient(t, s)
	return s, client, clock
}

var testGrant = Grant{Resource: "projects/_/buckets/ckpt", Role: objectUser, Member: account}

func TestAddAndRemoveMember(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	original := s.text()
	for i, want := range []bool{true, false} {
		added, err := client.AddMember(t.Context(), testGrant)
		if err != nil || added != want {
			t.Fatalf("add %d: %v, %v", i, added, err)
		}
	}
	if s.writes != 1 {
		t.Errorf("%d writes", s.writes)
	}
	if has, err := client.HasMember(t.Context(), testGrant); err != nil || !has {
		t.Errorf("HasMember: %v, %v", has, err)
	}
	for i, want := range []bool{true, false} {
		removed, err := client.RemoveMember(t.Context(), testGrant)
		if err != nil || removed != want {
			t.Fatalf("remove %d: %v, %v", i, removed, err)
		}
	}
	if s.writes != 2 {
		t.Errorf("%d writes", s.writes)
	}
	if d := cmp.Diff(original, s.text()); d != "" {
		t.Error(d)
	}
	if has, err := client.HasMember(t.Context(), testGrant); err != nil || has {
		t.Errorf("HasMember: %v, %v", has, err)
	}
}

// A stale etag restarts read, merge and write; what the other writer did survives (cases 76, 79).
func TestPolicyConflict(t *testing.T) {
	t.Parallel()
	s, client, clock := newPolicyServer(t)
	s.beforeWrite = func(n int) {
		if n <= 6 {
			s.touch(viewer, fmt.Sprintf("user:other%d@x.example", n))
		}
	}
	added, err := client.AddMember(t.Context(), testGrant)
	if err != nil || !added {
		t.Fatalf("%v, %v", added, err)
	}
	for n := 1; n <= 6; n++ {
		if want := fmt.Sprintf("user:other%d@x.example", n); !strings.Contains(s.text(), want) {
			t.Errorf("%s is lost", want)
		}
	}
	if s.refusals != 6 || len(clock.pauses()) != 6 {
		t.Errorf("%d refusals, pauses %v", s.refusals, clock.pauses())
	}
}

// A 412 that is no conflict ends soon, with Google's text.
func TestPolicyPrecondition(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	s.refuse = func(int, string) (int, string, string) {
		return 412, "conditionNotMet", "Uniform bucket-level access is required to set conditions."
	}
	_, err := client.AddMember(t.Context(), testGrant)
	if e := wantError(t, err); e.Message != "Uniform bucket-level access is required to set conditions." || e.Ambiguous {
		t.Errorf("got %+v", e)
	}
	if s.refusals > 4 {
		t.Errorf("it was tried %d times", s.refusals)
	}
}

// A write whose answer was lost is found at the next read, and counts as ours; an outage does not make a second entry.
func TestPolicyLostAnswer(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	s.lose = func(n int) bool { return n == 1 }
	added, err := client.AddMember(t.Context(), testGrant)
	if err != nil || !added || s.writes != 1 {
		t.Errorf("added %v with %d writes, %v", added, s.writes, err)
	}
	s.lose = nil
	s.refuse = func(n int, _ string) (int, string, string) {
		if n < 4 {
			return 503, "backendError", "Service Unavailable"
		}
		return 0, "", ""
	}
	if removed, err := client.RemoveMember(t.Context(), testGrant); err != nil || !removed || s.writes != 2 {
		t.Errorf("removed %v with %d writes, %v", removed, s.writes, err)
	}
}

// A write whose answer was lost may have taken effect, whatever goes wrong after it: who asked for it must be able to take it back. What was
// in no write has not.
func TestPolicyLostAnswerAndNoRead(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	s.lose = func(int) bool { return true }
	s.refuseRead = func(n int) bool { return n == 2 }
	if _, err := client.AddMember(t.Context(), testGrant); !IsPermissionDenied(err) || !IsAmbiguous(err) {
		t.Errorf("%v, ambiguous: %t", err, IsAmbiguous(err))
	}
	s.refuseRead = func(int) bool { return true }
	if _, err := client.AddMember(t.Context(), testGrant); !IsPermissionDenied(err) || IsAmbiguous(err) {
		t.Errorf("%v, ambiguous: %t", err, IsAmbiguous(err))
	}
}

// Many grants on one bucket at once make a few writes, one after the other (case 76).
func TestPolicyWritesAreFolded(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	const n = 50
	gate := make(chan struct{})
	s.beforeWrite = func(call int) {
		if call == 1 {
			<-gate
		}
	}
	var added atomic.Int32
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			g := testGrant
			g.Member = fmt.Sprintf("serviceAccount:a%d@p.iam.gserviceaccount.com", i)
			ok, err := client.AddMember(t.Context(), g)
			if err != nil {
				t.Error(err)
			}
			if ok {
				added.Add(1)
			}
		})
		if i == 0 { // the first is being written while the others arrive
			waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.calls == 1 })
		}
	}
	waitFor(t, func() bool {
		client.policies.mu.Lock()
		defer client.policies.mu.Unlock()
		return len(client.policies.waiting[testGrant.Resource]) == n-1
	})
	close(gate)
	group.Wait()
	if added.Load() != n || s.writes != 2 || s.refusals != 0 {
		t.Errorf("%d added with %d writes and %d refusals", added.Load(), s.writes, s.refusals)
	}
	if got := strings.Count(s.text(), "serviceAccount:a"); got != n {
		t.Errorf("%d members", got)
	}
	waitFor(t, func() bool {
		client.policies.mu.Lock()
		defer client.policies.mu.Unlock()
		return len(client.policies.waiting) == 0
	})
}

// An account that the policy service does not see yet neither fails nor holds up the grants of others (case 65).
func TestPolicyFreshAccount(t *testing.T) {
	t.Parallel()
	s, client, clock := newPolicyServer(t)
	const email = "train@p.iam.gserviceaccount.com"
	gate, hidden := make(chan struct{}), 3
	s.beforeWrite = func(n int) {
		if n == 1 {
			<-gate
		}
	}
	s.refuse = func(_ int, body string) (int, string, string) {
		if strings.Contains(body, email) && hidden > 0 {
			hidden--
			return 400, "invalid", "Service account " + email + " does not exist."
		}
		return 0, "", ""
	}
	var group sync.WaitGroup
	grant := func(member string, opts ...Option) {
		group.Go(func() {
			g := testGrant
			g.Member = member
			if added, err := client.AddMember(t.Context(), g, opts...); err != nil || !added {
				t.Errorf("%s: %v, %v", member, added, err)
			}
		})
	}
	grant("user:first@x.example")
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.calls == 1 })
	grant("serviceAccount:"+email, FreshAccount(email))
	grant("user:second@x.example")
	waitFor(t, func() bool {
		client.policies.mu.Lock()
		defer client.policies.mu.Unlock()
		return len(client.policies.waiting[testGrant.Resource]) == 2
	})
	close(gate)
	group.Wait()
	if len(clock.pauses()) == 0 {
		t.Error("nothing was waited for")
	}

	hidden = 1 << 20
	g := testGrant
	if _, err := client.RemoveMember(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	calls := s.calls
	if _, err := client.AddMember(t.Context(), g); !IsInvalid(err) || s.calls != calls+1 {
		t.Errorf("an account that is not fresh: %v after %d writes", err, s.calls-calls)
	}
	start := clock.Now()
	if _, err := client.AddMember(t.Context(), g, FreshAccount(email)); !IsInvalid(err) {
		t.Errorf("an account that never appears: %v", err)
	}
	if d := clock.Since(start); d > accountBudget || d < accountBudget/2 {
		t.Errorf("waited %s", d)
	}
}

// One caller's interruption does not stop the change of another that travels with it.
func TestPolicyInterrupted(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	gate := make(chan struct{})
	s.beforeWrite = func(n int) { <-gate }
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	waiting := func(n int) func() bool {
		return func() bool {
			client.policies.mu.Lock()
			defer client.policies.mu.Unlock()
			return len(client.policies.waiting[testGrant.Resource]) == n
		}
	}
	go func() { // keeps the writer busy
		_, err := client.AddMember(t.Context(), Grant{testGrant.Resource, viewer, "user:busy@x.example"})
		first <- err
	}()
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.calls == 1 })
	go func() {
		_, err := client.AddMember(ctx, testGrant)
		second <- err
	}()
	waitFor(t, waiting(1))
	third := make(chan error, 1)
	go func() {
		_, err := client.AddMember(t.Context(), Grant{testGrant.Resource, viewer, "user:third@x.example"})
		third <- err
	}()
	waitFor(t, waiting(2))
	cancel()
	if err := <-second; !IsAmbiguous(err) {
		t.Errorf("interrupted: %v", err)
	}
	close(gate)
	for _, c := range []chan error{first, third} {
		if err := <-c; err != nil {
			t.Errorf("not interrupted: %v", err)
		}
	}
}

func TestGrantResource(t *testing.T) {
	t.Parallel()
	client, _ := newStorageClient(t, http.NotFoundHandler())
	for _, resource := range []string{"", "ckpt", "projects/_/buckets/", "projects/_/buckets/a/b", "projects/p/buckets/b",
		"projects/p/secrets/", "projects/_/secrets/s", "projects//secrets/s", "projects/p/locations/us-central1/secrets/s", "projects/p/secrets/s/versions/1"} {
		if _, err := client.AddMember(t.Context(), Grant{Resource: resource, Role: viewer, Member: account}); !IsInvalid(err) || IsAmbiguous(err) {
			t.Errorf("%q: %v", resource, err)
		}
	}
}
