// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// process is a task as the operating system has it; each kind of system makes one in startProcess.
type process interface {
	// started is closed when the task's program runs. It may never be.
	started() <-chan struct{}
	// gone is closed when the task and everything it started have ended and all output was delivered.
	gone() <-chan struct{}
	// over tells whether the task's first process has ended, which may be a moment before gone.
	over() bool
	// terminate sends SIGTERM to the first process, kill SIGKILL to all. Both may be called at any time.
	terminate()
	kill()
	// ending is valid after gone.
	ending() ending
}

// ending is how the first process ended; failure is set when there was none.
type ending struct {
	code, signal int
	failure      string
}

type attempt struct {
	name           string
	timeout, grace time.Duration
	clock          clockwork.Clock
	timeoutClock   clockwork.Clock
	logger         *slog.Logger
	stop           chan Reason // holds the first request that run has not seen
	running        atomic.Bool // the program runs, its timeout counts
	asked          atomic.Bool // there was a request
	done           chan struct{}
	result         Result // written before done is closed
}

func (a *attempt) Preempt() { a.request(Preempted) }
func (a *attempt) Cancel()  { a.request(Cancelled) }

func (a *attempt) request(r Reason) {
	a.asked.Store(true)
	select {
	case a.stop <- r:
	default: // an earlier request waits already, and the first one counts
	}
}

func (a *attempt) Steady() bool {
	select {
	case <-a.done:
		return false
	default:
		return a.running.Load() && !a.asked.Load()
	}
}

func (a *attempt) Done() <-chan struct{} { return a.done }

func (a *attempt) Result() Result {
	select {
	case <-a.done:
		return a.result
	default:
		return Result{}
	}
}

// run is the attempt's life: start, perhaps SIGTERM, perhaps SIGKILL, end.
func (a *attempt) run(p process) {
	defer close(a.done)
	reason := Exited
	var grace <-chan time.Time
	var timers []clockwork.Timer
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
	}()
	terminate := func(r Reason) {
		if reason != Exited || p.over() {
			return
		}
		reason = r
		a.logger.Debug("SIGTERM to task", "task", a.name, "reason", r.String(), "grace", a.grace)
		t := a.clock.NewTimer(a.grace)
		timers, grace = append(timers, t), t.Chan()
		p.terminate()
	}
	started := p.started()
	for {
		select {
		case <-started:
			started = nil
			if a.timeout > 0 {
				timers = append(timers, a.timeoutClock.AfterFunc(a.timeout, func() { a.request(TimedOut) }))
			}
			a.running.Store(true)
		case r := <-a.stop:
			terminate(r)
		case <-grace:
			a.logger.Debug("SIGKILL to task", "task", a.name)
			p.kill()
		case <-p.gone():
			e := p.ending()
			a.result = Result{Reason: reason, ExitCode: e.code, Signal: e.signal}
			if e.failure != "" {
				a.result = Result{Reason: NotStarted, Message: e.failure}
			}
			a.logger.Debug("task ended", "task", a.name, "reason", a.result.Reason.String(), "exit_code", e.code, "signal", e.signal)
			return
		}
	}
}
