// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// What takes minutes, with a clock that is moved on: outages, lost answers that
// do not come back, limits of time.

// fast is a provider whose clock moves on whenever somebody waits for it.
type fast struct {
	*server
	clock *clockwork.FakeClock
}

func (w *world) fast() *fast {
	clock := clockwork.NewFakeClock()
	return &fast{w.server(clock), clock}
}

// apply is server.apply, and the time that it took.
func (f *fast) apply(ctx context.Context, l life, a attributes) (next life, diags []*tfprotov6.Diagnostic, took time.Duration) {
	f.t.Helper()
	begin := f.clock.Now()
	moving, stop := context.WithCancel(f.ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		// Two wait: the limit of a watch, and its next look.
		for f.clock.BlockUntilContext(moving, 2) == nil {
			f.clock.Advance(500 * time.Millisecond)
		}
	}()
	next, diags = f.server.apply(ctx, l, a)
	stop()
	<-stopped
	return next, diags, f.clock.Since(begin)
}

// case 37, its other half: 503, or a connection that is cut, and nothing was
// accepted. Only after a minute of looking is that an error, and never is :run
// sent again by itself. The next apply runs once.
func TestAnswerLostAndNothingAccepted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{
		"503":            {Status: status.New(codes.Unavailable, "Service Unavailable")},
		"connection cut": {Cut: true},
		"500":            {Status: status.New(codes.Internal, "Internal error encountered.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			w.succeed()
			f := w.fast()
			fault.Method = acctest.RunJob
			w.Faults().Add(fault)
			a := attributes{"job": "train", "wait_for": "completed"}
			l, diags, took := f.apply(w.ctx, f.nothing(), a)
			if text := errorsOf(diags); !strings.Contains(text, "Cannot tell whether the job was started") || !strings.Contains(text, "Apply again") {
				t.Errorf("the error is %q", text)
			}
			if took < time.Minute || took > 75*time.Second {
				t.Errorf("it was looked for for %s", took)
			}
			if !l.state.IsNull() || l.tainted {
				t.Errorf("the state is %s", l.state)
			}
			w.requests(1, 0)
			l, diags, _ = f.apply(w.ctx, l, a)
			f.check(nil, diags)
			if l.attribute("state") != "succeeded" {
				t.Errorf("state is %v", l.attribute("state"))
			}
			w.only()
			w.requests(2, 0)
		})
	}
}

// An answer that is lost, and an execution that the list shows late.
func TestAnswerLostAndListLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	f := w.fast()
	w.Faults().Add(faults.Fault{Method: acctest.RunJob, Lose: true})
	w.Faults().Add(faults.Fault{Method: acctest.ListExecutions, After: 1, Times: 3, Status: status.New(codes.NotFound, "not yet")})
	l, diags, took := f.apply(w.ctx, f.nothing(), attributes{"job": "train"})
	f.check(nil, diags)
	if l.attribute("name") != short(w.only()) || took > 30*time.Second {
		t.Errorf("after %s the state is %s", took, l.state)
	}
	w.requests(1, 0)
}

// What ends the watching is a warning, the state says what is known, and nothing
// is tainted or cancelled. The next read tells the rest.
func TestWatchEndsBeforeTheRun(t *testing.T) {
	t.Parallel()
	outage := faults.Fault{Method: acctest.GetExecution, Times: -1, Status: status.New(codes.Unavailable, "The service is currently unavailable.")}
	for name, c := range map[string]struct {
		fault       *faults.Fault
		attributes  attributes
		says        string
		least, most time.Duration
	}{
		"outage":                          {&outage, attributes{}, "The service is currently unavailable.", 5 * time.Minute, 8 * time.Minute},
		"default limit":                   {nil, attributes{"wait_for": "completed"}, "The time limit ran out", 70 * time.Minute, 71 * time.Minute},
		"a limit of the user's":           {nil, attributes{"wait_for": "completed", "timeouts": map[string]string{"create": "7m"}}, "The time limit ran out", 7 * time.Minute, 8 * time.Minute},
		"the limit counts from the start": {nil, attributes{"wait_for": "completed", "timeouts": map[string]string{"create": "1ns"}}, "The time limit ran out", 0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0) // 10 minutes of task timeout, 1 attempt, and an hour
			f := w.fast()
			var h *faults.Handle
			if c.fault != nil {
				h = w.Faults().Add(*c.fault)
			}
			a := attributes{"job": "train"}
			for k, v := range c.attributes {
				a[k] = v
			}
			l, diags, took := f.apply(w.ctx, f.nothing(), a)
			f.check(nil, diags)
			if text := warnings(diags); !strings.Contains(text, "Stopped watching the execution") || !strings.Contains(text, c.says) || !strings.Contains(text, "it was not cancelled") {
				t.Errorf("the warning is %q", text)
			}
			if took < c.least || took > c.most {
				t.Errorf("it took %s, want %s to %s", took, c.least, c.most)
			}
			if state := l.attribute("state"); state != "pending" && state != "running" {
				t.Errorf("state is %v", state)
			}
			w.attempt().Exit(0)
			w.ended(w.only())
			if h != nil {
				h.Remove()
			}
			l, diags = f.read(l)
			f.check(nil, diags)
			if p := f.plan(l, a); l.attribute("state") != "succeeded" || !p.noop {
				t.Errorf("state is %v, no-op %t", l.attribute("state"), p.noop)
			}
			w.requests(1, 0)
		})
	}
}

