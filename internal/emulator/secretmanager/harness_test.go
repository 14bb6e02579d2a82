// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager_test

import (
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	pb "cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/secretmanager"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const (
	project  = "demo"
	key      = "projects/demo/secrets/key"
	accessor = "roles/secretmanager.secretAccessor"
)

var (
	number    = store.ProjectNumber(project)
	keyNumber = "projects/" + number + "/secrets/key"
	begin     = time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
)

// world is a service with the accounts and the clock that it works with.
type world struct {
	*secretmanager.Service
	t     *testing.T
	clock *clockwork.FakeClock
	iam   *iam.Service
	store *store.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clockwork.NewFakeClockAt(begin), store: store.Memory()}
	w.iam = iam.New(w.store, w.clock)
	w.Service = secretmanager.New(w.store, w.clock, w.iam)
	return w
}

// secret makes the secret key with a version for each payload.
func (w *world) secret(payloads ...string) {
	w.t.Helper()
	for _, p := range payloads {
		if _, err := w.AddSecret(project, "key", []byte(p)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// account makes an account and returns the member that names it.
func (w *world) account(id string) string {
	w.t.Helper()
	a, err := w.iam.CreateServiceAccount(w.t.Context(), &adminpb.CreateServiceAccountRequest{Name: "projects/" + project, AccountId: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return "serviceAccount:" + a.GetEmail()
}

func (w *world) policy() *iampb.Policy {
	w.t.Helper()
	p, err := w.GetIamPolicy(w.t.Context(), &iampb.GetIamPolicyRequest{Resource: key, Options: &iampb.GetPolicyOptions{RequestedPolicyVersion: 3}})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) set(p *iampb.Policy) (*iampb.Policy, error) {
	w.t.Helper()
	return w.SetIamPolicy(w.t.Context(), &iampb.SetIamPolicyRequest{Resource: key, Policy: p})
}

// grant replaces the policy by one role for the members.
func (w *world) grant(role string, members ...string) {
	w.t.Helper()
	if _, err := w.set(&iampb.Policy{Bindings: []*iampb.Binding{{Role: role, Members: members}}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) access(version string) (string, error) {
	w.t.Helper()
	a, err := w.AccessSecretVersion(w.t.Context(), &pb.AccessSecretVersionRequest{Name: key + "/versions/" + version})
	return string(a.GetPayload().GetData()), err
}

func (w *world) update(s *pb.Secret, paths ...string) (*pb.Secret, error) {
	w.t.Helper()
	s.Name = key
	return w.UpdateSecret(w.t.Context(), &pb.UpdateSecretRequest{Secret: s, UpdateMask: mask(paths...)})
}

func (w *world) mustUpdate(s *pb.Secret, paths ...string) *pb.Secret {
	w.t.Helper()
	out, err := w.update(s, paths...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func want(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code || text != "" && st.Message() != text {
		t.Errorf("got %v %q, want %v %q", st.Code(), st.Message(), code, text)
	}
}
