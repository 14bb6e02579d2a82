// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"
)

// Mount is a volume of a task: a folder of the host that the task sees at an absolute path.
type Mount struct {
	// Path is where the task sees it: absolute, clean, not "/", not below /dev, /proc or /sys.
	Path string
	// HostDir is an existing folder of the host. It already includes the volume's prefix.
	HostDir string
	// ReadOnly makes writes fail with EROFS. Mode "rewrite" cannot do that.
	ReadOnly bool
}

// Task is one attempt to be started.
type Task struct {
	// Name appears in log lines and error texts, for example "train-x7k2p-task0".
	Name string
	// Image is the container's image. It chooses a command from Options.Images when Command is empty.
	Image string
	// Command is the container's entry point, Args what follows it.
	Command, Args []string
	// WorkingDir is absolute; empty means the folder in which the emulator was started.
	WorkingDir string
	// Env holds the container's variables as NAME=value, the platform's CLOUD_RUN_* among them. When a name stands twice
	// the last one counts. To these only the host's PATH, HOME and the like are added (see Options.Environ).
	Env []string
	// Mounts are neither equal to nor nested in each other.
	Mounts []Mount
	// Timeout counts from the start of the task's process; zero means none.
	Timeout time.Duration
	// Clock measures Timeout; nil means the launcher's. The grace is always by the launcher's.
	Clock clockwork.Clock
}

// Reason says why an attempt ended.
type Reason int

const (
	// Exited means that the task ended by itself: ExitCode or Signal says how.
	Exited Reason = iota
	// TimedOut means that Task.Timeout was over: SIGTERM, grace, SIGKILL.
	TimedOut
	// Preempted means that Attempt.Preempt was called before the task ended.
	Preempted
	// Cancelled means that Attempt.Cancel was called before the task ended.
	Cancelled
	// NotStarted means that there never was a process of the task; Message says why.
	NotStarted
)

// String returns the reason in lower-case words.
func (r Reason) String() string {
	switch r {
	case Exited:
		return "exited"
	case TimedOut:
		return "timed out"
	case Preempted:
		return "preempted"
	case Cancelled:
		return "cancelled"
	case NotStarted:
		return "not started"
	default:
		return fmt.Sprintf("Reason(%d)", int(r))
	}
}

// Result is how an attempt ended.
//
// With every reason but NotStarted, ExitCode and Signal say how the task's first process ended in fact: a task that
// handles the SIGTERM of a preemption and exits with 143 has {Preempted, ExitCode: 143}, one that was killed after the
// grace {Preempted, Signal: 9}, one that exited with 0 just in time {Preempted}. At most one of the two is not zero.
type Result struct {
	Reason   Reason
	ExitCode int
	// Signal is the number of the signal that ended the process, by Linux's numbering; zero when it exited.
	Signal int
	// Message is for people: set with NotStarted, else empty.
	Message string
}

// Attempt is one running (or ended) attempt.
type Attempt interface {
	// Preempt sends SIGTERM, and SIGKILL after the grace, and returns at once. Of several calls to Preempt and Cancel and
	// the timeout the first decides Result.Reason and starts the grace; the later ones, and calls after the end, do nothing.
	Preempt()
	// Cancel is the same with the reason Cancelled.
	Cancel()
	// Steady tells whether the task's program runs and nothing was asked of it: whatever happens next is its own doing, or
	// a matter of time.
	Steady() bool
	// Done is closed when the task and everything it started are gone and all output was delivered.
	Done() <-chan struct{}
	// Result is valid after Done.
	Result() Result
}

// Launcher starts attempts. Both kinds, Processes and Scripted, are safe for concurrent use.
type Launcher interface {
	// Launch starts the task and returns without waiting for it. An error means that it cannot be started, with a text for
	// the person who configured the job; what is found out later (such as a command that does not exist) is a Result with
	// the reason NotStarted and the same kind of text.
	//
	// output gets every line that the task writes, without its line end; stream is Stdout or Stderr. It is called by one
	// goroutine at a time for each attempt and must not block for long. nil drops the output.
	Launch(t Task, output func(stream, line string)) (Attempt, error)
}

// The values of the argument stream of an output function.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)
