// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// fromJSON reads what the API's JSON shows, as documented.
func fromJSON[M proto.Message](t *testing.T, m M, text string) M {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

const (
	started    = `{"type": "Started", "state": "CONDITION_SUCCEEDED", "message": "Started deployed execution in 56.03s."}`
	notStarted = `{"type": "Started", "state": "CONDITION_RECONCILING"}`
	ready      = `{"type": "ContainerReady", "state": "CONDITION_SUCCEEDED", "message": "Imported container image in 1m3.6s."}`
	resources  = `{"type": "ResourcesAvailable", "state": "CONDITION_SUCCEEDED", "message": "Provisioned imported containers."}`
	retry      = `{"type": "Retry", "state": "CONDITION_SUCCEEDED", "severity": "INFO", "reason": "IMMEDIATE_RETRY", "message": "System will retry after 0:00:00 from lastTransitionTime for attempt 0."}`
	begin      = `"startTime": "2025-09-03T19:42:04Z"`
	end        = `"completionTime": "2025-09-03T19:52:04Z"`
)

// One row for each phase of an execution that is known, in every spelling that
// was seen, and for what no version knows yet.
func TestStateOfExecution(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		execution       string
		state           State
		reason, message string
		neverStarted    bool
		cancelling      bool
	}{
		"answer to run": {
			execution: `{"reconciling": true, "taskCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_PENDING"}]}`,
			state:     Pending,
		},
		"nothing at all":         {execution: `{}`, state: Pending},
		"times of 1970 are none": {execution: `{"startTime": "1970-01-01T00:00:00Z", "completionTime": "1970-01-01T00:00:00Z"}`, state: Pending},
		"pending, resources being provided": {
			execution: `{"reconciling": true, "conditions": [` + notStarted + `,{"type": "ResourcesAvailable", "state": "CONDITION_RECONCILING"},{"type": "Completed", "state": "CONDITION_RECONCILING", "message": "Waiting for execution to complete."}]}`,
			state:     Pending, message: "Waiting for execution to complete.",
		},
		"tasks scheduled, none started: startTime lies before Started": {
			execution: `{"reconciling": true, ` + begin + `, "conditions": [` + notStarted + `,` + resources + `,{"type": "Completed", "state": "CONDITION_RECONCILING"}]}`,
			state:     Pending,
		},
		"pending, the image is being tried again": {
			execution: `{"reconciling": true, "conditions": [{"type": "ContainerReady", "state": "CONDITION_FAILED", "reason": "CONTAINER_MISSING", "message": "Image 'i' not found."},{"type": "Completed", "state": "CONDITION_RECONCILING", "message": "Waiting for execution to complete."}]}`,
			state:     Pending, reason: "CONTAINER_MISSING", message: "Image 'i' not found.",
		},
		"delayed start": {
			execution: `{"reconciling": true, "conditions": [{"type": "Completed", "state": "CONDITION_PENDING", "executionReason": "DELAYED_START_PENDING"}]}`,
			state:     Pending, reason: "DELAYED_START_PENDING",
		},
		"running, completed pending": {
			execution: `{"reconciling": true, "runningCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_PENDING", "message": "Waiting for execution to complete."}]}`,
			state:     Running, message: "Waiting for execution to complete.",
		},
		"running, completed reconciling": {
			execution: `{"reconciling": true, "runningCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_RECONCILING", "message": "Waiting for execution to complete."}]}`,
			state:     Running, message: "Waiting for execution to complete.",
		},
		"running, by the Started condition alone": {
			execution: `{"reconciling": true, "conditions": [{"type": "Completed", "state": "CONDITION_RECONCILING"},` + started + `]}`,
			state:     Running,
		},
		"running, by its start time alone": {execution: `{"reconciling": true, ` + begin + `}`, state: Running},
		"running, between two attempts": {
			execution: `{"reconciling": true, "retriedCount": 1, "conditions": [` + retry + `,{"type": "Completed", "state": "CONDITION_RECONCILING"}]}`,
			state:     Running,
		},
		"running, some tasks are done": {
			execution: `{"reconciling": true, "taskCount": 3, "succeededCount": 2, "conditions": [{"type": "Completed", "state": "CONDITION_RECONCILING"}]}`,
			state:     Running,
		},
		"succeeded": {
			execution: `{` + begin + `,` + end + `, "taskCount": 1, "succeededCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_SUCCEEDED", "message": "Execution completed successfully in 38.22s."},` + resources + `,` + started + `,` + ready + `]}`,
			state:     Succeeded, message: "Execution completed successfully in 38.22s.",
		},
		"succeeded, before messages": {
			execution: `{` + begin + `,` + end + `, "succeededCount": 1, "conditions": [` + ready + `,` + started + `,{"type": "Completed", "state": "CONDITION_SUCCEEDED"}]}`,
			state:     Succeeded,
		},
		"succeeded after a retry": {
			execution: `{` + end + `, "succeededCount": 1, "retriedCount": 1, "conditions": [` + retry + `,{"type": "Completed", "state": "CONDITION_SUCCEEDED"}]}`,
			state:     Succeeded,
		},
		"failed": {
			execution: `{` + begin + `,` + end + `, "failedCount": 1, "retriedCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "NON_ZERO_EXIT_CODE", "message": "Task J-bx4kz-task0 failed with exit code: 1 and message: The container exited with an error."},` + retry + `,` + started + `]}`,
			state:     Failed, reason: "NON_ZERO_EXIT_CODE", message: "Task J-bx4kz-task0 failed with exit code: 1 and message: The container exited with an error.",
		},
		"timed out: no reason": {
			execution: `{` + begin + `,` + end + `, "failedCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "message": "Task J-bx4kz-task0 failed with exit code: 0 and message: The configured timeout was reached."},` + started + `]}`,
			state:     Failed, message: "Task J-bx4kz-task0 failed with exit code: 0 and message: The configured timeout was reached.",
		},
		"out of memory: no reason": {
			execution: `{"failedCount": 1, "conditions": [` + started + `,{"type": "Completed", "state": "CONDITION_FAILED", "message": "Task J-bx4kz-task0 failed with exit code: 0 and message: The configured memory limit was reached."}]}`,
			state:     Failed, message: "Task J-bx4kz-task0 failed with exit code: 0 and message: The configured memory limit was reached.",
		},
		"platform failure: no reason": {
			execution: `{"failedCount": 1, "conditions": [` + started + `,{"type": "Completed", "state": "CONDITION_FAILED", "message": "Task J-bx4kz-task0 failed with exit code: 0 and message: Internal error."}]}`,
			state:     Failed, message: "Task J-bx4kz-task0 failed with exit code: 0 and message: Internal error.",
		},
		// case 110: a mount that fails keeps the container from starting.
		"mount failed": {
			execution: `{` + begin + `,` + end + `, "failedCount": 1, "conditions": [{"type": "Started", "state": "CONDITION_FAILED", "message": "Mounting volume ckpt failed."},{"type": "Completed", "state": "CONDITION_FAILED"}]}`,
			state:     Failed, message: "Mounting volume ckpt failed.", neverStarted: true,
		},
		"image missing at the run": {
			execution: `{` + end + `, "conditions": [{"type": "ContainerReady", "state": "CONDITION_FAILED", "reason": "CONTAINER_MISSING", "message": "Image 'i' not found."},{"type": "Completed", "state": "CONDITION_FAILED", "message": "The execution failed."}]}`,
			state:     Failed, reason: "CONTAINER_MISSING", message: "The execution failed.", neverStarted: true,
		},
		"cancelling": {
			execution: `{"reconciling": true, "runningCount": 1, "conditions": [` + started + `,{"type": "Completed", "state": "CONDITION_RECONCILING", "executionReason": "CANCELLING"}]}`,
			state:     Running, reason: "CANCELLING", cancelling: true,
		},
		"cancelling before the start": {
			execution: `{"reconciling": true, "conditions": [` + notStarted + `,{"type": "Completed", "state": "CONDITION_RECONCILING", "executionReason": "CANCELLING"}]}`,
			state:     Pending, reason: "CANCELLING", cancelling: true,
		},
		"cancelled": {
			execution: `{` + begin + `,` + end + `, "cancelledCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "CANCELLED", "message": "Cancelled by user."},` + started + `]}`,
			state:     Cancelled, reason: "CANCELLED", message: "Cancelled by user.",
		},
		"cancelled before the start: no completion time": {
			execution: `{"cancelledCount": 1, "conditions": [` + notStarted + `,{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "CANCELLED", "message": "Cancelled by user."}]}`,
			state:     Cancelled, reason: "CANCELLED", message: "Cancelled by user.",
		},
		"cancelled, without a reason": {
			execution: `{"conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "message": "Cancelled by user."}]}`,
			state:     Cancelled, message: "Cancelled by user.",
		},
		"cancelled, by the count alone": {
			execution: `{"cancelledCount": 2, "succeededCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED"}]}`,
			state:     Cancelled,
		},
		"failed and then cancelled: the failure counts": {
			execution: `{"cancelledCount": 2, "failedCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED"},` + started + `]}`,
			state:     Failed,
		},
		"deleted": {
			execution: `{"conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "DELETED"}]}`,
			state:     Cancelled, reason: "DELETED",
		},
		"no condition, ended, all tasks succeeded": {execution: `{` + end + `, "taskCount": 2, "succeededCount": 2}`, state: Succeeded},
		"no condition, ended, a task failed":       {execution: `{` + begin + `,` + end + `, "taskCount": 2, "succeededCount": 1, "failedCount": 1}`, state: Failed},
		"no condition, ended, tasks cancelled":     {execution: `{` + end + `, "taskCount": 2, "succeededCount": 1, "cancelledCount": 1}`, state: Cancelled},
		"no condition, ended, no task at all":      {execution: `{` + end + `, "taskCount": 2}`, state: Failed, neverStarted: true},
		"unknown state of Completed, running": {
			execution: `{"runningCount": 1, "conditions": [{"type": "Completed", "state": 77}]}`, state: Running,
		},
		"unknown state of Completed, ended well": {
			execution: `{` + end + `, "taskCount": 1, "succeededCount": 1, "conditions": [{"type": "Completed", "state": 77}]}`, state: Succeeded,
		},
		"unknown reasons pass through": {
			execution: `{` + begin + `, "failedCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": 99}]}`,
			state:     Failed, reason: "99",
		},
		"a reason of another kind": {
			execution: `{` + begin + `, "failedCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "reason": "INTERNAL"}]}`,
			state:     Failed, reason: "INTERNAL",
		},
		"a reason of a revision": {
			execution: `{` + begin + `, "failedCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "revisionReason": "HEALTH_CHECK_CONTAINER_ERROR"}]}`,
			state:     Failed, reason: "HEALTH_CHECK_CONTAINER_ERROR",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := fromJSON(t, &runpb.Execution{}, c.execution)
			if got := StateOf(e); got != c.state {
				t.Errorf("state %q, want %q", got, c.state)
			}
			if reason, message := reasonAndMessage(e); reason != c.reason || message != c.message {
				t.Errorf("reason %q, message %q; want %q, %q", reason, message, c.reason, c.message)
			}
			if got := neverStarted(e); got != c.neverStarted {
				t.Errorf("neverStarted %t", got)
			}
			if got := cancelling(e); got != c.cancelling {
				t.Errorf("cancelling %t", got)
			}
			// The order of conditions means nothing.
			for i := range e.GetConditions() {
				e.Conditions = append(e.Conditions[i:], e.Conditions[:i]...)
				if got := StateOf(e); got != c.state {
					t.Errorf("state %q after turning the conditions", got)
				}
			}
		})
	}
}

