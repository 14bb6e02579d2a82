// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

const (
	viewer = "roles/storage.objectViewer"
	user   = "roles/storage.objectUser"
	ann    = "user:ann@example.com"
	bob    = "user:bob@example.com"
	eve    = "user:eve@example.com"
)

// policyOf returns the members of a role on a bucket, in order.
func policyOf(t *testing.T, e *emulator.Emulator, bucket, role string) []string {
	t.Helper()
	var policy storage.Policy
	getJSON(t, e, "/storage/v1/b/"+bucket+"/iam?optionsRequestedPolicyVersion=3", &policy)
	out := []string{}
	for _, b := range policy.Bindings {
		if b.Role == role && b.Condition == nil {
			out = append(out, b.Members...)
		}
	}
	slices.Sort(out)
	return out
}

func wantPolicy(t *testing.T, e *emulator.Emulator, bucket, role string, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), policyOf(t, e, bucket, role)); d != "" {
		t.Errorf("%s:\n%s", role, d)
	}
}

// others is somebody who changes the policy by hand.
type others struct {
	t *testing.T
	c *gcp.Client
}

func (o others) grant(bucket, role, member string) gcp.Grant {
	return gcp.Grant{Resource: "projects/_/buckets/" + bucket, Role: role, Member: member}
}

func (o others) add(bucket, role, member string) {
	o.t.Helper()
	if _, err := o.c.AddMember(o.t.Context(), o.grant(bucket, role, member)); err != nil {
		o.t.Fatal(err)
	}
}

func (o others) remove(bucket, role, member string) {
	o.t.Helper()
	if removed, err := o.c.RemoveMember(o.t.Context(), o.grant(bucket, role, member)); err != nil || !removed {
		o.t.Fatalf("removed %t, %v", removed, err)
	}
}

// The life of the grants: what others gave stays, whatever is configured; what this resource gave goes when it is configured no longer.
func TestShare(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	other := others{t, otherClient(t, e)}
	const name = "ckpt-share"
	config := func(readers, writers any) tftypes.Value {
		return s.config(attrs{"name": name, "readers": readers, "writers": writers})
	}
	none := config(nil, nil)
	calls := acctest.Since(e)
	l := s.read(s.apply(s.none(), none))
	if n := calls.Count("storage.buckets.*IamPolicy"); n != 0 {
		t.Errorf("%d calls for a policy that nothing is asked of", n)
	}

	other.add(name, viewer, eve)
	s.unchanged(s.read(l), none)

	// eve has the role from somebody else.
	l = s.read(l)
	shared := config([]string{"user:Ann@Example.com", eve}, []string{ann, bob})
	l = s.apply(l, shared)
	wantPolicy(t, e, name, viewer, ann, eve)
	wantPolicy(t, e, name, user, ann, bob)

	// The policy keeps addresses in small letters; the state keeps them as they are written, and so does another spelling of them.
	l = s.read(l)
	s.unchanged(l, shared)
	s.unchanged(l, config([]string{"user:ann@example.com", "user:EVE@example.com"}, []string{bob, ann}))
	if got := s.members(l.state, "readers"); !slices.Equal(got, []string{"user:Ann@Example.com", eve}) {
		t.Errorf("readers %v", got)
	}

	// A foreign member is nobody's concern.
	other.add(name, user, "group:ops@example.com")
	l = s.read(l)
	s.unchanged(l, shared)

	// One that vanished comes back, and nothing else is written.
	other.remove(name, user, bob)
	l = s.read(l)
	if got := s.members(l.state, "writers"); !slices.Equal(got, []string{ann}) {
		t.Errorf("writers after one vanished: %v", got)
	}
	if action, text := s.action(l, shared); action != "update" {
		t.Errorf("plan is %s %s", action, text)
	}
	calls = acctest.Since(e)
	l = s.apply(l, shared)
	wantWrites(t, calls, acctest.SetBucketPolicy)
	wantPolicy(t, e, name, user, "group:ops@example.com", ann, bob)

	// Taking them out revokes what this resource gave, and only that.
	l = s.apply(s.read(l), config(nil, []string{bob}))
	wantPolicy(t, e, name, viewer, eve)
	wantPolicy(t, e, name, user, "group:ops@example.com", bob)
	l = s.read(l)
	s.unchanged(l, config(nil, []string{bob}))
	l = s.read(s.apply(l, none))
	wantPolicy(t, e, name, user, "group:ops@example.com")
	s.unchanged(l, none)
}

