// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"path"
	"strings"
	"testing"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// Every way in which an execution of one task ends (the tables of executions and
// of attempts).
func TestEnds(t *testing.T) {
	t.Parallel()
	type end struct {
		completed *runpb.Condition
		result    *runpb.TaskAttemptResult
		task      *runpb.Condition
		code      codes.Code // of the operation
		audit     codes.Code
		ref       runpb.ExecutionReference_CompletionStatus
	}
	status := func(code codes.Code, message string) *runpb.TaskAttemptResult {
		return result(code, message, 0, 0)
	}
	const nonZero = runpb.Condition_NON_ZERO_EXIT_CODE
	const failedRef = runpb.ExecutionReference_EXECUTION_FAILED
	msg := func(code, text string) string {
		return "Task EXECUTION-task0 failed with exit code: " + code + " and message: " + text
	}
	exitText, timeoutText := "The container exited with an error.", "The configured timeout was reached."
	memoryText, internalText := "The configured memory limit was reached.", "Internal error."
	for name, tt := range map[string]struct {
		behaviour run.Behaviour
		do        func(w *world, name string, a *runner.ScriptedAttempt)
		want      end
	}{
		"exit 0": {
			do: func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Exit(0) },
			want: end{
				completed: cond("Completed", succeeded, 0, "Execution completed successfully in 0s."),
				result:    status(codes.OK, ""), task: cond("Completed", succeeded, 0, ""),
				ref: runpb.ExecutionReference_EXECUTION_SUCCEEDED,
			},
		},
		"exit 0, old form": {
			behaviour: run.Behaviour{MessageForm: run.Messages2024},
			do:        func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Exit(0) },
			want: end{
				completed: cond("Completed", succeeded, 0, ""),
				result:    status(codes.OK, ""), task: cond("Completed", succeeded, 0, ""),
				ref: runpb.ExecutionReference_EXECUTION_SUCCEEDED,
			},
		},
		"exit 1 (case 44)": {
			do: func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Exit(1) },
			want: end{
				completed: cond("Completed", failed, 0, msg("1", exitText), nonZero),
				result:    result(codes.Aborted, exitText, 1, 0), task: cond("Completed", failed, 0, exitText, nonZero),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"exit 1, old form": {
			behaviour: run.Behaviour{MessageForm: run.Messages2024},
			do:        func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Exit(1) },
			want: end{
				completed: cond("Completed", failed, 0, "Task EXECUTION-task0 failed with message: "+exitText, nonZero),
				result:    result(codes.Aborted, exitText, 1, 0), task: cond("Completed", failed, 0, exitText, nonZero),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"timeout": {
			do: func(_ *world, _ string, a *runner.ScriptedAttempt) { a.TimeOut() },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", timeoutText)),
				result:    status(codes.DeadlineExceeded, timeoutText), task: cond("Completed", failed, 0, timeoutText),
				code: codes.DeadlineExceeded, audit: codes.DeadlineExceeded, ref: failedRef,
			},
		},
		"memory limit": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) {
				w.interrupt(name, run.MemoryLimit)
				a.Signal(9)
			},
			want: end{
				completed: cond("Completed", failed, 0, msg("0", memoryText)),
				result:    result(codes.ResourceExhausted, memoryText, 0, 9), task: cond("Completed", failed, 0, memoryText),
				code: codes.ResourceExhausted, audit: codes.ResourceExhausted, ref: failedRef,
			},
		},
		"memory limit, other form": {
			behaviour: run.Behaviour{MemoryResult: run.MemoryAborted},
			do: func(w *world, name string, a *runner.ScriptedAttempt) {
				w.interrupt(name, run.MemoryLimit)
				a.Signal(9)
			},
			want: end{
				completed: cond("Completed", failed, 0, msg("0", memoryText)),
				result:    status(codes.Aborted, memoryText), task: cond("Completed", failed, 0, memoryText),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"platform failure": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) {
				w.interrupt(name, run.PlatformFailure)
				a.Signal(9)
			},
			want: end{
				completed: cond("Completed", failed, 0, msg("0", internalText)),
				result:    status(codes.Internal, internalText), task: cond("Completed", failed, 0, internalText),
				code: codes.Internal, audit: codes.Internal, ref: failedRef,
			},
		},
		"killed by a signal": {
			do: func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Signal(11) },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", exitText)),
				result:    result(codes.Aborted, exitText, 0, 11), task: cond("Completed", failed, 0, exitText),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"killed by a signal, other form": {
			behaviour: run.Behaviour{SignalResult: run.SignalExitCode},
			do:        func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Signal(11) },
			want: end{
				completed: cond("Completed", failed, 0, msg("139", exitText), nonZero),
				result:    result(codes.Aborted, exitText, 139, 0), task: cond("Completed", failed, 0, exitText, nonZero),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"preempted, handled": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) { w.preempt(name, a); a.Exit(143) },
			want: end{
				completed: cond("Completed", failed, 0, msg("143", exitText), nonZero),
				result:    result(codes.Aborted, exitText, 143, 0), task: cond("Completed", failed, 0, exitText, nonZero),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"preempted, killed": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) { w.preempt(name, a); a.Signal(9) },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", exitText)),
				result:    result(codes.Aborted, exitText, 0, 9), task: cond("Completed", failed, 0, exitText),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"preempted, exit 0 all the same": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) { w.preempt(name, a); a.Exit(0) },
			want: end{
				completed: cond("Completed", succeeded, 0, "Execution completed successfully in 0s."),
				result:    status(codes.OK, ""), task: cond("Completed", succeeded, 0, ""),
				ref: runpb.ExecutionReference_EXECUTION_SUCCEEDED,
			},
		},
		"preempted, as a signal": {
			behaviour: run.Behaviour{PreemptionResult: run.PreemptionAsSignal},
			do:        func(w *world, name string, a *runner.ScriptedAttempt) { w.preempt(name, a); a.Exit(143) },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", exitText)),
				result:    result(codes.Aborted, exitText, 0, 15), task: cond("Completed", failed, 0, exitText),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"preempted, as a platform failure": {
			behaviour: run.Behaviour{PreemptionResult: run.PreemptionAsInternal},
			do:        func(w *world, name string, a *runner.ScriptedAttempt) { w.preempt(name, a); a.Exit(143) },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", internalText)),
				result:    status(codes.Internal, internalText), task: cond("Completed", failed, 0, internalText),
				code: codes.Internal, audit: codes.Internal, ref: failedRef,
			},
		},
		"cannot start": {
			do: func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Fail("no such program") },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", "no such program")),
				result:    status(codes.Aborted, "no such program"), task: cond("Completed", failed, 0, "no such program"),
				code: codes.Aborted, audit: codes.Aborted, ref: failedRef,
			},
		},
		"cannot start, internal": {
			behaviour: run.Behaviour{StartFailure: run.StartFailureInternal},
			do:        func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Fail("no such program") },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", internalText)),
				result:    status(codes.Internal, internalText), task: cond("Completed", failed, 0, internalText),
				code: codes.Internal, audit: codes.Internal, ref: failedRef,
			},
		},
		"cannot start, precondition": {
			behaviour: run.Behaviour{StartFailure: run.StartFailurePrecondition},
			do:        func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Fail("no such program") },
			want: end{
				completed: cond("Completed", failed, 0, msg("0", "no such program")),
				result:    status(codes.FailedPrecondition, "no such program"), task: cond("Completed", failed, 0, "no such program"),
				code: codes.FailedPrecondition, audit: codes.FailedPrecondition, ref: failedRef,
			},
		},
		"cancelled": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) { w.cancel(name, a); a.Exit(143) },
			want: end{
				completed: cond("Completed", failed, 0, "Cancelled by user.", runpb.Condition_CANCELLED),
				result:    status(codes.Canceled, "Cancelled by user."),
				task:      cond("Completed", failed, 0, "Cancelled by user.", runpb.Condition_CANCELLED),
				audit:     codes.Unknown, ref: runpb.ExecutionReference_EXECUTION_CANCELLED,
			},
		},
		"cancelled, exit 0 all the same": {
			do: func(w *world, name string, a *runner.ScriptedAttempt) { w.cancel(name, a); a.Exit(0) },
			want: end{
				completed: cond("Completed", failed, 0, "Cancelled by user.", runpb.Condition_CANCELLED),
				result:    status(codes.Canceled, "Cancelled by user."),
				task:      cond("Completed", failed, 0, "Cancelled by user.", runpb.Condition_CANCELLED),
				audit:     codes.Unknown, ref: runpb.ExecutionReference_EXECUTION_CANCELLED,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(tt.behaviour))
			w.create(retries(0))
			full, op := w.run()
			tt.do(w, full, w.attempt(full, "0"))
			e := w.finished(full)
			tt.want.completed.Message = strings.ReplaceAll(tt.want.completed.GetMessage(), "EXECUTION", path.Base(full))
			sameConditions(t, []*runpb.Condition{tt.want.completed}, []*runpb.Condition{condition(e.GetConditions(), "Completed")})
			if e.GetReconciling() || e.GetRunningCount() != 0 || e.GetCompletionTime() == nil {
				t.Errorf("not ended: %v", e)
			}
			ok, bad, gone := e.GetSucceededCount(), e.GetFailedCount(), e.GetCancelledCount()
			switch tt.want.ref {
			case runpb.ExecutionReference_EXECUTION_SUCCEEDED:
				ok--
			case runpb.ExecutionReference_EXECUTION_FAILED:
				bad--
			default:
				gone--
			}
			if ok != 0 || bad != 0 || gone != 0 || e.GetRetriedCount() != 0 {
				t.Errorf("counts: %v", e)
			}
			got := w.task(full, "0")
			if diff := cmp.Diff(tt.want.result, got.GetLastAttemptResult(), protocmp.Transform()); diff != "" {
				t.Errorf("lastAttemptResult: %s", diff)
			}
			sameConditions(t, []*runpb.Condition{tt.want.task}, []*runpb.Condition{condition(got.GetConditions(), "Completed")})
			if got.GetCompletionTime() == nil || got.GetReconciling() || got.GetStartTime() == nil {
				t.Errorf("task: %v", got)
			}
			w.wantEnd(op, tt.want.code, condition(e.GetConditions(), "Completed").GetMessage())
			if ref := w.Job(jobFull).GetLatestCreatedExecution(); ref.GetCompletionStatus() != tt.want.ref {
				t.Errorf("the job says %v", ref)
			}
			if code := w.auditCode(full); code != tt.want.audit {
				t.Errorf("audit event has code %v, want %v", code, tt.want.audit)
			}
		})
	}
}

