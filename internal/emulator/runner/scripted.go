// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"context"
	"fmt"
	"sync"
)

// Scripted is the Launcher for tests: no process is ever started, and every attempt ends when and how the test says.
//
//	launcher := runner.NewScripted()
//	… start the service under test with it, run an execution …
//	first, err := launcher.Await(ctx, "train-x7k2p-task0")
//	first.Write(runner.Stdout, "step 1")
//	first.Preempt()            // or through the service under test
//	first.Exit(143)            // Result is {Preempted, ExitCode: 143}
//	second, err := launcher.Await(ctx, "train-x7k2p-task0") // the retry
//	second.Exit(0)
//
// Preempt and Cancel only note the request, as a real task has ten seconds to answer it: wait for it on
// ScriptedAttempt.Stopping and end the attempt with Exit or Signal, or have it done by OnStop. A service under test that
// cancels its attempts when it is closed, and waits for them, waits for the test.
type Scripted struct {
	mu       sync.Mutex
	all      []*ScriptedAttempt
	changed  chan struct{} // closed and replaced at every launch
	refuse   func(Task) error
	launched func(*ScriptedAttempt)
	stopped  func(*ScriptedAttempt)
}

// NewScripted returns a launcher without attempts.
func NewScripted() *Scripted {
	return &Scripted{changed: make(chan struct{})}
}

// Refuse makes later calls of Launch fail with what refuse returns for the task, unless that is nil. nil refuses nothing.
func (s *Scripted) Refuse(refuse func(Task) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// OnLaunch has f called, in its own goroutine, for every later attempt, for tests in which all attempts behave alike:
//
//	launcher.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
//
// Attempts given to f are also handed out by Await. nil calls nothing.
func (s *Scripted) OnLaunch(f func(*ScriptedAttempt)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launched = f
}

// OnStop has f called, in its own goroutine, when Preempt or Cancel is first called for an attempt that still runs, for
// tests in which every task answers SIGTERM alike:
//
//	launcher.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
//
// It holds for attempts that run already too. nil calls nothing.
func (s *Scripted) OnStop(f func(*ScriptedAttempt)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = f
}

// Launch implements Launcher.
func (s *Scripted) Launch(t Task, output func(stream, line string)) (Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(t); err != nil {
			return nil, err
		}
	}
	a := &ScriptedAttempt{Task: t, launcher: s, output: output, stopping: make(chan struct{}), done: make(chan struct{})}
	s.all = append(s.all, a)
	close(s.changed)
	s.changed = make(chan struct{})
	if s.launched != nil {
		go s.launched(a)
	}
	return a, nil
}

// Await returns the oldest attempt of the named task that Await has not returned before, and waits for one if need be.
// The name "" stands for any task. The error says which tasks were launched instead.
func (s *Scripted) Await(ctx context.Context, taskName string) (*ScriptedAttempt, error) {
	for {
		s.mu.Lock()
		a := s.take(taskName)
		changed := s.changed
		s.mu.Unlock()
		if a != nil {
			return a, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("no attempt of task %q was launched (launched so far: %v): %w", taskName, s.names(), ctx.Err())
		}
	}
}

func (s *Scripted) take(taskName string) *ScriptedAttempt {
	for _, a := range s.all {
		if a.taken || taskName != "" && a.Task.Name != taskName {
			continue
		}
		a.taken = true
		return a
	}
	return nil
}

func (s *Scripted) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.all))
	for i, a := range s.all {
		names[i] = a.Task.Name
	}
	return names
}

// Attempts returns every attempt launched so far, oldest first, whether handed out or not.
func (s *Scripted) Attempts() []*ScriptedAttempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*ScriptedAttempt(nil), s.all...)
}

// ScriptedAttempt is an attempt that ends when a test says so. Of several endings the first counts.
type ScriptedAttempt struct {
	// Task is what was launched.
	Task Task

	launcher *Scripted
	output   func(stream, line string)
	writing  sync.Mutex // held while a line is delivered
	mu       sync.Mutex
	taken    bool // guarded by Scripted.mu
	stopped  bool
	reason   Reason
	ended    bool
	result   Result
	stopping chan struct{}
	done     chan struct{}
}

// Write gives the line to the output function that Launch was called with. After the end it is dropped.
func (a *ScriptedAttempt) Write(stream, line string) {
	a.writing.Lock()
	defer a.writing.Unlock()
	select {
	case <-a.done:
	default:
		if a.output != nil {
			a.output(stream, line)
		}
	}
}

// Exit ends the attempt as a process that exits with the code. The reason is Exited, or what Preempt or Cancel noted before.
func (a *ScriptedAttempt) Exit(code int) { a.end(Result{ExitCode: code}, false) }

// Signal ends the attempt as a process that a signal kills. The reason is Exited, or what Preempt or Cancel noted before.
func (a *ScriptedAttempt) Signal(n int) { a.end(Result{Signal: n}, false) }

// TimeOut ends the attempt as one whose timeout was over and that had to be killed after the grace.
func (a *ScriptedAttempt) TimeOut() { a.end(Result{Reason: TimedOut, Signal: 9}, true) }

// Fail ends the attempt as one whose process could not be started, which a launcher may find out after Launch has returned.
func (a *ScriptedAttempt) Fail(message string) {
	a.end(Result{Reason: NotStarted, Message: message}, true)
}

func (a *ScriptedAttempt) end(r Result, fixed bool) {
	a.writing.Lock() // a line being written is delivered before Done is closed
	defer a.writing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	if !fixed {
		r.Reason = a.reason
	}
	a.ended, a.result = true, r
	close(a.done)
}

// Stopping is closed when Preempt or Cancel is called: the moment at which a real task gets SIGTERM.
func (a *ScriptedAttempt) Stopping() <-chan struct{} { return a.stopping }

// Preempt implements Attempt.
func (a *ScriptedAttempt) Preempt() { a.stop(Preempted) }

// Cancel implements Attempt.
func (a *ScriptedAttempt) Cancel() { a.stop(Cancelled) }

func (a *ScriptedAttempt) stop(r Reason) {
	a.mu.Lock()
	first := !a.ended && !a.stopped
	if first {
		a.stopped, a.reason = true, r
		close(a.stopping)
	}
	a.mu.Unlock()
	if !first {
		return
	}
	a.launcher.mu.Lock()
	f := a.launcher.stopped
	a.launcher.mu.Unlock()
	if f != nil {
		go f(a)
	}
}

// Steady implements Attempt.
func (a *ScriptedAttempt) Steady() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.stopped && !a.ended
}

// Done implements Attempt.
func (a *ScriptedAttempt) Done() <-chan struct{} { return a.done }

// Result implements Attempt.
func (a *ScriptedAttempt) Result() Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result
}