// Two configurations that name one member do not take it from each other: who found it there leaves it there.
func TestShareWithAnother(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	other := others{t, otherClient(t, e)}
	const name = "ckpt-two"
	with, without := s.config(attrs{"name": name, "readers": []string{ann}}), s.config(attrs{"name": name})
	l := s.apply(s.none(), without)
	other.add(name, viewer, ann)
	l = s.apply(s.read(l), with)
	l = s.apply(s.read(l), without)
	wantPolicy(t, e, name, viewer, ann)

	// Given by this resource, taken and given again by somebody else: it is theirs now.
	other.remove(name, viewer, ann)
	l = s.apply(s.read(l), with)
	other.remove(name, viewer, ann)
	l = s.read(l)
	other.add(name, viewer, ann)
	l = s.apply(l, with)
	l = s.apply(s.read(l), without)
	wantPolicy(t, e, name, viewer, ann)

	// A grant under a condition is another one.
	l = s.apply(s.read(l), without)
	other.remove(name, viewer, ann)
	put(t, e, "/storage/v1/b/"+name+"/iam", fmt.Sprintf(`{"version": 3, "bindings": [{"role": %q, "members": [%q],
		"condition": {"title": "for now", "expression": "request.time < timestamp(\"2100-01-01T00:00:00Z\")"}}]}`, viewer, ann))
	l = s.apply(s.read(l), with)
	wantPolicy(t, e, name, viewer, ann)
	s.unchanged(s.read(l), with)
}

// Who moves from one attribute to the other is never without both, and who stands in both has both.
func TestShareMoves(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name = "ckpt-moves"
	l := s.apply(s.none(), s.config(attrs{"name": name, "readers": []string{ann}}))
	calls := acctest.Since(e)
	l = s.apply(l, s.config(attrs{"name": name, "writers": []string{ann}}))
	writes := calls.Find(acctest.SetBucketPolicy)
	if len(writes) != 2 || strings.Count(string(writes[0].Body), ann) != 2 {
		t.Errorf("%d writes, the first one has %s", len(writes), writes[0].Body)
	}
	wantPolicy(t, e, name, viewer)
	wantPolicy(t, e, name, user, ann)
	both := s.config(attrs{"name": name, "readers": []string{ann}, "writers": []string{ann}})
	l = s.apply(s.read(l), both)
	wantPolicy(t, e, name, viewer, ann)
	s.unchanged(s.read(l), both)
}