// Destroy waits for the end of what it cancels, and says how to go on when that
// does not come.
func TestCancelledButDoesNotEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.tasks.OnStop(nil) // the task hangs
	f := w.fast()
	a := attributes{"job": "train", "cancel_on_destroy": true}
	l, diags, _ := f.apply(w.ctx, f.nothing(), a)
	f.check(nil, diags)
	task := w.attempt()
	left, diags, took := f.apply(w.ctx, l, nil)
	if text := errorsOf(diags); !strings.Contains(text, "The time limit ran out (timeouts.delete)") || !strings.Contains(text, "destroy it again to go on") {
		t.Errorf("the error is %q", text)
	}
	if left.state.IsNull() || took < 20*time.Minute || took > 21*time.Minute {
		t.Errorf("after %s the state is %s", took, left.state)
	}
	task.Exit(143)
	left, diags, _ = f.apply(w.ctx, left, nil)
	f.check(nil, diags)
	if !left.state.IsNull() {
		t.Errorf("the state is %s", left.state)
	}
	w.requests(1, 1)
}

// Ctrl-C while destroy waits: the resource stays, and the next destroy goes on.
func TestInterruptedWhileCancelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "cancel_on_destroy": true})
	s.check(nil, diags)
	task := w.attempt()
	ctx, interrupt := context.WithCancel(w.ctx)
	w.tasks.OnStop(nil) // the task takes its time
	// The first read comes before the cancel.
	w.Faults().Add(faults.Fault{Method: acctest.GetExecution, After: 1, Do: func(faults.Call) { interrupt() }})
	l, diags = s.apply(ctx, l, nil)
	if text := errorsOf(diags); !strings.Contains(text, "Terraform was interrupted.") || !strings.Contains(text, "destroy it again to go on") || l.state.IsNull() {
		t.Errorf("the error is %q, the state %s", text, l.state)
	}
	task.Exit(143)
	l, diags = s.apply(w.ctx, l, nil)
	s.check(nil, diags)
	if !l.state.IsNull() || !run.Finished(w.only()) {
		t.Errorf("the state is %s", l.state)
	}
	w.requests(1, 1)
}

// A cancel whose answer is lost, or that somebody else was faster with.
func TestCancelAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   func(w *world) faults.Fault
		cancels int
	}{
		"lost": {func(*world) faults.Fault { return faults.Fault{Lose: true} }, 2},
		"refused for a time": {func(*world) faults.Fault {
			return faults.Fault{Status: status.New(codes.Unavailable, "Service Unavailable")}
		}, 2},
		"ended in between": {func(w *world) faults.Fault {
			return faults.Fault{Do: func(faults.Call) {
				a, err := w.tasks.Await(w.ctx, "")
				if err != nil {
					panic(err)
				}
				a.Exit(0)
				w.ended(w.only())
			}}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			s := w.server(nil)
			l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "cancel_on_destroy": true})
			s.check(nil, diags)
			f := c.fault(w)
			f.Method = acctest.CancelExecution
			w.Faults().Add(f)
			l, diags = s.apply(w.ctx, l, nil)
			s.check(nil, diags)
			if !l.state.IsNull() {
				t.Errorf("the state is %s", l.state)
			}
			if e := w.only(); !run.Finished(e) {
				t.Errorf("it goes on: %v", e)
			}
			w.requests(1, c.cancels)
		})
	}
}
