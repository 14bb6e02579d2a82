// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const gpuExecution = `{"name": "projects/123/locations/us-central1/jobs/train/executions/train-bx4kz", "uid": "u", "taskCount": 2,
 "createTime": "2025-09-03T19:42:04.485880Z", ` + begin + `, ` + end + `, "logUri": "https://console.cloud.google.com/x",
 "failedCount": 1, "succeededCount": 1, "retriedCount": 2,
 "template": {"maxRetries": 3, "timeout": "43200s", "nodeSelector": {"accelerator": "nvidia-l4"}},
 "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "NON_ZERO_EXIT_CODE", "message": "Task failed."}, ` + started + `]}`

func TestFlatten(t *testing.T) {
	t.Parallel()
	e := fromJSON(t, &runpb.Execution{}, gpuExecution)
	task := fromJSON(t, &runpb.Task{}, `{"index": 1, "retried": 3, "maxRetries": 3, "lastAttemptResult": {"exitCode": 137, "status": {"code": 10, "message": "The container exited with an error."}}}`)
	prior := Model{Job: types.StringValue("train"), WaitFor: types.StringValue(waitStarted), Env: types.MapNull(types.StringType)}
	m := flatten(testName("train-bx4kz"), e, []*runpb.Task{task}, prior)

	for what, c := range map[string]struct{ got, want attr.Value }{
		// The name that was asked for, not the one with the project's number.
		"id":                   {m.ID, types.StringValue("projects/p/locations/l/jobs/train/executions/train-bx4kz")},
		"name":                 {m.Name, types.StringValue("train-bx4kz")},
		"uid":                  {m.UID, types.StringValue("u")},
		"state":                {m.State, types.StringValue("failed")},
		"reason":               {m.Reason, types.StringValue("NON_ZERO_EXIT_CODE")},
		"message":              {m.Message, types.StringValue("Task failed.")},
		"effective_task_count": {m.EffectiveTaskCount, types.Int64Value(2)},
		"running_count":        {m.RunningCount, types.Int64Value(0)},
		"succeeded_count":      {m.SucceededCount, types.Int64Value(1)},
		"failed_count":         {m.FailedCount, types.Int64Value(1)},
		"cancelled_count":      {m.CancelledCount, types.Int64Value(0)},
		"retried_count":        {m.RetriedCount, types.Int64Value(2)},
		"create_time":          {m.CreateTime, types.StringValue("2025-09-03T19:42:04.48588Z")},
		"start_time":           {m.StartTime, types.StringValue("2025-09-03T19:42:04Z")},
		"completion_time":      {m.CompletionTime, types.StringValue("2025-09-03T19:52:04Z")},
		"log_uri":              {m.LogURI, types.StringValue("https://console.cloud.google.com/x")},
		"exposure": {m.Exposure, types.ObjectValueMust(exposureTypes, map[string]attr.Value{
			"attempts": types.Int64Value(8), "gpu_hours": types.Float64Value(96), "task_hours": types.Float64Value(96),
		})},
		"failed_tasks": {m.FailedTasks, types.ListValueMust(failedTaskType, []attr.Value{types.ObjectValueMust(failedTaskType.AttrTypes, map[string]attr.Value{
			"index": types.Int64Value(1), "attempts": types.Int64Value(4), "exit_code": types.Int64Value(137), "signal": types.Int64Null(),
			"message": types.StringValue("The container exited with an error."), "meaning": types.StringValue(killed),
		})})},
		"job, as configured":      {m.Job, prior.Job},
		"wait_for, as configured": {m.WaitFor, prior.WaitFor},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s is %s, want %s", what, c.got, c.want)
		}
	}
}

