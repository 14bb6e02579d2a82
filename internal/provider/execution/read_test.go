// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// A variable that was left in a shell must not make Terraform forget what runs
// in the other world, nor read it as gone.
func TestOtherWorld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "cancel_on_destroy": true})
	s.check(nil, diags)
	w.attempt()
	foreign := l.with("uid", "7d9b1f0e-3c51-4f0a-9f51-0a2b7a1c9e11")
	since := acctest.Since(w.Emulator)
	for _, state := range []string{"running", "succeeded"} {
		if left, diags := s.apply(w.ctx, foreign.with("state", state), nil); !strings.Contains(errorsOf(diags), "Unset RESILIENTJOB_EMULATOR_HOST") || left.state.IsNull() {
			t.Errorf("destroy of a %s one: %s", state, errorsOf(diags))
		}
	}
	if read, diags := s.read(foreign); !strings.Contains(errorsOf(diags), "Emulator and Google Cloud mixed up") || !read.state.Equal(foreign.state) {
		t.Errorf("read: %s", errorsOf(diags))
	}
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("calls were made: %v", calls)
	}
}

// A read that fails is an error and changes nothing: what is not known to be
// gone is kept.
func TestReadFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train"})
	s.check(nil, diags)
	w.attempt().Exit(1)
	w.ended(w.only())
	denied := status.New(codes.PermissionDenied, "Permission 'run.executions.get' denied on resource (or it may not exist).")
	w.Faults().Add(faults.Fault{Method: acctest.GetExecution, Status: denied})
	read, diags := s.read(l)
	if !strings.Contains(errorsOf(diags), denied.Message()) || !read.state.Equal(l.state) {
		t.Errorf("%s: %s", errorsOf(diags), read.state)
	}
	// Without its tasks a failed execution would stay unexplained for ever.
	w.Faults().Add(faults.Fault{Method: "google.cloud.run.v2.Tasks/ListTasks", Status: denied})
	read, diags = s.read(l)
	if !strings.Contains(errorsOf(diags), "Cannot read the tasks") || read.attribute("state") != "running" {
		t.Errorf("%s: %v", errorsOf(diags), read.attribute("state"))
	}
	read, diags = s.read(l)
	s.check(nil, diags)
	if read.attribute("state") != "failed" || !strings.Contains(read.state.String(), "the program ended with exit code 1") {
		t.Errorf("the state is %s", read.state)
	}
	if got := s.identityOf(read); got["name"] != short(w.only()) || got["project"] != acctest.EmulatorProject {
		t.Errorf("identity %v", got)
	}
}

// The tasks of a failed create that cannot be read do not hide the failure.
func TestTasksCannotBeReadAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.all(func(a *runner.ScriptedAttempt) { a.Exit(1) })
	w.Faults().Add(faults.Fault{Method: "google.cloud.run.v2.Tasks/ListTasks", Times: -1, Status: status.New(codes.PermissionDenied, "Permission 'run.tasks.list' denied.")})
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "wait_for": "completed"})
	if text := errorsOf(diags); !l.tainted || !strings.Contains(text, "The tasks could not be read") || !strings.Contains(text, "run.tasks.list") || !strings.Contains(text, "NON_ZERO_EXIT_CODE") {
		t.Errorf("tainted %t: %s", l.tainted, text)
	}
	if got := l.attribute("state"); got != "failed" {
		t.Errorf("state is %v", got)
	}
}

// While the way to Google Cloud is not known yet, a refresh makes no call and
// keeps the state, and an import says why it cannot be.
func TestProviderNotKnownYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	a := attributes{"job": "train"}
	l, diags := s.apply(w.ctx, s.nothing(), a)
	s.check(nil, diags)
	w.attempt()
	since := acctest.Since(w.Emulator)
	s = w.server(nil, "request_timeout")
	read, diags := s.read(l)
	s.check(nil, diags)
	if !read.state.Equal(l.state) {
		t.Errorf("the state is %s", read.state)
	}
	if _, diags := s.importAs("train/"+short(w.only()), nil); !strings.Contains(errorsOf(diags), "Cannot import yet") {
		t.Errorf("import: %s", errorsOf(diags))
	}
	// A region that is not known yet does not decide whether the job is another.
	s = w.server(nil, "region")
	if p := s.plan(l, attributes{"job": "us-central1/train"}); len(p.replaces) != 0 {
		t.Errorf("replaces for %v", p.replaces)
	}
	if p := s.plan(s.nothing(), a); errorsOf(p.Diagnostics) != "" {
		t.Error(errorsOf(p.Diagnostics))
	}
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("calls were made: %v", calls)
	}
}

// case 104 and 124: identity and every computed value after each call.
func TestIdentityThroughALife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train"})
	s.check(nil, diags)
	want := s.identityOf(l)
	if want["job"] != "train" || want["location"] != acctest.EmulatorRegion || want["name"] != l.attribute("name") {
		t.Errorf("identity after create: %v", want)
	}
	l, diags = s.apply(w.ctx, l, attributes{"job": "train", "wait_for": "completed"})
	s.check(nil, diags)
	if got := s.identityOf(l); got["name"] != want["name"] {
		t.Errorf("identity after update: %v", got)
	}
	l, diags = s.read(l)
	s.check(nil, diags)
	if got := s.identityOf(l); got["name"] != want["name"] {
		t.Errorf("identity after read: %v", got)
	}
}
