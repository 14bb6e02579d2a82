// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
)

// Condition types.
const (
	condCompleted = "Completed"
	condResources = "ResourcesAvailable"
	condStarted   = "Started"
	condContainer = "ContainerReady"
	condRetry     = "Retry"
)

// waiting is the message of Completed while an execution runs.
const waiting = "Waiting for execution to complete."

// conditions is a list of conditions in which each type stands once.
type conditions []*runpb.Condition

func (c conditions) find(kind string) *runpb.Condition {
	for _, one := range c {
		if one.GetType() == kind {
			return one
		}
	}
	return nil
}

// set replaces or adds a condition and returns it for its reason to be set.
func (c *conditions) set(kind string, state runpb.Condition_State, t time.Time, message string) *runpb.Condition {
	one := c.find(kind)
	if one == nil {
		one = &runpb.Condition{Type: kind}
		*c = append(*c, one)
	}
	one.State = state
	one.Message = message
	one.LastTransitionTime = timestamp(t)
	one.Reasons = nil
	return one
}

// setOn is set on a resource's own list.
func setOn(list *[]*runpb.Condition, kind string, state runpb.Condition_State, t time.Time, message string) *runpb.Condition {
	c := conditions(*list)
	one := c.set(kind, state, t, message)
	*list = c
	return one
}

func executionReason(r runpb.Condition_ExecutionReason) *runpb.Condition_ExecutionReason_ {
	return &runpb.Condition_ExecutionReason_{ExecutionReason: r}
}

// took writes a duration as conditions do: 34.86s, 2m29.63s, 1m3.6s; cut to
// hundredths, without trailing zeros.
func took(d time.Duration) string {
	d = max(d, 0).Truncate(10 * time.Millisecond)
	hours, d := d/time.Hour, d%time.Hour
	minutes, d := d/time.Minute, d%time.Minute
	var b strings.Builder
	if hours > 0 {
		fmt.Fprintf(&b, "%dh", hours)
	}
	if hours > 0 || minutes > 0 {
		fmt.Fprintf(&b, "%dm", minutes)
	}
	b.WriteString(strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s")
	return b.String()
}

// finished reports whether an execution has ended.
func finished(e *runpb.Execution) bool {
	c := conditions(e.GetConditions()).find(condCompleted)
	return c.GetState() == runpb.Condition_CONDITION_SUCCEEDED || c.GetState() == runpb.Condition_CONDITION_FAILED
}

// runningState is the state of Completed while an execution runs.
func (s *Service) runningState() runpb.Condition_State {
	if s.o.Behaviour.RunningCompleted == RunningPending {
		return runpb.Condition_CONDITION_PENDING
	}
	return runpb.Condition_CONDITION_RECONCILING
}

// taskFailure is the Completed message of an execution whose task failed.
func (s *Service) taskFailure(task string, r *runpb.TaskAttemptResult) string {
	if s.o.Behaviour.MessageForm == Messages2024 {
		return fmt.Sprintf("Task %s failed with message: %s", task, r.GetStatus().GetMessage())
	}
	return fmt.Sprintf("Task %s failed with exit code: %d and message: %s", task, r.GetExitCode(), r.GetStatus().GetMessage())
}

// successMessage is the Completed message of an execution that succeeded.
func (s *Service) successMessage(d time.Duration) string {
	if s.o.Behaviour.MessageForm == Messages2024 {
		return ""
	}
	return "Execution completed successfully in " + took(d) + "."
}
