// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

const ours = "0123456789abcdef0123456789abcdef"

// What start does with what it finds: how often :run is sent, and which
// execution the resource has in the end.
func TestStartRunsExactlyOnce(t *testing.T) {
	t.Parallel()
	accept := func(f *fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error) {
		return func(*runpb.RunJobRequest) (*runpb.Execution, error) {
			e := execution("train-new", Pending, ours)
			f.add(e)
			return e, nil
		}
	}
	for name, c := range map[string]struct {
		before     []*runpb.Execution // newest first
		concurrent bool
		onRun      func(*fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error)
		hook       func(*fakeAPI) func(call string, n int) error
		runs       int
		want       string // the execution
		wantErr    string
		atLeast    time.Duration // that passes
	}{
		"no executions": {runs: 1, want: "train-new"},
		"all have ended, one with our key": {
			before: []*runpb.Execution{execution("train-b", Failed, ours), execution("train-a", Succeeded, "other")}, runs: 1, want: "train-new",
		},
		"one of ours is running": {
			before: []*runpb.Execution{execution("train-c", Succeeded, ours), execution("train-b", Running, ours)}, want: "train-b",
		},
		"one of ours is pending behind another": {
			before: []*runpb.Execution{execution("train-c", Running, "other"), execution("train-b", Pending, ours)}, want: "train-b",
		},
		"another is running": {
			before:  []*runpb.Execution{execution("train-c", Running, "other"), execution("train-b", Pending, ""), execution("train-a", Succeeded, "")},
			wantErr: "Job train has 2 unfinished executions: train-c, train-b.",
		},
		"another is running, and that is allowed": {
			before: []*runpb.Execution{execution("train-b", Running, "other")}, concurrent: true, runs: 1, want: "train-new",
		},
		"one of ours is running, and others may": {
			before: []*runpb.Execution{execution("train-c", Running, "other"), execution("train-b", Running, ours)}, concurrent: true, want: "train-b",
		},
		"one of ours is being cancelled": {
			before: []*runpb.Execution{asCancelling(execution("train-b", Running, ours))}, wantErr: "train-b (being cancelled)",
		},
		"one of ours is being cancelled, and others may run": {
			before: []*runpb.Execution{asCancelling(execution("train-b", Running, ours))}, concurrent: true, runs: 1, want: "train-new",
		},
		"the list fails": {
			hook: func(*fakeAPI) func(string, int) error {
				return func(call string, _ int) error {
					if call == "list" {
						return errForbidden
					}
					return nil
				}
			},
			wantErr: "nothing was started",
		},
		"refused": {
			onRun: func(*fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error) {
				return func(*runpb.RunJobRequest) (*runpb.Execution, error) {
					return nil, &gcp.Error{Code: codes.InvalidArgument, Message: "Quota violated"}
				}
			},
			runs: 1, wantErr: "Quota violated",
		},
		// case 37: 503 although the execution was created.
		"answer lost, accepted": {
			onRun: func(f *fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error) {
				return func(r *runpb.RunJobRequest) (*runpb.Execution, error) { _, _ = accept(f)(r); return nil, errLost }
			},
			runs: 1, want: "train-new",
		},
		"answer lost, accepted, and ended before anybody looked": {
			before: []*runpb.Execution{execution("train-a", Succeeded, ours)},
			onRun: func(f *fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error) {
				return func(*runpb.RunJobRequest) (*runpb.Execution, error) {
					f.add(execution("train-new", Succeeded, ours))
					return nil, errLost
				}
			},
			runs: 1, want: "train-new",
		},
		"answer lost, shows up late, behind a run of somebody else, after a failed list": {
			before: []*runpb.Execution{execution("train-a", Succeeded, ours)},
			onRun: func(*fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error) {
				return func(*runpb.RunJobRequest) (*runpb.Execution, error) { return nil, errLost }
			},
			hook: func(f *fakeAPI) func(string, int) error {
				return func(call string, n int) error {
					switch {
					case call == "list" && n == 3:
						return errUnavailable
					case call == "list" && n == 5:
						f.add(execution("train-new", Running, ours))
						f.add(execution("train-x", Running, "other"))
					}
					return nil
				}
			},
			runs: 1, want: "train-new", atLeast: 5 * time.Second,
		},
		"answer lost, not accepted": {
			before: []*runpb.Execution{execution("train-a", Failed, ours)},
			onRun: func(*fakeAPI) func(*runpb.RunJobRequest) (*runpb.Execution, error) {
				return func(*runpb.RunJobRequest) (*runpb.Execution, error) { return nil, errLost }
			},
			runs: 1, wantErr: "no execution with its key " + ours + " appeared within 1m0s", atLeast: searchWindow,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeAPI{executions: c.before}
			f.onRun = accept(f)
			if c.onRun != nil {
				f.onRun = c.onRun(f)
			}
			if c.hook != nil {
				f.before = c.hook(f)
			}
			clock := clockwork.NewFakeClock()
			s := starter{api: f, clock: clock, claims: &claims{}}
			var got *runpb.Execution
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				got, err = s.start(t.Context(), testJob, &runpb.RunJobRequest{}, ours, c.concurrent)
			}()
			if passed := drive(t, clock, done); passed < c.atLeast || passed > searchWindow+searchSlowest {
				t.Errorf("%s passed, want at least %s", passed, c.atLeast)
			}
			if n := f.count("run"); n != c.runs {
				t.Errorf("%d requests to run, want %d", n, c.runs)
			}
			switch {
			case c.wantErr != "":
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v, want %q", err, c.wantErr)
				}
			case err != nil:
				t.Error(err)
			case lastSegment(got.GetName()) != c.want:
				t.Errorf("got %s, want %s", got.GetName(), c.want)
			}
		})
	}
}

