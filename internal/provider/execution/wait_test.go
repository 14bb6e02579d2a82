// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// script answers the reads of one execution: a state each, the last one again
// and again.
type script []any // State or error

func (s script) api() *fakeAPI {
	f := &fakeAPI{executions: []*runpb.Execution{execution("train-a", Pending, "")}}
	f.before = func(call string, n int) error {
		if call != "get" {
			return nil
		}
		switch step := s[min(n, len(s))-1].(type) {
		case error:
			return step
		case State:
			f.mu.Lock()
			f.executions = []*runpb.Execution{execution("train-a", step, "")}
			f.mu.Unlock()
		}
		return nil
	}
	return f
}

func TestWatch(t *testing.T) {
	t.Parallel()
	gone := &gcp.Error{Code: codes.NotFound, HTTP: 404}
	senseless := &gcp.Error{Code: codes.InvalidArgument, HTTP: 400}
	for name, c := range map[string]struct {
		script  script
		waitFor string
		limit   time.Duration
		state   State
		err     error
		least   time.Duration // that passes
		most    time.Duration
		reads   int // exactly; 0: any number
	}{
		"created":                      {script: script{Running}, waitFor: waitCreated, state: Pending, reads: -1},
		"started":                      {script: script{Pending, Pending, Running}, waitFor: waitStarted, state: Running, least: time.Second, most: 2 * time.Second, reads: 3},
		"started, succeeded already":   {script: script{Pending, Succeeded}, waitFor: waitStarted, state: Succeeded},
		"started, failed before":       {script: script{Pending, Failed}, waitFor: waitStarted, state: Failed},
		"completed":                    {script: script{Running, Running, Succeeded}, waitFor: waitCompleted, state: Succeeded, reads: 3},
		"completed, cancelled":         {script: script{Running, Cancelled}, waitFor: waitCompleted, state: Cancelled},
		"timeout":                      {script: script{Running}, waitFor: waitCompleted, limit: 20 * time.Minute, state: Running, err: errTimeout, least: 20 * time.Minute, most: 20*time.Minute + time.Second},
		"not visible yet":              {script: script{gone, gone, Running}, waitFor: waitStarted, state: Running},
		"never visible":                {script: script{gone}, waitFor: waitStarted, state: Pending, err: errForgotten, least: freshPatience, most: freshPatience + 5*time.Second},
		"forgotten while watched":      {script: script{Running, gone}, waitFor: waitCompleted, state: Running, err: errForgotten, most: time.Second},
		"lost permission":              {script: script{Running, errForbidden}, waitFor: waitCompleted, state: Running, err: errDenied, most: time.Second},
		"expired credentials":          {script: script{Running, &gcp.Error{Code: codes.Unauthenticated, HTTP: 401}}, waitFor: waitCompleted, state: Running, err: errDenied, most: time.Second},
		"short outage":                 {script: script{Running, errUnavailable, errUnavailable, errUnavailable, Succeeded}, waitFor: waitCompleted, state: Succeeded},
		"outage":                       {script: script{Running, errUnavailable}, waitFor: waitCompleted, state: Running, err: errOutage, least: outagePatience, most: outagePatience + time.Minute},
		"outage before any answer":     {script: script{errUnavailable}, waitFor: waitStarted, state: Pending, err: errOutage, least: outagePatience, most: outagePatience + time.Minute},
		"outage longer than the limit": {script: script{errUnavailable}, waitFor: waitStarted, limit: time.Minute, state: Pending, err: errTimeout, least: time.Minute, most: time.Minute + time.Second},
		"no time left":                 {script: script{Running}, waitFor: waitCompleted, limit: -time.Second, state: Pending, err: errTimeout, most: time.Second},
		"an answer that makes no sense": {
			script: script{Running, senseless}, waitFor: waitCompleted, state: Running, err: senseless, most: time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.script.api()
			clock := clockwork.NewFakeClock()
			limit := c.limit
			if limit == 0 {
				limit = time.Hour
			}
			var got *runpb.Execution
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				got, err = watcher{f, clock}.until(t.Context(), testName("train-a"), execution("train-a", Pending, ""), limit, goal(c.waitFor))
			}()
			passed := drive(t, clock, done)
			if StateOf(got) != c.state {
				t.Errorf("state %q, want %q", StateOf(got), c.state)
			}
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if passed < c.least || c.most > 0 && passed > c.most {
				t.Errorf("%s passed, want %s to %s", passed, c.least, c.most)
			}
			if n := f.count("get"); c.reads > 0 && n != c.reads || c.reads < 0 && n != 0 {
				t.Errorf("%d reads, want %d", n, c.reads)
			}
			if f.count("run")+f.count("cancel") != 0 {
				t.Error("a watch changes nothing")
			}
		})
	}
}

