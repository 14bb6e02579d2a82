// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// destroy destroys, and returns what is true then and the errors.
func (s *server) destroy(l *life) (*life, string) {
	s.t.Helper()
	null := tftypes.NewValue(s.object, nil)
	p, err := s.PlanResourceChange(s.t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: s.dynamic(null),
		ProposedNewState: s.dynamic(null), PriorPrivate: l.private, PriorIdentity: l.identity})
	s.check(err, p.Diagnostics)
	a, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: s.dynamic(null),
		PlannedState: p.PlannedState, PlannedPrivate: p.PlannedPrivate, PlannedIdentity: p.PlannedIdentity})
	if err != nil {
		s.t.Fatal(err)
	}
	text := messages(a.Diagnostics)
	if gone := s.value(a.NewState).IsNull(); gone != (text == "") {
		s.t.Fatalf("gone from the state: %t, and the errors are %q", gone, text)
	}
	return &life{state: s.value(a.NewState), private: a.Private, identity: a.NewIdentity}, text
}

// A destroy that ends in the middle leaves the bucket in the state, says how far it came and why it ended, and the next one goes on: it
// deletes what is left, and each object once (cases 85, 89).
func TestForceDestroyGoesOn(t *testing.T) {
	t.Parallel()
	const objects = 150
	held := func(name string) func(faults.Call) bool {
		return func(c faults.Call) bool { return strings.HasSuffix(c.Resource, name) }
	}
	for kind, c := range map[string]struct {
		fault func(stop func()) faults.Fault
		says  []string
		left  func(n int) bool
	}{
		"one object is denied": {
			func(func()) faults.Fault {
				return faults.Fault{Method: acctest.DeleteObject, Times: -1, Match: held("/run/step-77"), Status: status.New(codes.PermissionDenied, "Object is under active Temporary hold.")}
			},
			[]string{"Object is under active Temporary hold.", "run/step-77", "Deleted before that: 149 objects. Destroy again to go on"},
			func(n int) bool { return n == 1 },
		},
		"interrupted": {
			func(stop func()) faults.Fault {
				return faults.Fault{Method: acctest.DeleteObject, After: 60, Do: func(faults.Call) { stop() }}
			},
			[]string{"The operation was interrupted.", "Destroy again to go on"},
			func(n int) bool { return n > 50 && n < 100 },
		},
		"unavailable for the whole budget": {
			func(func()) faults.Fault {
				return faults.Fault{Method: acctest.DeleteObject, After: 60, Times: -1, Status: status.New(codes.Unavailable, "Backend Error")}
			},
			[]string{"Backend Error", "Deleted before that: 60 objects. Destroy again to go on"},
			func(n int) bool { return n == objects-60 },
		},
		"the bucket is denied": {
			func(func()) faults.Fault {
				// The first delete finds that the bucket is not empty.
				return faults.Fault{Method: acctest.DeleteBucket, After: 1, Times: -1, Status: status.New(codes.PermissionDenied, "no storage.buckets.delete")}
			},
			[]string{"no storage.buckets.delete", "Deleted before that: 150 objects."},
			func(n int) bool { return n == 0 },
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			s := newPatientServer(t, e)
			name := "ckpt-resumed"
			l := s.apply(s.none(), s.config(attrs{"name": name, "force_destroy": true}))
			for i := range objects {
				upload(t, e, name, fmt.Sprintf("run/step-%d", i), "x")
			}
			h := e.Faults().Add(c.fault(func() {
				if _, err := s.StopProvider(t.Context(), &tfprotov6.StopProviderRequest{}); err != nil {
					t.Error(err)
				}
			}))
			l, text := s.destroy(l)
			for _, want := range append(c.says, "Cannot delete the bucket") {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q:\n%s", want, text)
				}
			}
			if n := strings.Count(text, "\n at "); n > 0 {
				t.Errorf("more than one message:\n%s", text)
			}
			left, _, err := otherClient(t, e).CountObjects(t.Context(), name, objects)
			if err != nil || !c.left(left) {
				t.Errorf("%d objects are left, %v", left, err)
			}
			h.Remove()
			again := newServer(t, e) // the next command is another process
			calls := acctest.Since(e)
			if _, text := again.destroy(again.read(l)); text != "" {
				t.Fatal(text)
			}
			// Calls that were under way when it was interrupted may have been done after the count.
			if n := calls.Count(acctest.DeleteObject); n > left || n < left-16 || kind != "interrupted" && n != left {
				t.Errorf("%d deletes for %d objects", n, left)
			}
			if n := calls.Count("storage.objects.list"); n > 2 {
				t.Errorf("%d pages for %d objects", n, left)
			}
			if e.Storage().Exists(name) {
				t.Error("the bucket is there")
			}
		})
	}
}