// A grant that fails: the bucket and what was granted is in the state, and there is one error that names the member, at its attribute.
func TestShareFails(t *testing.T) {
	t.Parallel()
	const bad = "serviceAccount:nobody@acctest-project.iam.gserviceaccount.com"
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name = "ckpt-fails"
	refusal := faults.Fault{Method: acctest.SetBucketPolicy, Times: -1, Match: func(c faults.Call) bool { return strings.Contains(string(c.Body), bad) },
		Status: status.New(codes.InvalidArgument, "Principal nobody is not of the expected type.")}
	h := e.Faults().Add(refusal)
	config := s.config(attrs{"name": name, "readers": []string{ann, bad}, "writers": []string{bob}})
	l, text := s.fails(s.none(), config)
	if strings.Count(text, " at AttributeName") != 1 {
		t.Errorf("got\n%s", text)
	}
	for _, says := range []string{`Cannot grant a role on the bucket at AttributeName("readers")`, "Principal nobody is not of the expected type.",
		"Not granted: " + bad + " (" + viewer + ").", "The bucket was made. Mend the cause and apply again"} {
		if !strings.Contains(text, says) {
			t.Errorf("does not say %q:\n%s", says, text)
		}
	}
	if r, w := s.members(l.state, "readers"), s.members(l.state, "writers"); !slices.Equal(r, []string{ann}) || !slices.Equal(w, []string{bob}) {
		t.Errorf("readers %v, writers %v", r, w)
	}
	if got := s.name(l.identity); got != name || s.text(l.state, "time_created") == "" {
		t.Errorf("identity %s, state %s", got, l.state)
	}
	wantPolicy(t, e, name, viewer, ann)

	// An update fails in the same way, revokes nothing, and keeps what else it did; the next apply converges.
	l, text = s.fails(s.read(l), s.config(attrs{"name": name, "readers": []string{bad}, "writers": []string{bob}, "labels": map[string]string{"a": "b"}}))
	if !strings.Contains(text, "these still have access: "+ann+" ("+viewer+")") || !strings.Contains(text, "Everything else of the bucket was changed as planned.") {
		t.Errorf("got\n%s", text)
	}
	wantPolicy(t, e, name, viewer, ann)
	if got := s.texts(l.state, "labels"); got["a"] != "b" {
		t.Errorf("labels %v", got)
	}
	h.Remove()
	last := s.config(attrs{"name": name, "readers": []string{eve}, "labels": map[string]string{"a": "b"}})
	l = s.read(s.apply(s.read(l), last))
	wantPolicy(t, e, name, viewer, eve)
	wantPolicy(t, e, name, user)
	s.unchanged(l, last)
}

// Without the right to write the policy there is one error for all members. A revocation that fails stays in the state, and the next apply
// makes it.
func TestShareDenied(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name = "ckpt-denied"
	denied := faults.Fault{Method: acctest.SetBucketPolicy, Times: -1, Status: status.New(codes.PermissionDenied, "acct does not have storage.buckets.setIamPolicy access")}
	plain := s.config(attrs{"name": name})
	l := s.apply(s.none(), plain)
	h := e.Faults().Add(denied)
	shared := s.config(attrs{"name": name, "readers": []string{ann, bob}, "writers": []string{}})
	l, text := s.fails(l, shared)
	if strings.Count(text, " at AttributeName") != 1 || !strings.Contains(text, ann+" ("+viewer+"), "+bob+" ("+viewer+")") {
		t.Errorf("got\n%s", text)
	}
	if r, w := s.members(l.state, "readers"), s.members(l.state, "writers"); r == nil || len(r) != 0 || w == nil {
		t.Errorf("readers %v, writers %v", r, w)
	}
	h.Remove()
	l = s.apply(s.read(l), shared)
	h = e.Faults().Add(denied)
	l, text = s.fails(l, plain)
	if strings.Count(text, " at AttributeName") != 1 || !strings.Contains(text, "Still granted: ") || !strings.Contains(text, "the next apply tries again") {
		t.Errorf("got\n%s", text)
	}
	if got := s.members(l.state, "readers"); !slices.Equal(got, []string{ann, bob}) {
		t.Errorf("readers %v", got)
	}
	h.Remove()
	l = s.read(s.apply(s.read(l), plain))
	wantPolicy(t, e, name, viewer)
	s.unchanged(l, plain)
}

// A policy that may not be read is a warning, and what is recorded stays.
func TestShareUnreadable(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	config := s.config(attrs{"name": "ckpt-blind", "readers": []string{ann}})
	l := s.apply(s.none(), config)
	e.Faults().Add(faults.Fault{Method: acctest.GetBucketPolicy, Times: -1, Status: status.New(codes.PermissionDenied, "no storage.buckets.getIamPolicy")})
	r, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: s.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
	if err != nil || len(r.Diagnostics) != 1 || r.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(r.Diagnostics[0].Detail, "no storage.buckets.getIamPolicy") {
		t.Fatalf("%v, %+v", err, r.Diagnostics)
	}
	s.unchanged(&life{s.value(r.NewState), r.Private, r.NewIdentity}, config)
}

