// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package iam_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const trainer = "trainer-account@p.iam.gserviceaccount.com"

func service(t *testing.T) *iam.Service {
	t.Helper()
	return iam.New(store.Memory(), nil)
}

func create(t *testing.T, s *iam.Service, id string) *adminpb.ServiceAccount {
	t.Helper()
	account, err := s.CreateServiceAccount(t.Context(), &adminpb.CreateServiceAccountRequest{
		Name: "projects/p", AccountId: id,
		ServiceAccount: &adminpb.ServiceAccount{DisplayName: "Trainer", Description: "of train"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func get(ctx context.Context, s *iam.Service, name string) (*adminpb.ServiceAccount, error) {
	return s.GetServiceAccount(ctx, &adminpb.GetServiceAccountRequest{Name: name})
}

func TestCreateAndGet(t *testing.T) {
	t.Parallel()
	s := service(t)
	made := create(t, s, "trainer-account")
	want := &adminpb.ServiceAccount{
		Name: "projects/p/serviceAccounts/" + trainer, ProjectId: "p", Email: trainer, UniqueId: made.GetUniqueId(),
		Oauth2ClientId: made.GetUniqueId(), DisplayName: "Trainer", Description: "of train",
		Etag: []byte("01021920"), //nolint:staticcheck // out of use, and still sent by the real service
	}
	if diff := cmp.Diff(want, made, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if !regexp.MustCompile(`^9990\d{17}$`).MatchString(made.GetUniqueId()) {
		t.Errorf("unique id %q", made.GetUniqueId())
	}
	for _, name := range []string{
		want.GetName(), "projects/-/serviceAccounts/" + trainer, "projects/p/serviceAccounts/" + made.GetUniqueId(),
		"projects/" + store.ProjectNumber("p") + "/serviceAccounts/" + trainer,
	} {
		got, err := get(t.Context(), s, name)
		if err != nil || got.GetUniqueId() != made.GetUniqueId() {
			t.Errorf("Get(%s) = %v, %v", name, got, err)
		}
	}
	scoped, err := s.CreateServiceAccount(t.Context(), &adminpb.CreateServiceAccountRequest{Name: "projects/example.com:p", AccountId: "trainer"})
	if err != nil || scoped.GetEmail() != "trainer@p.example.com.iam.gserviceaccount.com" {
		t.Errorf("in a domain-scoped project: %v, %v", scoped, err)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	s := service(t)
	create(t, s, "trainer-account")
	for name, want := range map[string]codes.Code{
		"projects/p/serviceAccounts/nobody@p.iam.gserviceaccount.com": codes.NotFound,
		"projects/other/serviceAccounts/" + trainer:                   codes.NotFound,
		"projects/p/serviceAccounts/999000000000000000000":            codes.NotFound,
		"projects/-/serviceAccounts/nobody@p.iam.gserviceaccount.com": codes.PermissionDenied,
		"serviceAccounts/" + trainer:                                  codes.InvalidArgument,
	} {
		_, err := get(t.Context(), s, name)
		if status.Code(err) != want {
			t.Errorf("Get(%s): %v, want %v", name, err, want)
		}
	}
	_, err := get(t.Context(), s, "projects/p/serviceAccounts/nobody@p.iam.gserviceaccount.com")
	if got := status.Convert(err).Message(); got != "Unknown service account" {
		t.Errorf("text %q", got)
	}
}

// case 70: the address is taken.
func TestCreateRefusals(t *testing.T) {
	t.Parallel()
	s := service(t)
	create(t, s, "trainer-account")
	req := &adminpb.CreateServiceAccountRequest{Name: "projects/p", AccountId: "trainer-account"}
	_, err := s.CreateServiceAccount(t.Context(), req)
	st := status.Convert(err)
	if st.Code() != codes.AlreadyExists || st.Message() != "Service account trainer-account already exists within project projects/p." {
		t.Errorf("a taken address: %v", err)
	}
	if len(st.Details()) != 1 {
		t.Fatalf("details %v", st.Details())
	}
	if info, ok := st.Details()[0].(*errdetails.ResourceInfo); !ok || info.GetResourceName() != "projects/p/serviceAccounts/"+trainer {
		t.Errorf("details %v", st.Details())
	}
	long := strings.Repeat("x", 257)
	for name, req := range map[string]*adminpb.CreateServiceAccountRequest{
		"short":        {Name: "projects/p", AccountId: "abcde"},
		"long":         {Name: "projects/p", AccountId: long[:31]},
		"upper case":   {Name: "projects/p", AccountId: "Trainer"},
		"dash at end":  {Name: "projects/p", AccountId: "trainer-"},
		"digit first":  {Name: "projects/p", AccountId: "1trainer"},
		"no project":   {Name: "p", AccountId: "trainer"},
		"any project":  {Name: "projects/-", AccountId: "trainer"},
		"display name": {Name: "projects/p", AccountId: "trainer", ServiceAccount: &adminpb.ServiceAccount{DisplayName: long[:101]}},
		"description":  {Name: "projects/p", AccountId: "trainer", ServiceAccount: &adminpb.ServiceAccount{Description: long}},
	} {
		if _, err := s.CreateServiceAccount(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPatchAndUpdate(t *testing.T) {
	t.Parallel()
	s := service(t)
	name := create(t, s, "trainer-account").GetName()
	patch := func(paths ...string) (*adminpb.ServiceAccount, error) {
		return s.PatchServiceAccount(t.Context(), &adminpb.PatchServiceAccountRequest{
			ServiceAccount: &adminpb.ServiceAccount{Name: name, DisplayName: "New", Description: "new"},
			UpdateMask:     &fieldmaskpb.FieldMask{Paths: paths},
		})
	}
	answer, err := patch("description")
	if err != nil {
		t.Fatal(err)
	}
	// The real service answers the patched fields and the name only.
	if diff := cmp.Diff(&adminpb.ServiceAccount{Name: name, Description: "new"}, answer, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if got, _ := get(t.Context(), s, name); got.GetDescription() != "new" || got.GetDisplayName() != "Trainer" {
		t.Errorf("after the patch: %v", got)
	}
	for _, paths := range [][]string{nil, {"email"}} {
		if _, err := patch(paths...); status.Code(err) != codes.InvalidArgument {
			t.Errorf("patch of %v: %v", paths, err)
		}
	}
	if _, err := s.UpdateServiceAccount(t.Context(), &adminpb.ServiceAccount{Name: name, DisplayName: "Whole"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := get(t.Context(), s, name); got.GetDescription() != "" || got.GetDisplayName() != "Whole" {
		t.Errorf("after the update: %v", got)
	}
	if _, err := s.DisableServiceAccount(t.Context(), &adminpb.DisableServiceAccountRequest{Name: name}); err != nil {
		t.Fatal(err)
	}
	if got, _ := get(t.Context(), s, name); !got.GetDisabled() {
		t.Error("not disabled")
	}
	if _, err := s.EnableServiceAccount(t.Context(), &adminpb.EnableServiceAccountRequest{Name: name}); err != nil {
		t.Fatal(err)
	}
	if got, _ := get(t.Context(), s, name); got.GetDisabled() {
		t.Error("not enabled")
	}
}

// case 71: an account that is made again is another one.
func TestDeleteUndelete(t *testing.T) {
	t.Parallel()
	s := service(t)
	first := create(t, s, "trainer-account")
	remove := func(name string) error {
		_, err := s.DeleteServiceAccount(t.Context(), &adminpb.DeleteServiceAccountRequest{Name: name})
		return err
	}
	undelete := func(id string) error {
		_, err := s.UndeleteServiceAccount(t.Context(), &adminpb.UndeleteServiceAccountRequest{Name: "projects/p/serviceAccounts/" + id})
		return err
	}
	if err := remove(first.GetName()); err != nil {
		t.Fatal(err)
	}
	if err := remove(first.GetName()); status.Code(err) != codes.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
	second := create(t, s, "trainer-account")
	if second.GetUniqueId() == first.GetUniqueId() {
		t.Error("the new account has the old one's unique id")
	}
	if err := remove("projects/p/serviceAccounts/" + first.GetUniqueId()); status.Code(err) != codes.NotFound {
		t.Errorf("deleting the old account by its unique id: %v", err)
	}
	if err := undelete(first.GetUniqueId()); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("undeleting while the address is taken: %v", err)
	}
	if err := remove("projects/p/serviceAccounts/" + second.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	if err := undelete(trainer); status.Code(err) != codes.InvalidArgument {
		t.Errorf("undeleting by e-mail: %v", err)
	}
	if err := undelete(first.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Lookup(trainer); !ok || got.GetUniqueId() != first.GetUniqueId() {
		t.Errorf("after undelete: %v, %v", got, ok)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := service(t)
	for i := range 5 {
		create(t, s, fmt.Sprintf("account-%d", i))
	}
	if _, err := s.CreateServiceAccount(t.Context(), &adminpb.CreateServiceAccountRequest{Name: "projects/other", AccountId: "account-0"}); err != nil {
		t.Fatal(err)
	}
	var emails []string
	token := ""
	for {
		resp, err := s.ListServiceAccounts(t.Context(), &adminpb.ListServiceAccountsRequest{Name: "projects/p", PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range resp.GetAccounts() {
			emails = append(emails, strings.TrimSuffix(a.GetEmail(), "@p.iam.gserviceaccount.com"))
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"account-0", "account-1", "account-2", "account-3", "account-4"}, emails); diff != "" {
		t.Error(diff)
	}
	if _, err := s.ListServiceAccounts(t.Context(), &adminpb.ListServiceAccountsRequest{Name: "p"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a bad parent: %v", err)
	}
}

// cases 65 and 67: each view gets to know of an account in its own time.
func TestVisibility(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.Hide(trainer, iam.ReadView, 2)
	s.Hide(trainer, iam.PolicyView, 1)
	s.Hide(trainer, iam.RunView, 1)
	name := create(t, s, "trainer-account").GetName()
	if _, ok := s.Lookup(trainer); !ok {
		t.Error("Lookup counts as a look")
	}
	for i, want := range []codes.Code{codes.NotFound, codes.NotFound, codes.OK, codes.OK} {
		if _, err := get(t.Context(), s, name); status.Code(err) != want {
			t.Errorf("read %d: %v, want %v", i+1, err, want)
		}
	}
	member := "serviceAccount:" + trainer
	if s.MemberExists(member) || !s.MemberExists(member) {
		t.Error("want the first policy write not to see the account, and the second to see it")
	}
	if s.RunViewExists(trainer) || !s.RunViewExists(trainer) {
		t.Error("want Cloud Run not to see the account at first")
	}
}

func TestWhoExists(t *testing.T) {
	t.Parallel()
	s := service(t)
	create(t, s, "trainer-account")
	for member, want := range map[string]bool{
		"serviceAccount:" + trainer:                                                 true,
		"serviceAccount:" + strings.ToUpper(trainer):                                true,
		"serviceAccount:nobody@p.iam.gserviceaccount.com":                           false,
		"serviceAccount:999123456789-compute@developer.gserviceaccount.com":         true,
		"serviceAccount:service-999123456789@gcp-sa-run.iam.gserviceaccount.com":    true,
		"serviceAccount:p@appspot.gserviceaccount.com":                              true,
		"serviceAccount:p.svc.id.goog[ns/name]":                                     true,
		"user:somebody@example.com":                                                 true,
		"group:team@example.com":                                                    true,
		"deleted:serviceAccount:nobody@p.iam.gserviceaccount.com?uid=9990123456789": true,
		"projectOwner:p": true,
	} {
		if got := s.MemberExists(member); got != want {
			t.Errorf("MemberExists(%s) = %v, want %v", member, got, want)
		}
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	s := service(t)
	name := create(t, s, "trainer-account").GetName()
	read := func() *iampb.Policy {
		p, err := s.GetIamPolicy(t.Context(), &iampb.GetIamPolicyRequest{Resource: name})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	write := func(p *iampb.Policy) error {
		_, err := s.SetIamPolicy(t.Context(), &iampb.SetIamPolicyRequest{Resource: name, Policy: p})
		return err
	}
	stale := read()
	binding := &iampb.Binding{Role: "roles/iam.serviceAccountUser", Members: []string{"user:a@example.com"}}
	if err := write(&iampb.Policy{Etag: stale.GetEtag(), Bindings: []*iampb.Binding{binding, {Role: "roles/viewer"}}}); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got.GetBindings()) != 1 || got.GetBindings()[0].GetRole() != binding.GetRole() {
		t.Errorf("policy %v", got)
	}
	if err := write(&iampb.Policy{Etag: stale.GetEtag()}); status.Code(err) != codes.Aborted {
		t.Errorf("a stale etag: %v", err)
	}
	if err := write(&iampb.Policy{}); err != nil {
		t.Errorf("without etag the last writer wins: %v", err)
	}
	asked := []string{"iam.serviceAccounts.actAs"}
	if got, err := s.TestIamPermissions(t.Context(), &iampb.TestIamPermissionsRequest{Resource: name, Permissions: asked}); err != nil || len(got.GetPermissions()) != 1 {
		t.Errorf("permissions %v, %v", got, err)
	}
	if _, err := s.GetIamPolicy(t.Context(), &iampb.GetIamPolicyRequest{Resource: "projects/p/serviceAccounts/x@p.iam.gserviceaccount.com"}); status.Code(err) != codes.NotFound {
		t.Errorf("the policy of a missing account: %v", err)
	}
}