// Answers that are lost in the middle do not end it, and nothing is taken for a failure that was done.
func TestForceDestroyLostAnswers(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	l := s.apply(s.none(), s.config(attrs{"name": "ckpt-lost", "force_destroy": true}))
	for i := range 20 {
		upload(t, e, "ckpt-lost", fmt.Sprintf("step-%d", i), "x")
	}
	e.Faults().Add(faults.Fault{Method: acctest.DeleteObject, After: 3, Times: 4, Lose: true})
	e.Faults().Add(faults.Fault{Method: acctest.DeleteObject, After: 10, Cut: true})
	e.Faults().Add(faults.Fault{Method: acctest.DeleteBucket, After: 1, Lose: true})
	if _, text := s.destroy(l); text != "" {
		t.Error(text)
	}
	if e.Storage().Exists("ckpt-lost") {
		t.Error("the bucket is there")
	}
}

// Without force_destroy the only call that could change anything is the delete that the API refuses; the error counts every version and
// names the option (case 91).
func TestDestroyDeletesNothing(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	l := s.apply(s.none(), s.config(attrs{"name": "ckpt-kept", "hierarchical_namespace": false, "versioning": true}))
	for i := range 9 {
		upload(t, e, "ckpt-kept", fmt.Sprintf("run/step-%d", i/3), "x")
	}
	calls := acctest.Since(e)
	_, text := s.destroy(l)
	for _, want := range []string{"Bucket is not empty at AttributeName(\"force_destroy\")", "It holds 9 objects (older versions count). Nothing was deleted.", "set force_destroy = true"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if got := calls.Writes(); !slices.Equal(got, []string{acctest.DeleteBucket}) {
		t.Errorf("calls %v", got)
	}
	if n, _, err := otherClient(t, e).CountObjects(t.Context(), "ckpt-kept", 100); n != 9 || err != nil {
		t.Errorf("%d objects, %v", n, err)
	}
}

// A change that a policy forbids is sent once, though its status is that of a conflict. A status that nobody can tell is tried once more, and
// real conflicts for as long as somebody writes (case 79).
func TestUpdatePreconditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		writes  bool // somebody else, before each change
		patches int
		fails   bool
	}{
		"constraint":  {"'us-central1' violates constraint 'constraints/storage.softDeletePolicySeconds'", true, 1, true},
		"public":      {"The bucket has public access prevention enforced by an organization policy.", true, 1, true},
		"no conflict": {"Some other precondition.", false, 2, true},
		"conflicts":   {"At least one of the pre-conditions you specified did not hold.", true, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			s := newServer(t, e)
			other := otherClient(t, e)
			l := s.apply(s.none(), s.config(attrs{"name": "ckpt-412"}))
			var n atomic.Int32
			e.Faults().Add(faults.Fault{Method: acctest.PatchBucket, Times: 3, Do: func(faults.Call) {
				if !c.writes {
					return
				}
				g := gcp.Grant{Resource: "projects/_/buckets/ckpt-412", Role: "roles/storage.objectViewer", Member: fmt.Sprintf("user:u%d@example.com", n.Add(1))}
				if _, err := other.AddMember(t.Context(), g); err != nil {
					t.Error(err)
				}
			}, Status: status.New(codes.FailedPrecondition, c.text)})
			calls := acctest.Since(e)
			config := s.config(attrs{"name": "ckpt-412", "storage_class": "NEARLINE"})
			if c.fails {
				if _, text := s.fails(l, config); !strings.Contains(text, c.text) {
					t.Error(text)
				}
			} else {
				s.apply(l, config)
			}
			if got := calls.Count(acctest.PatchBucket); got != c.patches {
				t.Errorf("sent %d times, want %d", got, c.patches)
			}
		})
	}
}