// An answer that was lost: the grant is this resource's, and is revoked by it.
func TestShareLostAnswer(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name = "ckpt-lost"
	e.Faults().Add(faults.Fault{Method: acctest.SetBucketPolicy, Lose: true})
	l := s.apply(s.none(), s.config(attrs{"name": name, "readers": []string{ann}}))
	wantPolicy(t, e, name, viewer, ann)
	s.apply(s.read(l), s.config(attrs{"name": name}))
	wantPolicy(t, e, name, viewer)
}

// Somebody else writes the policy at the same time, and the account of a member was made a moment ago: neither loses anything.
func TestShareAtTheSameTime(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	other := others{t, otherClient(t, e)}
	const name, email = "ckpt-busy", "reader@acctest-project.iam.gserviceaccount.com"
	if _, err := other.c.CreateServiceAccount(t.Context(), acctest.EmulatorProject, "reader", "", ""); err != nil {
		t.Fatal(err)
	}
	e.IAM().Hide(email, iam.PolicyView, 1)
	e.Faults().Add(faultBefore(acctest.SetBucketPolicy, func() { other.add(name, viewer, eve) }))
	config := s.config(attrs{"name": name, "readers": []string{ann, bob, "serviceAccount:" + email}})
	l := s.apply(s.none(), config)
	wantPolicy(t, e, name, viewer, "serviceAccount:"+email, ann, bob, eve)
	s.unchanged(s.read(l), config)

	// The account is made anew: the entry of the old one is not its own.
	if err := other.c.DeleteServiceAccount(t.Context(), acctest.EmulatorProject, email); err != nil {
		t.Fatal(err)
	}
	l = s.read(l)
	if got := s.members(l.state, "readers"); !slices.Equal(got, []string{ann, bob}) {
		t.Errorf("readers %v", got)
	}
	if _, err := other.c.CreateServiceAccount(t.Context(), acctest.EmulatorProject, "reader", "", ""); err != nil {
		t.Fatal(err)
	}
	l = s.apply(l, config)
	wantPolicy(t, e, name, viewer, "serviceAccount:"+email, ann, bob, eve)
	s.unchanged(s.read(l), config)
}

// The policy goes with the bucket: a destroy does not touch it. Members that are not known at the plan are no error.
func TestShareEnds(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	set := tftypes.Set{ElementType: tftypes.String}
	late := tftypes.NewValue(set, []tftypes.Value{tftypes.NewValue(tftypes.String, ann), tftypes.NewValue(tftypes.String, tftypes.UnknownValue)})
	for _, v := range []tftypes.Value{late, tftypes.NewValue(set, tftypes.UnknownValue)} {
		if action, text := s.action(s.none(), s.config(attrs{"name": "ckpt-late", "readers": v, "writers": v})); action != "update" {
			t.Errorf("plan is %s %s", action, text)
		}
	}
	l := s.apply(s.none(), s.config(attrs{"name": "ckpt-ends", "readers": []string{ann}}))
	if action, text := s.action(l, s.config(attrs{"name": "ckpt-ends", "readers": late})); action != "update" {
		t.Errorf("plan is %s %s", action, text)
	}
	calls := acctest.Since(e)
	a, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: s.dynamic(tftypes.NewValue(s.object, nil)),
		PlannedState: s.dynamic(tftypes.NewValue(s.object, nil)), PlannedPrivate: l.private, PlannedIdentity: l.identity})
	s.check(err, a.Diagnostics)
	wantWrites(t, calls, "storage.buckets.delete")
}
