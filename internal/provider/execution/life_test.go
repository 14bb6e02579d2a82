// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
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
		"unfinished, forgotten":       {live: forgotten, readCalls: []string{get}, readState: "running", calls: []string{get}},
		"unfinished, job gone":        {live: jobGone, readCalls: []string{get}, readState: "running", calls: []string{get}},
		"unfinished, to be cancelled": {cancels: true, live: running, readCalls: []string{get}, readState: "running", calls: []string{get, cancel}},
		"to be cancelled, has ended":  {cancels: true, live: finished, readCalls: []string{get}, readState: "succeeded", calls: []string{get}},
		"to be cancelled, forgotten":  {cancels: true, live: forgotten, readCalls: []string{get}, readState: "running", calls: []string{get}},
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
			w.requests(1, len(c.calls)/2)
		})
	}
}
