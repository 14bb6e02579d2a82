// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// flatten returns the prior model with everything that the execution says. What
// the user configured stays as it is. failed are the tasks to show. The name is
// the one that the provider asks for, not the answer's: the API may write a
// project's id where the configuration has its number, which is no other job.
func flatten(name resourcename.Execution, e *runpb.Execution, failed []*runpb.Task, prior Model) Model {
	m := prior
	m.ID = types.StringValue(name.String())
	m.Name = types.StringValue(name.Name)
	m.UID = text(e.GetUid())
	m.State = types.StringValue(string(StateOf(e)))
	reason, message := reasonAndMessage(e)
	m.Reason, m.Message = text(reason), text(message)
	m.EffectiveTaskCount = types.Int64Value(int64(e.GetTaskCount()))
	m.RunningCount = types.Int64Value(int64(e.GetRunningCount()))
	m.SucceededCount = types.Int64Value(int64(e.GetSucceededCount()))
	m.FailedCount = types.Int64Value(int64(e.GetFailedCount()))
	m.CancelledCount = types.Int64Value(int64(e.GetCancelledCount()))
	m.RetriedCount = types.Int64Value(int64(e.GetRetriedCount()))
	m.CreateTime = moment(e.GetCreateTime())
	m.StartTime = moment(e.GetStartTime())
	m.CompletionTime = moment(e.GetCompletionTime())
	m.LogURI = text(e.GetLogUri())
	m.FailedTasks = flattenFailed(failed)
	m.Exposure = flattenExposure(e)
	return m
}

func flattenFailed(failed []*runpb.Task) types.List {
	elements := make([]attr.Value, 0, len(failed))
	for _, t := range failed {
		outcome := Explain(t)
		used, _ := attempts(t)
		elements = append(elements, types.ObjectValueMust(failedTaskType.AttrTypes, map[string]attr.Value{
			"index":     types.Int64Value(int64(t.GetIndex())),
			"attempts":  types.Int64Value(int64(used)),
			"exit_code": number(outcome.ExitCode),
			"signal":    number(outcome.Signal),
			"message":   text(outcome.Message),
			"meaning":   text(outcome.Meaning),
		}))
	}
	return types.ListValueMust(failedTaskType, elements)
}

// flattenExposure reads the execution's own template, in which the overrides
// are merged. It is null for an execution without one.
func flattenExposure(e *runpb.Execution) types.Object {
	t := e.GetTemplate()
	exposure, err := resilience.Expose(gpuTypeOf(t), int64(e.GetTaskCount()), retriesOf(t), timeoutOfTemplate(t))
	if t == nil || err != nil {
		return types.ObjectNull(exposureTypes)
	}
	return types.ObjectValueMust(exposureTypes, map[string]attr.Value{
		"attempts":   types.Int64Value(exposure.Attempts),
		"gpu_hours":  types.Float64Value(exposure.GPUHours),
		"task_hours": types.Float64Value(exposure.TaskHours),
	})
}

// gpuTypeOf returns the accelerator of a template, or resilience.NoGPU.
func gpuTypeOf(t *runpb.TaskTemplate) string {
	if accelerator := t.GetNodeSelector().GetAccelerator(); accelerator != "" {
		return accelerator
	}
	return resilience.NoGPU
}

// text is null for an empty text: the API leaves empty fields out.
func text(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

func moment(t *timestamppb.Timestamp) types.String {
	if !happened(t) {
		return types.StringNull()
	}
	return types.StringValue(t.AsTime().UTC().Format(time.RFC3339Nano))
}

func number(n *int32) types.Int64 {
	if n == nil {
		return types.Int64Null()
	}
	return types.Int64Value(int64(*n))
}

func lastSegment(name string) string { return name[strings.LastIndex(name, "/")+1:] }
