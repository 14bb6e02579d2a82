// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	pb "cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/type/expr"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
)

const (
	viewer = "roles/secretmanager.viewer"
	stale  = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."
)

// case 76: a stale etag is 409 ABORTED, and no etag means that the last wins.
func TestPolicyEtag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.GetIamPolicy(t.Context(), &iampb.GetIamPolicyRequest{Resource: key})
	want(t, err, codes.NotFound, "Secret ["+keyNumber+"] not found.")
	w.secret("one")
	empty := w.policy()
	if got := base64.StdEncoding.EncodeToString(empty.GetEtag()); got != "ACAB" || empty.GetVersion() != 0 {
		t.Errorf("an untouched policy: etag %s, version %d", got, empty.GetVersion())
	}
	members := []string{"user:Me@X.example"}
	written, err := w.set(&iampb.Policy{Etag: empty.GetEtag(), Bindings: []*iampb.Binding{{Role: accessor, Members: members}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := base64.StdEncoding.EncodeToString(written.GetEtag()); !strings.HasPrefix(got, "Bw") || len(got) != 12 {
		t.Errorf("etag %s", got)
	}
	_, err = w.set(&iampb.Policy{Etag: empty.GetEtag()})
	want(t, err, codes.Aborted, stale)
	if d := cmp.Diff(written, w.policy(), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if _, err := w.set(&iampb.Policy{}); err != nil || len(w.policy().GetBindings()) != 0 {
		t.Errorf("a write without etag: %v", err)
	}
}

func TestPolicyForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("one")
	condition := &expr.Expr{Title: "t", Expression: `request.time < timestamp("2030-01-01T00:00:00Z")`}
	p := &iampb.Policy{Version: 3, Bindings: []*iampb.Binding{
		{Role: accessor, Members: []string{"user:A@x.example", "user:a@x.example"}},
		{Role: viewer},
		{Role: accessor, Members: []string{"group:b@x.example"}},
		{Role: accessor, Members: []string{"domain:x.example"}, Condition: condition},
	}}
	got, err := w.set(p)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []*iampb.Binding{
		{Role: accessor, Members: []string{"user:a@x.example", "group:b@x.example"}},
		{Role: accessor, Members: []string{"domain:x.example"}, Condition: condition},
	}
	if d := cmp.Diff(wanted, got.GetBindings(), protocmp.Transform()); d != "" || got.GetVersion() != 3 {
		t.Errorf("version %d, %s", got.GetVersion(), d)
	}
	old, err := w.GetIamPolicy(t.Context(), &iampb.GetIamPolicyRequest{Resource: key})
	if err != nil || old.GetVersion() != 1 || !strings.HasPrefix(old.GetBindings()[1].GetRole(), accessor+"_withcond_") || old.GetBindings()[1].GetCondition() != nil {
		t.Errorf("asked without a version: %v, %v", old, err)
	}
	_, err = w.GetIamPolicy(t.Context(), &iampb.GetIamPolicyRequest{Resource: key, Options: &iampb.GetPolicyOptions{RequestedPolicyVersion: 2}})
	want(t, err, codes.InvalidArgument, "")

	// The mask says which parts are written; without one it is the bindings.
	audit := []*iampb.AuditConfig{{Service: "allServices"}}
	if _, err := w.SetIamPolicy(t.Context(), &iampb.SetIamPolicyRequest{Resource: key, Policy: &iampb.Policy{AuditConfigs: audit}, UpdateMask: mask("audit_configs")}); err != nil {
		t.Fatal(err)
	}
	w.grant(accessor, "user:c@x.example")
	if p := w.policy(); len(p.GetBindings()) != 1 || len(p.GetAuditConfigs()) != 1 {
		t.Errorf("after two partial writes: %v", p)
	}
}

// case 65: accounts that are missing, or not visible yet, are refused.
func TestPolicyRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("one")
	who := w.account("trainer")
	email := strings.TrimPrefix(who, "serviceAccount:")
	set := func(version int32, role string, condition *expr.Expr, members ...string) error {
		_, err := w.set(&iampb.Policy{Version: version, Bindings: []*iampb.Binding{{Role: role, Members: members, Condition: condition}}})
		return err
	}
	want(t, set(0, accessor, nil, "serviceAccount:nobody@demo.iam.gserviceaccount.com"), codes.InvalidArgument, "Service account nobody@demo.iam.gserviceaccount.com does not exist.")
	want(t, set(0, accessor, nil, "me@x.example"), codes.InvalidArgument, "The member me@x.example is of an unknown type. Please set a valid type prefix for the member.")
	want(t, set(0, "roles/storage.objectUser", nil, who), codes.InvalidArgument, "Role roles/storage.objectUser is not supported for this resource.")
	for name, err := range map[string]error{
		"version 2":            set(2, accessor, nil, who),
		"condition, version 1": set(1, accessor, &expr.Expr{Expression: "true"}, who),
		"empty condition":      set(3, accessor, &expr.Expr{}, who),
		"no role":              set(0, "admin", nil, who),
		"no address":           set(0, accessor, nil, "user:me"),
		"blank":                set(0, accessor, nil, "user:"),
		"deleted without uid":  set(0, accessor, nil, "deleted:"+who),
		"twins":                set(0, accessor, nil, who, "deleted:"+who+"?uid=1"),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			want(t, err, codes.InvalidArgument, "")
		}
	}
	want(t, set(0, accessor, nil, "serviceAccount:1-compute@developer.gserviceaccount.com", "allUsers", "principal://iam.googleapis.com/x"), codes.OK, "")
	want(t, set(0, "projects/demo/roles/custom", nil, who), codes.OK, "")
	w.iam.Hide(email, iam.PolicyView, 1)
	want(t, set(0, accessor, nil, who), codes.InvalidArgument, "Service account "+email+" does not exist.")
	want(t, set(0, accessor, nil, who), codes.OK, "")
}

