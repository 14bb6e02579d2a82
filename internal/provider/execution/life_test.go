// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// The rows for read and delete of the table in the package's documentation: what
// the state says, what there is, and which calls are made.
func TestReadAndDeleteByTheTable(t *testing.T) {
	t.Parallel()
	type live func(*world)
	running := func(*world) {}
	finished := func(w *world) { w.attempt().Exit(0); w.ended(w.only()) }
	forgotten := func(w *world) { w.Run().ForgetExecution(w.only().GetName()) }
	jobGone := func(w *world) {
		if _, err := w.Run().DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull}); err != nil {
			w.t.Fatal(err)
		}
	}
	// What is gone is asked for twice: one answer is not believed.
	get, cancel := acctest.GetExecution, acctest.CancelExecution
	for name, c := range map[string]struct {
		ended     bool // says the state
		cancels   bool // cancel_on_destroy
		live      live
		readCalls []string
		readState string
		calls     []string // of the delete; a cancel may be followed by more reads
		refused   string
	}{
		"finished, of course":         {ended: true, live: finished, readState: "succeeded"},
		"finished, forgotten":         {ended: true, live: forgotten, readState: "succeeded"},
		"finished, may be cancelled":  {ended: true, cancels: true, live: finished, readState: "succeeded"},
		"unfinished, runs":            {live: running, readCalls: []string{get}, readState: "running", calls: []string{get}, refused: "Execution is still running"},
		"unfinished, has ended":       {live: finished, readCalls: []string{get}, readState: "succeeded", calls: []string{get}},
		"unfinished, forgotten":       {live: forgotten, readCalls: []string{get}, readState: "running", calls: []string{get, get}},
		"unfinished, job gone":        {live: jobGone, readCalls: []string{get}, readState: "running", calls: []string{get, get}},
		"unfinished, to be cancelled": {cancels: true, live: running, readCalls: []string{get}, readState: "running", calls: []string{get, cancel}},
		"to be cancelled, has ended":  {cancels: true, live: finished, readCalls: []string{get}, readState: "succeeded", calls: []string{get}},
		"to be cancelled, forgotten":  {cancels: true, live: forgotten, readCalls: []string{get}, readState: "running", calls: []string{get, get}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			s := w.server(nil)
			l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "cancel_on_destroy": c.cancels})
			s.check(nil, diags)
			c.live(w)
			if c.ended {
				l = l.with("state", "succeeded")
			}

			since := acctest.Since(w.Emulator)
			read, diags := s.read(l)
			s.check(nil, diags)
			if calls := since.Methods(); !slices.Equal(calls, c.readCalls) {
				t.Errorf("the read calls %v, want %v", calls, c.readCalls)
			}
			if got := read.attribute("state"); got != c.readState {
				t.Errorf("after the read the state is %v, want %q", got, c.readState)
			}

			since = acctest.Since(w.Emulator)
			left, diags := s.apply(w.ctx, l, nil)
			calls := since.Methods()
			if i := slices.Index(calls, cancel); i >= 0 {
				calls = slices.DeleteFunc(calls, func(m string) bool { return m == get })
				calls = append([]string{get}, calls...)
			}
			if !slices.Equal(calls, c.calls) {
				t.Errorf("the delete calls %v, want %v", calls, c.calls)
			}
			if text := errorsOf(diags); (text == "") != (c.refused == "") || !strings.Contains(text, c.refused) || left.state.IsNull() != (c.refused == "") {
				t.Errorf("the delete says %q, want %q", text, c.refused)
			}
			cancels := 0
			if slices.Contains(c.calls, cancel) {
				cancels = 1
			}
			w.requests(1, cancels)
		})
	}
}

// A provider that is killed after a replacement has taken a run over, or before
// it has, leaves a deposed object: its destroy never cancels, whatever this
// process has seen before. That of the object in its place does, once.
func TestDeposedObjectNeverCancels(t *testing.T) {
	t.Parallel()
	a := attributes{"job": "train", "cancel_on_destroy": true}
	for name, c := range map[string]struct {
		adopted bool // before the kill
		reads   func(*server, life, life)
	}{
		"nothing is read":          {adopted: true, reads: func(*server, life, life) {}},
		"the deposed one first":    {adopted: true, reads: func(s *server, old, current life) { s.read(old); s.read(current) }},
		"the current one first":    {adopted: true, reads: func(s *server, old, current life) { s.read(current); s.read(old) }},
		"killed before the create": {reads: func(s *server, old, _ life) { s.read(old) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			first := w.server(nil)
			old, diags := first.apply(w.ctx, first.nothing(), a)
			first.check(nil, diags)
			task := w.attempt()
			current := first.nothing()
			if c.adopted {
				killed := w.server(nil)
				current, diags = killed.apply(w.ctx, killed.nothing(), a)
				killed.check(nil, diags)
			}

			next := w.server(nil)
			c.reads(next, old, current)
			left, diags := next.destroyDeposed(w.ctx, old)
			next.check(nil, diags)
			if text := warnings(diags); !left.state.IsNull() || !strings.Contains(text, "Execution was not cancelled") {
				t.Errorf("the deposed object is left or nothing is said: %s, %q", left.state, text)
			}
			if !c.adopted {
				current, diags = next.apply(w.ctx, next.nothing(), a)
				next.check(nil, diags)
			}
			w.requests(1, 0)
			current, diags = next.read(current)
			next.check(nil, diags)
			if current.attribute("state") != "running" || !isRunning(w.only()) {
				t.Errorf("the run did not survive: %v", current.attribute("state"))
			}

			last := w.server(nil)
			_, diags = last.apply(w.ctx, current, nil)
			last.check(nil, diags)
			w.receive(task.Stopping(), "the task was not stopped")
			w.requests(1, 1)
		})
	}
}

// A delete that could not cancel leaves no plan behind that a later destroy of
// the object, deposed by then, could be taken for.
func TestFailedDeleteLeavesNoPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "cancel_on_destroy": true})
	s.check(nil, diags)
	w.attempt()
	w.Faults().Add(faults.Fault{Method: acctest.CancelExecution, Status: status.New(codes.PermissionDenied, "Permission 'run.executions.cancel' denied.")})
	left, diags := s.apply(w.ctx, l, nil)
	if text := errorsOf(diags); !strings.Contains(text, "run.executions.cancel") {
		t.Errorf("the refusal is not reported: %q", text)
	}
	for what, one := range map[string]life{"create": l, "failed delete": left} {
		if strings.Contains(string(one.private), "planner") {
			t.Errorf("after the %s the private state has a plan: %s", what, one.private)
		}
	}
	_, diags = s.destroyDeposed(w.ctx, left)
	s.check(nil, diags)
	w.requests(1, 1) // the refused one
}