func TestFinishedStates(t *testing.T) {
	t.Parallel()
	for s, want := range map[State]bool{Pending: false, Running: false, Succeeded: true, Failed: true, Cancelled: true, "": false, "later": false} {
		if s.Finished() != want {
			t.Errorf("%q: Finished is %t", s, !want)
		}
	}
}

func TestStateOfTask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task       string
		state      State
		used, left int32
	}{
		"new":                   {`{"maxRetries": 3}`, Pending, 0, 4},
		"first attempt runs":    {`{"maxRetries": 3, ` + begin + `}`, Running, 1, 3},
		"running, by condition": {`{"maxRetries": 1, "conditions": [` + started + `]}`, Running, 1, 1},
		"second attempt runs": {
			`{"maxRetries": 3, "retried": 1, "lastAttemptResult": {"exitCode": 143, "status": {"code": 10}}}`, Running, 2, 2,
		},
		"succeeded":                    {`{"maxRetries": 3, "conditions": [{"type": "Completed", "state": "CONDITION_SUCCEEDED"}], "lastAttemptResult": {"status": {}}}`, Succeeded, 1, 3},
		"succeeded, by its result":     {`{` + end + `, "lastAttemptResult": {"status": {}}}`, Succeeded, 1, 0},
		"failed":                       {`{"maxRetries": 3, "retried": 3, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "NON_ZERO_EXIT_CODE"}], "lastAttemptResult": {"exitCode": 1, "status": {"code": 10}}}`, Failed, 4, 0},
		"failed, by its result":        {`{` + end + `, "lastAttemptResult": {"exitCode": 1, "status": {"code": 10}}}`, Failed, 1, 0},
		"failed without a result":      {`{` + end + `}`, Failed, 0, 1},
		"cancelled, by its reason":     {`{"conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "CANCELLED"}]}`, Cancelled, 0, 1},
		"cancelled, by its code":       {`{"maxRetries": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED"}], "lastAttemptResult": {"status": {"code": 1}}}`, Cancelled, 1, 1},
		"cancelled, by its result":     {`{` + end + `, "lastAttemptResult": {"status": {"code": 1, "message": "Cancelled by user."}}}`, Cancelled, 1, 0},
		"unknown condition state":      {`{` + begin + `, "conditions": [{"type": "Completed", "state": 42}]}`, Running, 1, 0},
		"more retries than the budget": {`{"retried": 5, "maxRetries": 3}`, Running, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := fromJSON(t, &runpb.Task{}, c.task)
			if got := taskState(task); got != c.state {
				t.Errorf("state %q, want %q", got, c.state)
			}
			if used, left := attempts(task); used != c.used || left != c.left {
				t.Errorf("attempts used %d, left %d; want %d, %d", used, left, c.used, c.left)
			}
		})
	}
}