// Ctrl-C: Terraform cancels the context of the call, before, during or between
// reads.
func TestWatchIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int{"before the first read": 0, "during the first read": 1, "during a later read": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			f := script{Running}.api()
			inner := f.before
			f.before = func(call string, n int) error {
				if n == at {
					interrupt()
				}
				return inner(call, n)
			}
			if at == 0 {
				interrupt()
			}
			clock := clockwork.NewFakeClock()
			var got *runpb.Execution
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				got, err = watcher{f, clock}.until(ctx, testName("train-a"), execution("train-a", Running, ""), time.Hour, theEnd)
			}()
			if passed := drive(t, clock, done); passed > 2*time.Second {
				t.Errorf("%s passed", passed)
			}
			if !errors.Is(err, errInterrupted) || StateOf(got) != Running {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// A watch of twelve hours costs few calls, and a short run is noticed quickly.
func TestPollingSlowsDown(t *testing.T) {
	t.Parallel()
	f := script{Running}.api()
	clock := clockwork.NewFakeClock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = watcher{f, clock}.until(t.Context(), testName("train-a"), execution("train-a", Running, ""), 2*time.Hour, theEnd)
	}()
	drive(t, clock, done)
	if n := f.count("get"); n < 240 || n > 320 {
		t.Errorf("%d reads in two hours, want one in half a minute", n)
	}
}

// What the execution says counts more than the answer to a cancel.
func TestCancel(t *testing.T) {
	t.Parallel()
	refused := &gcp.Error{Op: "cancel execution", Code: codes.FailedPrecondition, HTTP: 400, Message: "Execution 'E' cannot be cancelled because it is not running."}
	gone := &gcp.Error{Code: codes.NotFound, HTTP: 404}
	for name, c := range map[string]struct {
		execution *runpb.Execution
		answer    error
		script    script
		cancels   int
		state     State
		err       error
	}{
		"running":                          {execution("train-a", Running, ""), nil, script{Running, Running, Cancelled}, 1, Cancelled, nil},
		"is being cancelled":               {asCancelling(execution("train-a", Running, "")), nil, script{Cancelled}, 0, Cancelled, nil},
		"ended by itself":                  {execution("train-a", Running, ""), refused, script{Succeeded}, 1, Succeeded, nil},
		"refused":                          {execution("train-a", Running, ""), errForbidden, script{Running}, 1, Running, errForbidden},
		"refused, and the read fails too":  {execution("train-a", Running, ""), errForbidden, script{errUnavailable}, 1, Running, errForbidden},
		"gone":                             {execution("train-a", Running, ""), gone, script{gone}, 1, Running, nil},
		"gone while it is being cancelled": {execution("train-a", Running, ""), nil, script{Running, gone}, 1, Running, nil},
		"answer lost":                      {execution("train-a", Running, ""), errLost, script{Cancelled}, 1, Cancelled, nil},
		"does not end":                     {execution("train-a", Running, ""), nil, script{Running}, 1, Running, errTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.script.api()
			inner := f.before
			f.before = func(call string, n int) error {
				if call == "cancel" {
					return c.answer
				}
				return inner(call, n)
			}
			clock := clockwork.NewFakeClock()
			var got *runpb.Execution
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				got, err = watcher{f, clock}.cancel(t.Context(), testName("train-a"), c.execution, 20*time.Minute)
			}()
			drive(t, clock, done)
			if !errors.Is(err, c.err) || StateOf(got) != c.state {
				t.Errorf("%q, %v; want %q, %v", StateOf(got), err, c.state, c.err)
			}
			if n := f.count("cancel"); n != c.cancels {
				t.Errorf("%d cancels, want %d", n, c.cancels)
			}
		})
	}
}

// 10,000 tasks do not take 10,000 reads, and no failure takes none.
func TestFailedTasksReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed, want, read int
		state              State
	}{
		"none":  {0, 0, 0, Running},
		"two":   {2, 2, 4, Running},
		"many":  {1000, maxFailedTasks, 2 * maxFailedTasks, Failed},
		"wrong": {0, maxFailedTasks, 2 * maxFailedTasks, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeAPI{}
			e := execution("train-a", c.state, "")
			e.FailedCount = int32(c.failed)
			got, err := failedTasks(t.Context(), f, testName("train-a"), e)
			read := max(0, len(f.calls)-1)
			if err != nil || len(got) != c.want || read != c.read {
				t.Errorf("%d tasks of %d read, %v; want %d of %d", len(got), read, err, c.want, c.read)
			}
		})
	}
}
