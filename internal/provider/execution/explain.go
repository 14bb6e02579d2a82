// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Cause is what ended the last attempt of a task.
type Cause string

// The causes. The empty cause is that of a task without a finished attempt.
const (
	CauseNone        Cause = ""
	CauseSuccess     Cause = "success"
	CauseProgram     Cause = "program"
	CauseInterrupted Cause = "interrupted"
	CauseKilled      Cause = "killed"
	CauseMemory      Cause = "memory"
	CauseTimeout     Cause = "timeout"
	CausePlatform    Cause = "platform"
	CauseCancelled   Cause = "cancelled"
	CauseNotStarted  Cause = "not_started"
	CauseUnknown     Cause = "unknown"
)

// Outcome is how the last attempt of a task ended.
type Outcome struct {
	Cause Cause
	// Meaning says in one sentence, without a full stop, what ended the attempt
	// and whose doing it was.
	Meaning string
	// ExitCode is nil when the program did not end by itself.
	ExitCode *int32
	// Signal is nil when no signal ended the program.
	Signal *int32
	// Message is Google's own text, empty when there is none.
	Message string
}

// Explain says how the last finished attempt of a task ended. The platform has
// no field for most causes: preemption, memory, timeout and its own failures
// show only in exit codes, signals, status codes and texts.
func Explain(t *runpb.Task) Outcome {
	result := t.GetLastAttemptResult()
	code := codes.Code(result.GetStatus().GetCode())
	completed := condition(t.GetConditions(), conditionCompleted)
	failed := completed.GetState() == runpb.Condition_CONDITION_FAILED

	o := Outcome{Message: result.GetStatus().GetMessage()}
	if o.Message == "" && failed {
		o.Message = completed.GetMessage()
	}
	if n := result.GetExitCode(); n != 0 {
		o.ExitCode = &n
	}
	if n := result.GetTermSignal(); n != 0 {
		o.Signal = &n
	}

	switch {
	case result == nil && !failed:
		return o
	case result != nil && endedWell(result) && !failed:
		o.ExitCode = new(int32)
		o.Cause, o.Meaning = CauseSuccess, "the program ended with exit code 0"
	case code == codes.Canceled || cancelledBy(completed):
		o.Cause, o.Meaning = CauseCancelled, "somebody cancelled the execution"
	case code == codes.DeadlineExceeded || mentions(o.Message, "timeout was reached"):
		o.Cause, o.Meaning = CauseTimeout, "the attempt reached the task timeout"+timeoutOf(t)
	case mentions(o.Message, "memory limit"):
		o.Cause, o.Meaning = CauseMemory, "the attempt reached the memory limit of the container"
	case o.Signal != nil:
		o.Cause, o.Meaning = explainSignal(*o.Signal)
	case o.ExitCode != nil:
		o.Cause, o.Meaning = explainExit(*o.ExitCode)
	case startFailed(t, o.Message):
		o.Cause, o.Meaning = CauseNotStarted, "the container did not start, the program never ran"+startHint(o.Message)
	case code == codes.Internal:
		o.Cause, o.Meaning = CausePlatform, "the platform failed (status 13), not the program"
	case code == codes.OK:
		o.Cause, o.Meaning = CauseUnknown, "the platform gives no exit code, signal or status"
	default:
		o.Cause, o.Meaning = CauseUnknown, fmt.Sprintf("the platform reports status %d (%s) and no exit code", int32(code), code)
	}
	return o
}

// Linux's numbers: the containers run there wherever the provider runs.
const (
	sigKill = 9
	sigTerm = 15
)

var signalNames = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	sigKill: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", sigTerm: "SIGTERM",
	24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}

func explainSignal(n int32) (Cause, string) {
	switch n {
	case sigTerm:
		return CauseInterrupted, "the platform interrupted the program (SIGTERM), which did not handle it: what was not saved by then is lost"
	case sigKill:
		return CauseKilled, killed
	}
	return CauseProgram, "the program was ended by " + signalName(n)
}

const killed = "the program was killed (SIGKILL): out of memory, or still running when the ten seconds of grace after SIGTERM were over"

// explainExit reads exit codes by the conventions of shells and containers:
// above 128 stands 128 + the signal.
func explainExit(n int32) (Cause, string) {
	switch {
	case n == 128+sigTerm:
		return CauseInterrupted, "the program was interrupted (SIGTERM) and asked for a retry with exit code 143"
	case n == 128+sigKill:
		return CauseKilled, killed
	case n == 126:
		return CauseProgram, "the command is there but cannot be executed (exit code 126)"
	case n == 127:
		return CauseProgram, "the command was not found in the image (exit code 127)"
	case n > 128 && signalNames[n-128] != "":
		return CauseProgram, fmt.Sprintf("the program ended with exit code %d, which stands for %s", n, signalName(n-128))
	}
	return CauseProgram, fmt.Sprintf("the program ended with exit code %d", n)
}

func signalName(n int32) string {
	if name := signalNames[n]; name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

// startFailed reports whether there is evidence that the container of a task,
// which has neither an exit code nor a signal, did not come up: its Started
// condition, or Google's text. Its start time is none: it may be that of the
// attempt to start.
func startFailed(t *runpb.Task, message string) bool {
	started := condition(t.GetConditions(), conditionStarted)
	return started != nil && started.GetState() != runpb.Condition_CONDITION_SUCCEEDED || startHint(message) != ""
}

// startHint names what keeps a container from starting, as far as Google's text
// tells.
func startHint(message string) string {
	switch {
	case mentions(message, "mount") || mentions(message, "volume") || mentions(message, "gcsfuse"):
		return ": a volume could not be mounted (look at the bucket's name and at the grants of the service account)"
	case mentions(message, "image"):
		return ": the image could not be used (look at its name and at who may read it)"
	}
	return ""
}

func timeoutOf(t *runpb.Task) string {
	if d := t.GetTimeout().AsDuration(); d > 0 {
		return " of " + value.FormatDuration(d)
	}
	return ""
}

func mentions(text, word string) bool { return strings.Contains(strings.ToLower(text), word) }

// attempts returns how many attempts of a task were begun and how many its
// retry budget still holds.
func attempts(t *runpb.Task) (used, left int32) {
	begun := t.GetLastAttemptResult() != nil || happened(t.GetStartTime()) || t.GetRetried() > 0 ||
		condition(t.GetConditions(), conditionStarted).GetState() == runpb.Condition_CONDITION_SUCCEEDED
	if begun {
		used = t.GetRetried() + 1
	}
	return used, max(0, t.GetMaxRetries()+1-used)
}