// Each step of emptying a bucket stands for itself: a list that is denied keeps no other from being gone through, and is told with the
// permission that is missing. A bucket in which that list had nothing to show is gone all the same (case 89).
func TestForceDestroyStepsAreIndependent(t *testing.T) {
	t.Parallel()
	const deleteFolder, deleteManaged = "storage.folders.delete", "storage.managedFolders.delete"
	for step, c := range map[string]struct {
		denied           string
		objects, folders bool // are there any
		deleted          []string
		gone             bool
	}{
		"objects":                    {"storage.objects.list", true, true, []string{deleteFolder}, false},
		"objects, and there is none": {"storage.objects.list", false, true, []string{deleteFolder}, true},
		"folders":                    {"storage.folders.list", true, true, []string{acctest.DeleteObject}, false},
		"managed folders":            {"storage.managedFolders.list", true, true, []string{acctest.DeleteObject, deleteFolder}, true},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			s := newServer(t, e)
			const name = "ckpt-steps"
			l := s.apply(s.none(), s.config(attrs{"name": name, "force_destroy": true}))
			if c.objects {
				upload(t, e, name, "step-1", "x")
			}
			if c.folders {
				makeFolder(t, e, name, "empty/")
			}
			h := e.Faults().Add(faults.Fault{Method: c.denied, Times: -1, Status: status.New(codes.PermissionDenied, "no "+c.denied)})
			calls := acctest.Since(e)
			l, text := s.destroy(l)
			for _, method := range c.deleted {
				if calls.Count(method) == 0 {
					t.Errorf("%s was not tried: %v", method, calls.Writes())
				}
			}
			if calls.Count(deleteManaged) > 0 {
				t.Error("a managed folder was deleted, and there is none")
			}
			if e.Storage().Exists(name) == c.gone || (text == "") != c.gone {
				t.Errorf("the bucket is there: %t, and the error is %q", e.Storage().Exists(name), text)
			}
			if !c.gone {
				if !strings.Contains(text, "no "+c.denied) || !strings.Contains(text, "Destroy again to go on") {
					t.Errorf("the error is %q", text)
				}
				h.Remove()
				if _, text := s.destroy(l); text != "" || e.Storage().Exists(name) {
					t.Errorf("the next destroy: %q", text)
				}
			}
		})
	}
}

// A tainted bucket has lost the note of its world: the time when it was made tells it from another one of its name, such as the other
// world's.
func TestDestroyOfAnotherBucket(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		tainted, again bool
		reads          int
		says           string
	}{
		"the note is there":                {},
		"tainted":                          {tainted: true, reads: 1},
		"tainted, and another one is here": {tainted: true, again: true, reads: 1, says: "Bucket is another one"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			s := newServer(t, e)
			const name = "ckpt-of-a-world"
			l := s.apply(s.none(), s.config(attrs{"name": name}))
			if c.tainted {
				l.private = nil
			}
			if c.again {
				e = acctest.Emulator(t)
				s = newServer(t, e)
				s.apply(s.none(), s.config(attrs{"name": name}))
			}
			calls := acctest.Since(e)
			_, text := s.destroy(l)
			if !strings.Contains(text, c.says) || (text == "") != (c.says == "") {
				t.Errorf("it says %q, want %q", text, c.says)
			}
			if n := calls.Count(acctest.GetBucket); n != c.reads {
				t.Errorf("the bucket was read %d times, want %d", n, c.reads)
			}
			if e.Storage().Exists(name) != (c.says != "") || calls.Count(acctest.DeleteBucket) != 0 && c.says != "" {
				t.Error("the wrong bucket was deleted, or the right one was not")
			}
		})
	}
}