// wantEnd checks the end of a run operation: the execution, or an error with the
// message of its Completed condition.
func (w *world) wantEnd(op *longrunningpb.Operation, code codes.Code, message string) {
	w.t.Helper()
	got := w.done(op)
	if code == codes.OK {
		if got.GetError() != nil || got.GetResponse() == nil {
			w.t.Errorf("operation: %v", got)
		}
		return
	}
	if codes.Code(got.GetError().GetCode()) != code || got.GetError().GetMessage() != message {
		w.t.Errorf("operation ended with %v, want %v %q", got.GetError(), code, message)
	}
}

func (w *world) interrupt(name string, how run.Interruption) {
	w.t.Helper()
	if err := w.Interrupt(name, 0, how); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) preempt(name string, a *runner.ScriptedAttempt) {
	w.t.Helper()
	if err := w.Preempt(path.Base(name), 0); err != nil {
		w.t.Fatal(err)
	}
	w.stopping(a)
}

func (w *world) cancel(name string, a *runner.ScriptedAttempt) *longrunningpb.Operation {
	w.t.Helper()
	op, err := w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	w.stopping(a)
	return op
}

// stopping waits for the SIGTERM of an attempt.
func (w *world) stopping(a *runner.ScriptedAttempt) {
	w.t.Helper()
	if a == nil {
		return
	}
	select {
	case <-a.Stopping():
	case <-w.ctx.Done():
		w.t.Fatal("the attempt is not asked to stop")
	}
}

func result(code codes.Code, message string, exit, signal int32) *runpb.TaskAttemptResult {
	return attemptResult(int32(code), message, exit, signal)
}
