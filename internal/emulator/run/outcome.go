// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"cloud.google.com/go/run/apiv2/runpb"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// Messages of attempts.
const (
	exitedWithError = "The container exited with an error."
	timeoutReached  = "The configured timeout was reached."
	memoryReached   = "The configured memory limit was reached."
	internalError   = "Internal error."
	cancelledByUser = "Cancelled by user."
)

// Interruption is something that happens to a task from outside.
type Interruption int

const (
	// NoInterruption leaves the attempt alone.
	NoInterruption Interruption = iota
	// Preemption is maintenance: SIGTERM, ten seconds, SIGKILL.
	Preemption
	// MemoryLimit ends the attempt as one that used too much memory.
	MemoryLimit
	// PlatformFailure ends the attempt as one whose instance was lost.
	PlatformFailure

	imageGone Interruption = -1
)

// outcome is how an attempt ended, in the words of the API.
type outcome struct {
	result    *runpb.TaskAttemptResult
	succeeded bool
	cancelled bool
	own       bool // the task's own doing, not that of whoever stopped it
}

func failed(code codes.Code, message string, exitCode, signal int) outcome {
	return outcome{own: true, result: &runpb.TaskAttemptResult{
		Status:     &statuspb.Status{Code: int32(code), Message: message},
		ExitCode:   int32(exitCode),
		TermSignal: int32(signal),
	}}
}

func cancelledOutcome() outcome {
	o := failed(codes.Canceled, cancelledByUser, 0, 0)
	o.own, o.cancelled = false, true
	return o
}

// outcomeOf translates the end of a process.
func (s *Service) outcomeOf(a *attempt, r runner.Result) outcome {
	switch a.interruption {
	case MemoryLimit:
		if s.o.Behaviour.MemoryResult == MemoryAborted {
			return failed(codes.Aborted, memoryReached, 0, 0)
		}
		return failed(codes.ResourceExhausted, memoryReached, 0, 9)
	case PlatformFailure:
		return failed(codes.Internal, internalError, 0, 0)
	case imageGone:
		return failed(codes.NotFound, r.Message, 0, 0)
	}
	switch r.Reason {
	case runner.TimedOut:
		return failed(codes.DeadlineExceeded, timeoutReached, 0, 0)
	case runner.Cancelled:
		return cancelledOutcome()
	case runner.NotStarted:
		switch s.o.Behaviour.StartFailure {
		case StartFailureInternal:
			return failed(codes.Internal, internalError, 0, 0)
		case StartFailurePrecondition:
			return failed(codes.FailedPrecondition, r.Message, 0, 0)
		default:
			return failed(codes.Aborted, r.Message, 0, 0)
		}
	}
	if r.ExitCode == 0 && r.Signal == 0 {
		return outcome{succeeded: true, own: true, result: &runpb.TaskAttemptResult{Status: &statuspb.Status{}}}
	}
	if r.Reason == runner.Preempted {
		switch s.o.Behaviour.PreemptionResult {
		case PreemptionAsSignal:
			return failed(codes.Aborted, exitedWithError, 0, 15)
		case PreemptionAsInternal:
			return failed(codes.Internal, internalError, 0, 0)
		}
	}
	if r.Signal != 0 && s.o.Behaviour.SignalResult == SignalExitCode && r.Reason != runner.Preempted {
		return failed(codes.Aborted, exitedWithError, 128+r.Signal, 0)
	}
	return failed(codes.Aborted, exitedWithError, r.ExitCode, r.Signal)
}