// case 71: a grant belongs to the account, not to its address.
func TestDeletedMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("one")
	who := w.account("trainer")
	email := strings.TrimPrefix(who, "serviceAccount:")
	old, _ := w.iam.Lookup(email)
	w.grant(accessor, who)
	if got, err := w.Access(key, "latest", who); err != nil || string(got) != "one" {
		t.Errorf("granted: %q, %v", got, err)
	}
	if _, err := w.iam.DeleteServiceAccount(t.Context(), &adminpb.DeleteServiceAccountRequest{Name: old.GetName()}); err != nil {
		t.Fatal(err)
	}
	w.account("trainer")
	twin := "deleted:" + who + "?uid=" + old.GetUniqueId()
	p := w.policy()
	if got := p.GetBindings()[0].GetMembers(); len(got) != 1 || got[0] != twin {
		t.Errorf("members %v, want %s", got, twin)
	}
	_, err := w.Access(key, "latest", who)
	want(t, err, codes.PermissionDenied, "Permission 'secretmanager.versions.access' denied on resource (or it may not exist).")
	p.Bindings = append(p.Bindings, &iampb.Binding{Role: viewer, Members: []string{who}})
	_, err = w.set(p)
	want(t, err, codes.InvalidArgument, "Inconsistent representation of deleted member: '"+twin+"' and '"+who+"'.")
	p.Bindings = []*iampb.Binding{{Role: accessor, Members: []string{twin}}}
	if _, err := w.set(p); err != nil {
		t.Errorf("a policy that keeps the deleted member: %v", err)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("one", "two")
	w.mustUpdate(&pb.Secret{VersionAliases: map[string]int64{"old": 1}}, "version_aliases")
	who := w.account("trainer")
	until := func(text string) *iampb.Policy {
		return &iampb.Policy{Version: 3, Bindings: []*iampb.Binding{{Role: accessor, Members: []string{who}, Condition: &expr.Expr{
			Expression: `request.time < timestamp("` + text + `")`,
		}}}}
	}
	role := func(role string, members ...string) *iampb.Policy {
		return &iampb.Policy{Bindings: []*iampb.Binding{{Role: role, Members: members}}}
	}
	for name, c := range map[string]struct {
		policy *iampb.Policy
		ok     bool
	}{
		"nothing":          {&iampb.Policy{}, false},
		"accessor":         {role(accessor, who), true},
		"admin":            {role("roles/secretmanager.admin", who), true},
		"viewer":           {role(viewer, who), false},
		"version manager":  {role("roles/secretmanager.secretVersionManager", who), false},
		"custom":           {role("projects/demo/roles/mine", who), false},
		"another":          {role(accessor, "user:you@x.example"), false},
		"everyone":         {role(accessor, "allAuthenticatedUsers"), true},
		"still in time":    {until("2026-11-29T08:00:01Z"), true},
		"no longer":        {until("2026-11-29T07:59:59Z"), false},
		"editors have not": {role(accessor, "projectEditor:demo"), false},
	} {
		if _, err := w.set(c.policy); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := w.Access(keyNumber, "old", who); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		} else if !c.ok {
			want(t, err, codes.PermissionDenied, "")
		}
	}
	// Without such a version nobody is told of permissions.
	_, err := w.Access(key, "9", who)
	want(t, err, codes.NotFound, "")
	_, err = w.Access("key", "1", who)
	want(t, err, codes.InvalidArgument, "")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := []string{"secretmanager.secrets.getIamPolicy", "secretmanager.secrets.setIamPolicy", "storage.buckets.get"}
	test := func() []string {
		t.Helper()
		got, err := w.TestIamPermissions(t.Context(), &iampb.TestIamPermissionsRequest{Resource: key, Permissions: asked})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetPermissions()
	}
	if got := test(); len(got) != 0 {
		t.Errorf("on a missing secret: %v", got)
	}
	w.secret("one")
	if d := cmp.Diff(asked[:2], test()); d != "" {
		t.Error(d)
	}
	w.Deny(key, asked[1])
	if d := cmp.Diff(asked[:1], test()); d != "" {
		t.Error(d)
	}
	_, err := w.set(&iampb.Policy{})
	want(t, err, codes.PermissionDenied, "Permission 'secretmanager.secrets.setIamPolicy' denied on resource (or it may not exist).")
	w.Deny("", "secretmanager.secrets.get")
	_, err = w.get(keyNumber)
	want(t, err, codes.PermissionDenied, "")
}
