// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/type/expr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	testSecret   = "projects/p/secrets/s"
	accessor     = "roles/secretmanager.secretAccessor"
	stalePolicy  = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."
	setSecretIAM = "google.cloud.secretmanager.v1.SecretManagerService/SetIamPolicy"
)

var secretGrant = Grant{Resource: testSecret, Role: accessor, Member: account}

// newFakeSecrets is a fake cloud whose Secret Manager is asked, too.
func newFakeSecrets(t *testing.T) *fakeCloud {
	t.Helper()
	return newFakeCloud(t, func(o *Options) { o.Endpoints.Storage = o.Endpoints.Run })
}

// What is written is what was read and the one entry more: conditions, the etag, and no mask, which leaves other parts alone (case 79).
func TestSecretPolicyRequests(t *testing.T) {
	t.Parallel()
	f := newFakeSecrets(t)
	foreign := &iampb.Binding{Role: "roles/secretmanager.viewer", Members: []string{other}, Condition: &expr.Expr{Title: "t", Description: "d", Expression: "e", Location: "l"}}
	f.on("GetIamPolicy", answer{message: &iampb.Policy{Version: 3, Etag: []byte{7, 0, 1}, Bindings: []*iampb.Binding{foreign}}})
	f.on("SetIamPolicy", answer{message: &iampb.Policy{}})
	if added, err := f.AddMember(t.Context(), secretGrant); err != nil || !added {
		t.Fatalf("%v, %v", added, err)
	}
	wantRequests(t, f, "GetIamPolicy", &iampb.GetIamPolicyRequest{Resource: testSecret, Options: &iampb.GetPolicyOptions{RequestedPolicyVersion: 3}})
	wantRequests(t, f, "SetIamPolicy", &iampb.SetIamPolicyRequest{Resource: testSecret, Policy: &iampb.Policy{
		Version: 3, Etag: []byte{7, 0, 1}, Bindings: []*iampb.Binding{foreign, {Role: accessor, Members: []string{account}}},
	}})
}

