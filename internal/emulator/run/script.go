// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// Script makes a run one whose tasks are told how to end: no process is started.
type Script struct {
	// Execution is its short name; empty is a name that the service makes.
	Execution string
	// Attempts are those of each task, in their order. One that is tried more often
	// than that ends well, at once.
	Attempts []ScriptedAttempt
}

// ScriptedAttempt is how one attempt goes.
type ScriptedAttempt struct {
	// Lasts is by the service's clock; negative is until it is asked to end. The
	// task's timeout ends it in any case.
	Lasts time.Duration
	// Output are the lines that it writes at its start.
	Output []string
	// Preempted lets maintenance end it.
	Preempted bool
	// Result is how it ends; the reason is that of its end when it is asked to.
	Result runner.Result
}

type scriptKey struct{}

// WithScript makes the RunJob of the context run by a script.
func WithScript(ctx context.Context, script *Script) context.Context {
	return context.WithValue(ctx, scriptKey{}, script)
}

func scriptOf(ctx context.Context) *Script {
	script, _ := ctx.Value(scriptKey{}).(*Script)
	return script
}

// scriptedName is the name of a new execution, as its script wants it.
func (s *Service) scriptedName(n jobName, script *Script) (executionName, error) {
	if script == nil || script.Execution == "" {
		return s.newExecutionName(n)
	}
	suffix, ok := strings.CutPrefix(script.Execution, n.job+"-")
	if !ok || !tokenForm.MatchString(suffix) || len(script.Execution) > maxExecutionName {
		return executionName{}, invalid("", "The name of an execution is the job's, a hyphen, and lower-case letters, digits and hyphens, %d characters at most: %q is none of job %s; write %s-first.", maxExecutionName, script.Execution, n.job, n.job)
	}
	name := n.execution(script.Execution)
	if e, err := s.execution(name); err != nil || e == nil {
		return name, err
	}
	return name, failure(codes.AlreadyExists, "Resource '%s' already exists.", script.Execution)
}

// maxExecutionName is that of a DNS label.
const maxExecutionName = 63

// launchScripted starts the attempt that a script has for its number.
func (s *Service) launchScripted(script *Script, a *attempt, timeout time.Duration) runner.Attempt {
	var how ScriptedAttempt
	if a.number < len(script.Attempts) {
		how = script.Attempts[a.number]
	}
	p := &actor{result: how.Result, done: make(chan struct{})}
	for _, line := range how.Output {
		s.output(a, runner.Stdout, line)
	}
	lasts, end := how.Lasts, func() { p.end(how.Result.Reason) }
	switch {
	case lasts < 0 || lasts > timeout:
		lasts, end = timeout, func() { p.end(runner.TimedOut) }
	case how.Preempted:
		end = func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.preempt(a)
		}
	}
	p.timer = s.o.Clock.AfterFunc(lasts, end)
	return p
}

// actor is an attempt without a process.
type actor struct {
	timer clockwork.Timer

	mu     sync.Mutex
	ended  bool
	result runner.Result
	done   chan struct{}
}

func (p *actor) end(reason runner.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.result.Reason = reason
	close(p.done)
}

// Preempt implements runner.Attempt.
func (p *actor) Preempt() {
	p.timer.Stop()
	p.end(runner.Preempted)
}

// Cancel implements runner.Attempt.
func (p *actor) Cancel() {
	p.timer.Stop()
	p.end(runner.Cancelled)
}

// Steady implements runner.Attempt.
func (p *actor) Steady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ended
}

// Done implements runner.Attempt.
func (p *actor) Done() <-chan struct{} { return p.done }

// Result implements runner.Attempt.
func (p *actor) Result() runner.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}
