// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// api is the part of the client that this package calls.
type api interface {
	GetJob(ctx context.Context, name string, opts ...gcp.Option) (*runpb.Job, error)
	RunJob(ctx context.Context, req *runpb.RunJobRequest) (*runpb.Execution, error)
	GetExecution(ctx context.Context, name string, opts ...gcp.Option) (*runpb.Execution, error)
	CancelExecution(ctx context.Context, name string) (*runpb.Execution, error)
	Executions(ctx context.Context, parent string) iter.Seq2[*runpb.Execution, error]
	Tasks(ctx context.Context, parent string) iter.Seq2[*runpb.Task, error]
}

// How long and how often a run is looked for whose answer was lost.
const (
	searchWindow  = 60 * time.Second
	searchFirst   = time.Second
	searchSlowest = 10 * time.Second
)

// starter starts a run exactly once.
type starter struct {
	api   api
	clock clockwork.Clock
	// claims are the executions that this process has created or adopted, and
	// owner is the resource that asks for one.
	claims *claims
	owner  string
}

// start returns the execution of the run with this key: the unfinished one that
// exists, or else a new one. The errors are an occupiedError, a claimedError, a
// lostError, or that of the call that failed; with any of them nothing is known
// to have been started.
func (s starter) start(ctx context.Context, job resourcename.Job, req *runpb.RunJobRequest, key string, concurrent bool) (*runpb.Execution, error) {
	// From the list to the answer of :run only one resource of this process
	// deals with the job: two lists before two runs would both be empty.
	release, err := s.claims.enter(ctx, job.String())
	if err != nil {
		return nil, err
	}
	defer release()

	seen := map[string]bool{}
	var others []*runpb.Execution
	for e, err := range s.api.Executions(ctx, job.String()) {
		if err != nil {
			return nil, fmt.Errorf("cannot tell whether another execution is running, so that nothing was started: %w", err)
		}
		seen[e.GetName()] = true
		if StateOf(e).Finished() {
			continue
		}
		// One that is being cancelled is not the run that was asked for.
		if keyOf(e) != key || cancelling(e) {
			others = append(others, e)
			continue
		}
		if name := lastSegment(e.GetName()); !s.claims.take(job, name, s.owner) {
			return nil, &claimedError{name}
		}
		tflog.Info(ctx, "Found the execution of this configuration running already.", map[string]any{"execution": e.GetName()})
		return e, nil
	}
	if len(others) > 0 && !concurrent {
		return nil, &occupiedError{job: job, others: others}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("nothing was started: %w", err)
	}

	// Once the request is on its way, an interrupt must not make its answer
	// unknown. The client limits the time of each request.
	ctx = context.WithoutCancel(ctx)
	e, err := s.api.RunJob(ctx, req)
	if gcp.IsAmbiguous(err) {
		tflog.Warn(ctx, "The answer to the run was lost. Looking for its execution.", map[string]any{"error": err.Error()})
		e, err = s.search(ctx, job, key, seen, err)
	}
	if err != nil {
		return nil, err
	}
	s.claims.take(job, lastSegment(e.GetName()), s.owner)
	return e, nil
}

// search looks for the execution of a run whose answer was lost. Executions
// that were there before are not it, finished ones may be.
func (s starter) search(ctx context.Context, job resourcename.Job, key string, seen map[string]bool, cause error) (*runpb.Execution, error) {
	ctx, cancel := withLimit(ctx, s.clock, searchWindow)
	defer cancel()
	for pause := searchFirst; ; pause = min(2*pause, searchSlowest) {
		for e, err := range s.api.Executions(ctx, job.String()) {
			// The newest come first: what follows one that was there before is older.
			if err != nil || seen[e.GetName()] {
				break
			}
			if keyOf(e) == key {
				return e, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, &lostError{job: job, key: key, cause: cause}
		case <-s.clock.After(pause):
		}
	}
}

// occupiedError refuses a run beside other unfinished executions.
type occupiedError struct {
	job    resourcename.Job
	others []*runpb.Execution
}

func (e *occupiedError) Error() string {
	const most = 5
	var b strings.Builder
	fmt.Fprintf(&b, "Job %s has %s: ", e.job.Name, plural(len(e.others), "unfinished execution"))
	for i, o := range e.others {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(e.others)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(lastSegment(o.GetName()))
		if cancelling(o) {
			b.WriteString(" (being cancelled)")
		}
	}
	b.WriteString(". Nothing was started: two executions of one job write to the same checkpoint folder.")
	return b.String()
}

// claimedError refuses to manage one execution with two resources.
type claimedError struct{ name string }

func (e *claimedError) Error() string {
	return fmt.Sprintf("Another resource of this configuration has the same job, overrides and triggers, and with them the same run, execution %s.", e.name)
}

// lostError says that nobody knows whether the run was accepted.
type lostError struct {
	job   resourcename.Job
	key   string
	cause error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("the answer to the run of %s was lost, and no execution with its key %s appeared within %s: %s", e.job.Name, e.key, searchWindow, e.cause)
}

func (e *lostError) Unwrap() error { return e.cause }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// claims are what the resources of one configured provider do to jobs and
// executions at the same time. The zero value is ready.
type claims struct {
	mu    sync.Mutex
	gates map[string]chan struct{}
	taken map[resourcename.Execution]string // by whom
	// planner names this configured provider in the plans that it makes: JSON,
	// random. It never changes.
	planner string
}

// enter waits for the one place at a job's gate. release leaves it.
func (c *claims) enter(ctx context.Context, job string) (release func(), err error) {
	c.mu.Lock()
	if c.gates == nil {
		c.gates = map[string]chan struct{}{}
	}
	gate := c.gates[job]
	if gate == nil {
		gate = make(chan struct{}, 1)
		c.gates[job] = gate
	}
	c.mu.Unlock()
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("nothing was started: %w", ctx.Err())
	}
}

// take makes the owner the one resource of an execution, and reports false when
// there is one already.
func (c *claims) take(job resourcename.Job, execution, owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := resourcename.Execution{Job: job, Name: execution}
	if _, taken := c.taken[name]; taken {
		return false
	}
	if c.taken == nil {
		c.taken = map[resourcename.Execution]string{}
	}
	c.taken[name] = owner
	return true
}

// takenFrom reports whether this process has given an execution to another
// resource than the owner.
func (c *claims) takenFrom(owner string, execution resourcename.Execution) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	other, taken := c.taken[execution]
	return taken && other != owner
}