// case 76: ABORTED means that somebody else wrote: it is read again.
func TestSecretPolicyConflict(t *testing.T) {
	t.Parallel()
	f := newFakeSecrets(t)
	f.on("GetIamPolicy", answer{message: &iampb.Policy{Etag: []byte("1")}}, answer{err: status.Error(codes.Unavailable, "x")},
		answer{message: &iampb.Policy{Etag: []byte("2"), Bindings: []*iampb.Binding{{Role: accessor, Members: []string{other}}}}})
	f.on("SetIamPolicy", answer{err: status.Error(codes.Aborted, stalePolicy)}, answer{message: &iampb.Policy{}})
	if added, err := f.AddMember(t.Context(), secretGrant); err != nil || !added {
		t.Fatalf("%v, %v", added, err)
	}
	sent := f.requests("SetIamPolicy")
	if len(sent) != 2 {
		t.Fatalf("%d writes", len(sent))
	}
	want := &iampb.SetIamPolicyRequest{Resource: testSecret, Policy: &iampb.Policy{
		Version: 3, Etag: []byte("2"), Bindings: []*iampb.Binding{{Role: accessor, Members: []string{other, account}}},
	}}
	if d := cmp.Diff(want, sent[1], protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestSecretErrors(t *testing.T) {
	t.Parallel()
	f := newFakeSecrets(t)
	f.on("GetIamPolicy", answer{message: &iampb.Policy{}})
	f.on("SetIamPolicy", answer{err: status.Error(codes.PermissionDenied, "Permission 'secretmanager.secrets.setIamPolicy' denied on resource (or it may not exist).")})
	if _, err := f.AddMember(t.Context(), secretGrant); !IsPermissionDenied(err) || IsAmbiguous(err) || f.count("SetIamPolicy") != 1 {
		t.Errorf("denied: %v after %d writes", err, f.count("SetIamPolicy"))
	}
	f.on("GetSecret", answer{err: status.Error(codes.NotFound, "Secret [projects/1/secrets/s] not found.")})
	_, err := f.GetSecret(t.Context(), testSecret)
	if want := "read secret projects/p/secrets/s: Secret [projects/1/secrets/s] not found. (HTTP 404, NOT_FOUND)"; !IsNotFound(err) || err.Error() != want {
		t.Errorf("missing: %v", err)
	}
	f.on("TestIamPermissions", answer{err: status.Error(codes.Unavailable, "x")}, answer{message: &iampb.TestIamPermissionsResponse{Permissions: []string{"b"}}})
	if got, err := f.Permissions(t.Context(), testSecret, []string{"a", "b"}); err != nil || len(got) != 1 || got[0] != "b" {
		t.Errorf("permissions: %v, %v", got, err)
	}
	wantRequests(t, f, "TestIamPermissions", &iampb.TestIamPermissionsRequest{Resource: testSecret, Permissions: []string{"a", "b"}},
		&iampb.TestIamPermissionsRequest{Resource: testSecret, Permissions: []string{"a", "b"}})
	if _, err := f.Permissions(t.Context(), "projects/p/topics/t", nil); !IsInvalid(err) {
		t.Errorf("permissions on something else: %v", err)
	}
}

// secretWorld is an emulator with the secret s of project p, and a client.
func secretWorld(t *testing.T) (*emulator.Emulator, *Client) {
	t.Helper()
	e, err := emulator.Start(emulator.Options{Launcher: runner.NewScripted()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.Secrets().AddSecret("p", "s", []byte("open sesame")); err != nil {
		t.Fatal(err)
	}
	return e, newTestClient(t, Options{EmulatorHost: e.Addr()})
}

func TestSecretsOnTheEmulator(t *testing.T) {
	t.Parallel()
	e, client := secretWorld(t)
	ctx := t.Context()
	secret, err := client.GetSecret(ctx, testSecret)
	if err != nil || !strings.HasSuffix(secret.GetName(), "/secrets/s") {
		t.Errorf("%v, %v", secret, err)
	}
	if _, err := client.GetSecret(ctx, "projects/p/secrets/none"); !IsNotFound(err) {
		t.Errorf("a missing secret: %v", err)
	}
	asked := []string{"secretmanager.secrets.getIamPolicy", "secretmanager.secrets.setIamPolicy"}
	for resource, want := range map[string]int{testSecret: 2, "projects/p/secrets/none": 0} {
		if got, err := client.Permissions(ctx, resource, asked); err != nil || len(got) != want {
			t.Errorf("permissions on %s: %v, %v", resource, got, err)
		}
	}
	gone := secretGrant
	gone.Resource = "projects/p/secrets/none"
	for what, err := range map[string]error{"has": second(client.HasMember(ctx, gone)), "add": second(client.AddMember(ctx, gone)), "remove": second(client.RemoveMember(ctx, gone))} {
		if !IsNotFound(err) || IsAmbiguous(err) {
			t.Errorf("%s on a missing secret: %v", what, err)
		}
	}

	// The account is made, deleted and made again, and hidden from policy writes each time (cases 65, 71, 73).
	const email = "trainer@p.iam.gserviceaccount.com"
	g := Grant{Resource: testSecret, Role: accessor, Member: "serviceAccount:" + email}
	for range 2 {
		if _, err := client.CreateServiceAccount(ctx, "p", "trainer", "", ""); err != nil {
			t.Fatal(err)
		}
		e.IAM().Hide(email, iam.PolicyView, 2)
		if _, err := client.AddMember(ctx, g); !IsInvalid(err) {
			t.Errorf("without saying that the account is fresh: %v", err)
		}
		for _, want := range []bool{true, false} {
			if added, err := client.AddMember(ctx, g, FreshAccount(email)); err != nil || added != want {
				t.Fatalf("add: %v, %v", added, err)
			}
		}
		if has, err := client.HasMember(ctx, g); err != nil || !has {
			t.Errorf("has: %v, %v", has, err)
		}
		if _, err := e.Secrets().Access(testSecret, "latest", g.Member); err != nil {
			t.Errorf("access: %v", err)
		}
		if err := client.DeleteServiceAccount(ctx, "p", email); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []bool{true, false} {
		if removed, err := client.RemoveMember(ctx, g); err != nil || removed != want {
			t.Errorf("remove: %v, %v", removed, err)
		}
	}
	e.Faults().Add(faults.Fault{Method: setSecretIAM, Lose: true})
	before := e.Faults().Count(setSecretIAM)
	g.Member = "user:me@x.example"
	if added, err := client.AddMember(ctx, g); err != nil || !added || e.Faults().Count(setSecretIAM) != before+1 {
		t.Errorf("a lost answer: %v, %v", added, err)
	}
}

func second[T any](_ T, err error) error { return err }

// Many grants on one secret at once make one write, while the changes of others come between (cases 76, 77).
func TestSecretWritesAreFolded(t *testing.T) {
	t.Parallel()
	e, client := secretWorld(t)
	const n = 30
	held, gate := make(chan struct{}), make(chan struct{})
	e.Faults().Add(faults.Fault{Method: setSecretIAM, Do: func(faults.Call) { close(held); <-gate }})
	grant := func(i int) Grant {
		return Grant{Resource: testSecret, Role: accessor, Member: fmt.Sprintf("user:u%d@x.example", i)}
	}
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if added, err := client.AddMember(t.Context(), grant(i)); err != nil || !added {
				t.Errorf("%d: %v, %v", i, added, err)
			}
		})
		if i == 0 {
			<-held
		}
	}
	waitFor(t, func() bool {
		client.policies.mu.Lock()
		defer client.policies.mu.Unlock()
		return len(client.policies.waiting[testSecret]) == n-1
	})
	// Somebody else writes between the first read and its write, which is then refused once.
	if _, err := e.Secrets().SetIamPolicy(t.Context(), &iampb.SetIamPolicyRequest{Resource: testSecret, Policy: &iampb.Policy{
		Bindings: []*iampb.Binding{{Role: accessor, Members: []string{"user:other@x.example"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	close(gate)
	group.Wait()
	if got := e.Faults().Count(setSecretIAM); got != 2 {
		t.Errorf("%d writes, want one refused and one for all", got)
	}
	p, err := client.readPolicy(t.Context(), testSecret)
	if err != nil || len(p.bindings) != 1 || len(p.bindings[0].members) != n+1 {
		t.Errorf("policy %+v, %v", p, err)
	}
}

// The client never asks for what a secret holds.
func TestSecretPayloadIsNeverRead(t *testing.T) {
	t.Parallel()
	e, client := secretWorld(t)
	if _, err := client.GetSecret(t.Context(), testSecret); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AddMember(t.Context(), Grant{Resource: testSecret, Role: accessor, Member: "user:u@x.example"}); err != nil {
		t.Fatal(err)
	}
	for _, call := range e.Faults().Calls() {
		if strings.HasSuffix(call.Method, "/AccessSecretVersion") {
			t.Errorf("%s was called", call.Method)
		}
	}
}
