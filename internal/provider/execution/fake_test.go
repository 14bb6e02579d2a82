// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// fakeAPI answers from memory. Its hooks run before a call and may refuse it.
type fakeAPI struct {
	mu         sync.Mutex
	executions []*runpb.Execution // newest first
	calls      []string
	before     func(call string, n int) error
	onRun      func(*runpb.RunJobRequest) (*runpb.Execution, error)
}

func (f *fakeAPI) begin(call string) error {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	n := f.countLocked(call)
	f.mu.Unlock()
	if f.before != nil {
		return f.before(call, n)
	}
	return nil
}

func (f *fakeAPI) countLocked(call string) int {
	n := 0
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (f *fakeAPI) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countLocked(call)
}

func (f *fakeAPI) add(e *runpb.Execution) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.executions = append([]*runpb.Execution{e}, f.executions...)
}

func (f *fakeAPI) GetJob(context.Context, string, ...gcp.Option) (*runpb.Job, error) {
	return &runpb.Job{}, f.begin("job")
}

func (f *fakeAPI) RunJob(ctx context.Context, req *runpb.RunJobRequest) (*runpb.Execution, error) {
	if err := f.begin("run"); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &gcp.Error{Code: codes.Canceled, Ambiguous: true, Err: err}
	}
	return f.onRun(req)
}

func (f *fakeAPI) GetExecution(ctx context.Context, name string, _ ...gcp.Option) (*runpb.Execution, error) {
	if err := f.begin("get"); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &gcp.Error{Code: codes.Canceled, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.executions {
		if e.GetName() == name {
			return e, nil
		}
	}
	return nil, &gcp.Error{Op: "read execution", Code: codes.NotFound, HTTP: 404, Message: "no such execution"}
}

func (f *fakeAPI) CancelExecution(context.Context, string) (*runpb.Execution, error) {
	return nil, f.begin("cancel")
}

func (f *fakeAPI) Executions(context.Context, string) iter.Seq2[*runpb.Execution, error] {
	return func(yield func(*runpb.Execution, error) bool) {
		if err := f.begin("list"); err != nil {
			yield(nil, err)
			return
		}
		f.mu.Lock()
		all := slices.Clone(f.executions)
		f.mu.Unlock()
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (f *fakeAPI) Tasks(context.Context, string) iter.Seq2[*runpb.Task, error] {
	return func(yield func(*runpb.Task, error) bool) {
		if err := f.begin("tasks"); err != nil {
			yield(nil, err)
			return
		}
		for i := range 100 {
			t := &runpb.Task{Index: int32(i)}
			if i%2 == 1 {
				t.Conditions = []*runpb.Condition{{Type: conditionCompleted, State: runpb.Condition_CONDITION_FAILED}}
			}
			f.mu.Lock()
			f.calls = append(f.calls, fmt.Sprintf("task %d", i))
			f.mu.Unlock()
			if !yield(t, nil) {
				return
			}
		}
	}
}

var testJob = resourcename.Job{Project: "p", Location: "l", Name: "train"}

func testName(short string) resourcename.Execution {
	return resourcename.Execution{Job: testJob, Name: short}
}

// execution makes one in a state, with a key.
func execution(short string, s State, key string) *runpb.Execution {
	e := &runpb.Execution{Name: testName(short).String(), TaskCount: 1}
	completed := &runpb.Condition{Type: conditionCompleted, State: runpb.Condition_CONDITION_RECONCILING}
	switch s {
	case Running:
		e.RunningCount = 1
	case Succeeded:
		completed.State, e.SucceededCount = runpb.Condition_CONDITION_SUCCEEDED, 1
	case Failed:
		completed.State, e.FailedCount = runpb.Condition_CONDITION_FAILED, 1
	case Cancelled:
		completed.State, e.CancelledCount = runpb.Condition_CONDITION_FAILED, 1
	}
	e.Conditions = []*runpb.Condition{completed}
	if key != "" {
		e.Template = &runpb.TaskTemplate{Containers: []*runpb.Container{{Env: []*runpb.EnvVar{envVar("RESILIENTJOB_RUN_KEY", key)}}}}
	}
	return e
}

func asCancelling(e *runpb.Execution) *runpb.Execution {
	e.Conditions[0].Reasons = &runpb.Condition_ExecutionReason_{ExecutionReason: runpb.Condition_CANCELLING}
	return e
}

// drive advances a fake clock whenever somebody waits for a pause beside the
// time limit, until done is closed. It returns the time that passed.
func drive(t *testing.T, clock *clockwork.FakeClock, done <-chan struct{}) time.Duration {
	t.Helper()
	begin := clock.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for clock.BlockUntilContext(ctx, 2) == nil {
		clock.Advance(100 * time.Millisecond)
	}
	select {
	case <-done:
	default:
		t.Fatal("nothing ended within 20 s")
	}
	return clock.Since(begin)
}

var (
	errUnavailable = &gcp.Error{Op: "read execution", Code: codes.Unavailable, HTTP: 503, Message: "Service Unavailable"}
	errForbidden   = &gcp.Error{Op: "read execution", Code: codes.PermissionDenied, HTTP: 403, Message: "Permission 'run.executions.get' denied"}
	errLost        = &gcp.Error{Op: "run Cloud Run job", Code: codes.Unavailable, HTTP: 503, Message: "Service Unavailable", Ambiguous: true}
)
