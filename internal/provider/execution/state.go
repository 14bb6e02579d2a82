// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// State is what an execution or a task is doing.
type State string

// The five states of executions and tasks.
const (
	Pending   State = "pending"
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Finished reports whether the state can no longer change.
func (s State) Finished() bool { return s == Succeeded || s == Failed || s == Cancelled }

// The condition types that the API shows on executions and tasks. Their order
// in the list means nothing.
const (
	conditionCompleted          = "Completed"
	conditionStarted            = "Started"
	conditionResourcesAvailable = "ResourcesAvailable"
	conditionContainerReady     = "ContainerReady"
)

// StateOf derives the state of an execution from its conditions, counts and
// times. An execution has no field for it. The Completed condition decides when
// it is final; where it is missing or has a value that this version does not
// know, times and counts decide.
func StateOf(e *runpb.Execution) State {
	completed := condition(e.GetConditions(), conditionCompleted)
	switch completed.GetState() {
	case runpb.Condition_CONDITION_SUCCEEDED:
		return Succeeded
	case runpb.Condition_CONDITION_FAILED:
		if cancelledBy(completed) || (reasonName(completed) == "" && e.GetCancelledCount() > 0 && e.GetFailedCount() == 0) {
			return Cancelled
		}
		return Failed
	}
	if happened(e.GetCompletionTime()) {
		switch {
		case e.GetFailedCount() > 0:
			return Failed
		case e.GetCancelledCount() > 0 || cancelledBy(completed):
			return Cancelled
		case e.GetSucceededCount() > 0 && e.GetSucceededCount() >= e.GetTaskCount():
			return Succeeded
		}
		return Failed
	}
	if e.GetRunningCount()+e.GetSucceededCount()+e.GetFailedCount()+e.GetCancelledCount()+e.GetRetriedCount() > 0 {
		return Running
	}
	// startTime is set when tasks are scheduled, which lies before the
	// transition of Started: the condition is the better witness.
	if started := condition(e.GetConditions(), conditionStarted); started != nil {
		if started.GetState() == runpb.Condition_CONDITION_SUCCEEDED {
			return Running
		}
		return Pending
	}
	if happened(e.GetStartTime()) {
		return Running
	}
	return Pending
}

// taskState is StateOf for one task.
func taskState(t *runpb.Task) State {
	completed := condition(t.GetConditions(), conditionCompleted)
	code := codes.Code(t.GetLastAttemptResult().GetStatus().GetCode())
	switch completed.GetState() {
	case runpb.Condition_CONDITION_SUCCEEDED:
		return Succeeded
	case runpb.Condition_CONDITION_FAILED:
		if cancelledBy(completed) || code == codes.Canceled {
			return Cancelled
		}
		return Failed
	}
	if happened(t.GetCompletionTime()) {
		switch {
		case code == codes.Canceled:
			return Cancelled
		case t.GetLastAttemptResult() != nil && endedWell(t.GetLastAttemptResult()):
			return Succeeded
		}
		return Failed
	}
	if happened(t.GetStartTime()) || t.GetRetried() > 0 ||
		condition(t.GetConditions(), conditionStarted).GetState() == runpb.Condition_CONDITION_SUCCEEDED {
		return Running
	}
	return Pending
}

// cancelling reports whether an unfinished execution has been told to end.
func cancelling(e *runpb.Execution) bool {
	completed := condition(e.GetConditions(), conditionCompleted)
	return !StateOf(e).Finished() && completed.GetExecutionReason() == runpb.Condition_CANCELLING
}

// neverStarted reports whether an execution ended before its program ran: the
// image could not be pulled, or a volume could not be mounted.
func neverStarted(e *runpb.Execution) bool {
	if StateOf(e) != Failed || e.GetSucceededCount() > 0 {
		return false
	}
	if started := condition(e.GetConditions(), conditionStarted); started != nil {
		return started.GetState() != runpb.Condition_CONDITION_SUCCEEDED
	}
	return !happened(e.GetStartTime())
}

// reasonAndMessage return Google's reason, or an empty text where there is
// none, and Google's words for the execution as a whole. Reasons that this
// version does not know pass through.
func reasonAndMessage(e *runpb.Execution) (reason, message string) {
	completed := condition(e.GetConditions(), conditionCompleted)
	reason, message = reasonName(completed), completed.GetMessage()
	if completed.GetState() == runpb.Condition_CONDITION_SUCCEEDED || (reason != "" && message != "") {
		return reason, message
	}
	// What keeps an execution from starting stands on another condition.
	for _, kind := range []string{conditionResourcesAvailable, conditionContainerReady, conditionStarted} {
		c := condition(e.GetConditions(), kind)
		if c.GetState() != runpb.Condition_CONDITION_FAILED {
			continue
		}
		if reason == "" {
			reason = reasonName(c)
		}
		if message == "" || completed.GetState() != runpb.Condition_CONDITION_FAILED {
			message = c.GetMessage()
		}
		break
	}
	return reason, message
}

// condition returns the condition of a type, nil when there is none. The
// getters of a nil condition return zero values.
func condition(all []*runpb.Condition, kind string) *runpb.Condition {
	i := slices.IndexFunc(all, func(c *runpb.Condition) bool { return c.GetType() == kind })
	if i < 0 {
		return nil
	}
	return all[i]
}

// cancelledBy reports whether a condition says that somebody cancelled or
// deleted the execution.
func cancelledBy(c *runpb.Condition) bool {
	switch c.GetExecutionReason() {
	case runpb.Condition_CANCELLED, runpb.Condition_CANCELLING, runpb.Condition_DELETED:
		return true
	}
	return reasonName(c) == "" && strings.HasPrefix(c.GetMessage(), "Cancelled by user")
}

// reasonName returns the one reason that a condition may have. A value without
// a name in this version comes out as its number.
func reasonName(c *runpb.Condition) string {
	var reason interface {
		protoreflect.Enum
		fmt.Stringer
	}
	switch r := c.GetReasons().(type) {
	case *runpb.Condition_ExecutionReason_:
		reason = r.ExecutionReason
	case *runpb.Condition_Reason:
		reason = r.Reason
	case *runpb.Condition_RevisionReason_:
		reason = r.RevisionReason
	case *runpb.Condition_InstanceReason_:
		reason = r.InstanceReason
	}
	if reason == nil || reason.Number() == 0 {
		return ""
	}
	return reason.String()
}

// happened reports whether a time is set. Where a thing has not happened, traces
// show no time, and in one place 1970.
func happened(t *timestamppb.Timestamp) bool { return t.GetSeconds() > 0 }

// endedWell reports whether an attempt ended with success: status OK, and
// neither an exit code nor a signal. JSON leaves the zeros out.
func endedWell(r *runpb.TaskAttemptResult) bool {
	return codes.Code(r.GetStatus().GetCode()) == codes.OK && r.GetExitCode() == 0 && r.GetTermSignal() == 0
}