// A Ctrl-C while the request is on its way must not make its answer unknown,
// and one before it must keep it from being sent.
func TestStartAndInterrupt(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"list", "run"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			f := &fakeAPI{}
			f.before = func(call string, _ int) error {
				if call == when {
					interrupt()
				}
				return nil
			}
			f.onRun = func(*runpb.RunJobRequest) (*runpb.Execution, error) {
				return execution("train-new", Pending, ours), nil
			}
			s := starter{api: f, clock: clockwork.NewFakeClock(), claims: &claims{}}
			got, err := s.start(ctx, testJob, &runpb.RunJobRequest{}, ours, false)
			if when == "list" {
				if f.count("run") != 0 || !errors.Is(err, context.Canceled) {
					t.Errorf("%d runs, %v", f.count("run"), err)
				}
				return
			}
			if err != nil || got.GetName() == "" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// Two resources of one apply: one job at a time, and never one execution for
// both.
func TestStartTwiceInOneProcess(t *testing.T) {
	t.Parallel()
	f := &fakeAPI{}
	f.onRun = func(*runpb.RunJobRequest) (*runpb.Execution, error) {
		e := execution("train-new", Pending, ours)
		f.add(e)
		return e, nil
	}
	s := starter{api: f, clock: clockwork.NewFakeClock(), claims: &claims{}, owner: "one"}
	results := make(chan error)
	for range 2 {
		go func() {
			_, err := s.start(t.Context(), testJob, &runpb.RunJobRequest{}, ours, true)
			results <- err
		}()
	}
	first, second := <-results, <-results
	if first != nil {
		first, second = second, first
	}
	var claimed *claimedError
	if first != nil || !errors.As(second, &claimed) || f.count("run") != 1 {
		t.Errorf("%v and %v, %d runs", first, second, f.count("run"))
	}
	if s.claims.takenFrom("one", testName("train-new")) || !s.claims.takenFrom("two", testName("train-new")) || s.claims.takenFrom("two", testName("train-other")) {
		t.Error("the claims do not know whose an execution is")
	}
	// A process of its own knows nothing of them and adopts.
	s.claims = &claims{}
	if got, err := s.start(t.Context(), testJob, &runpb.RunJobRequest{}, ours, false); err != nil || f.count("run") != 1 {
		t.Errorf("got %v, %v, %d runs", got, err, f.count("run"))
	}
}

func TestGateIsLeftByInterrupt(t *testing.T) {
	t.Parallel()
	c := &claims{}
	release, err := c.enter(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.enter(ctx, "job"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if release, err = c.enter(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	release()
}

func TestOccupiedErrorNamesFewExecutions(t *testing.T) {
	t.Parallel()
	e := &occupiedError{job: testJob}
	for range 8 {
		e.others = append(e.others, execution("train-a", Running, ""))
	}
	if text := e.Error() + e.hint(); strings.Count(text, "train-a") != 10 || !strings.Contains(text, "and 3 more") ||
		!strings.Contains(text, "gcloud run jobs executions cancel train-a --region=l --project=p") {
		t.Error(text)
	}
}