// case 124: every computed attribute has a value after create, also from the
// first answer to a run, which says least.
func TestFlattenLeavesNothingUnknown(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"answer to run": `{"reconciling": true, "taskCount": 1, "template": {}, "conditions": [{"type": "Completed", "state": "CONDITION_PENDING"}]}`,
		"empty":         `{}`,
		"no tasks":      `{"template": {"timeout": "600s"}}`,
	} {
		prior := Model{
			ID: types.StringUnknown(), Name: types.StringUnknown(), UID: types.StringUnknown(), State: types.StringUnknown(), Reason: types.StringUnknown(),
			Message: types.StringUnknown(), EffectiveTaskCount: types.Int64Unknown(), RunningCount: types.Int64Unknown(), SucceededCount: types.Int64Unknown(),
			FailedCount: types.Int64Unknown(), CancelledCount: types.Int64Unknown(), RetriedCount: types.Int64Unknown(), CreateTime: types.StringUnknown(),
			StartTime: types.StringUnknown(), CompletionTime: types.StringUnknown(), LogURI: types.StringUnknown(),
			FailedTasks: types.ListUnknown(failedTaskType), Exposure: types.ObjectUnknown(exposureTypes),
		}
		m := flatten(testName("train-a"), fromJSON(t, &runpb.Execution{}, text), nil, prior)
		for attribute, v := range map[string]attr.Value{
			"id": m.ID, "name": m.Name, "uid": m.UID, "state": m.State, "reason": m.Reason, "message": m.Message,
			"effective_task_count": m.EffectiveTaskCount, "running_count": m.RunningCount, "succeeded_count": m.SucceededCount,
			"failed_count": m.FailedCount, "cancelled_count": m.CancelledCount, "retried_count": m.RetriedCount, "create_time": m.CreateTime,
			"start_time": m.StartTime, "completion_time": m.CompletionTime, "log_uri": m.LogURI, "failed_tasks": m.FailedTasks, "exposure": m.Exposure,
		} {
			if v.IsUnknown() {
				t.Errorf("%s: %s is unknown", name, attribute)
			}
		}
		if m.State.ValueString() != "pending" || m.FailedTasks.IsNull() {
			t.Errorf("%s: state %s, failed tasks %s", name, m.State, m.FailedTasks)
		}
	}
}

// case 44: what a user reads after a failed run: task, attempts, exit code or
// signal, meaning, log link, and what the taint is for.
func TestEndedWithoutSuccess(t *testing.T) {
	t.Parallel()
	name := testName("train-bx4kz")
	var tasks []*runpb.Task
	for range 7 {
		tasks = append(tasks, fromJSON(t, &runpb.Task{}, `{"index": 1, "retried": 3, "maxRetries": 3, "lastAttemptResult": {"exitCode": 143, "status": {"code": 10, "message": "The container exited with an error."}}}`))
	}
	for what, c := range map[string]struct {
		execution string
		tasks     []*runpb.Task
		tasksErr  error
		want      []string
		not       []string
	}{
		"failed": {gpuExecution, tasks[:1], nil, []string{
			"Execution train-bx4kz of job train failed: of 2 tasks 1 failed, 1 succeeded; 2 had been retried.",
			"Task 1 failed after 4 attempts, exit code 143: the program was interrupted (SIGTERM) and asked for a retry with exit code 143. Cloud Run says: \"The container exited with an error.\"",
			"Cloud Run says: Task failed. (NON_ZERO_EXIT_CODE)",
			"Logs: https://console.cloud.google.com/x",
			"the next apply runs the job again", "terraform untaint",
		}, []string{"left", "never ran"}},
		"many failed": {gpuExecution, tasks, nil, []string{"… and more: 1 task failed."}, nil},
		"tasks could not be read": {gpuExecution, nil, errForbidden, []string{
			"The tasks could not be read: read execution: Permission 'run.executions.get' denied",
		}, nil},
		"cancelled": {`{"taskCount": 1, "cancelledCount": 1, "conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "CANCELLED", "message": "Cancelled by user."}]}`, nil, nil, []string{
			"was cancelled: of 1 task 1 cancelled.", "Cloud Run says: Cancelled by user. (CANCELLED)",
		}, []string{"Logs:"}},
		// case 110: told apart from a failure of the program.
		"mount failed": {`{"taskCount": 1, "failedCount": 1, "conditions": [` + notStarted + `, {"type": "Completed", "state": "CONDITION_FAILED", "message": "Mounting volume ckpt failed."}]}`, nil, nil, []string{
			"The program never ran: the container did not start: a volume could not be mounted",
		}, []string{"the program ended"}},
		"no task began": {`{"taskCount": 3, ` + end + `}`, nil, nil, []string{"failed: of 3 tasks none began.", "The program never ran: the container did not start."}, []string{"Cloud Run says"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, text := endedWithoutSuccess(name, fromJSON(t, &runpb.Execution{}, c.execution), c.tasks, c.tasksErr)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("does not say %q:\n%s", want, text)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("says %q:\n%s", not, text)
				}
			}
		})
	}
}
