// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Overview is what the data sources say of an execution without its tasks.
type Overview struct {
	ID              types.String  `tfsdk:"id"`
	Name            types.String  `tfsdk:"name"`
	UID             types.String  `tfsdk:"uid"`
	State           types.String  `tfsdk:"state"`
	Reason          types.String  `tfsdk:"reason"`
	Message         types.String  `tfsdk:"message"`
	TaskCount       types.Int64   `tfsdk:"task_count"`
	Parallelism     types.Int64   `tfsdk:"parallelism"`
	TaskTimeout     types.String  `tfsdk:"task_timeout"`
	MaxRetries      types.Int64   `tfsdk:"max_retries"`
	Exposure        types.Object  `tfsdk:"exposure"`
	RunningCount    types.Int64   `tfsdk:"running_count"`
	SucceededCount  types.Int64   `tfsdk:"succeeded_count"`
	FailedCount     types.Int64   `tfsdk:"failed_count"`
	CancelledCount  types.Int64   `tfsdk:"cancelled_count"`
	RetriedCount    types.Int64   `tfsdk:"retried_count"`
	CreateTime      types.String  `tfsdk:"create_time"`
	StartTime       types.String  `tfsdk:"start_time"`
	CompletionTime  types.String  `tfsdk:"completion_time"`
	DurationSeconds types.Float64 `tfsdk:"duration_seconds"`
	LogURI          types.String  `tfsdk:"log_uri"`
}

// overview reads an execution under the name that it was asked for by.
func overview(name resourcename.Execution, e *runpb.Execution) Overview {
	reason, message := reasonAndMessage(e)
	s := Overview{
		ID:              types.StringValue(name.String()),
		Name:            types.StringValue(name.Name),
		UID:             text(e.GetUid()),
		State:           types.StringValue(string(StateOf(e))),
		Reason:          text(reason),
		Message:         text(message),
		TaskCount:       types.Int64Value(int64(e.GetTaskCount())),
		Parallelism:     types.Int64Value(int64(e.GetParallelism())),
		Exposure:        flattenExposure(e),
		RunningCount:    types.Int64Value(int64(e.GetRunningCount())),
		SucceededCount:  types.Int64Value(int64(e.GetSucceededCount())),
		FailedCount:     types.Int64Value(int64(e.GetFailedCount())),
		CancelledCount:  types.Int64Value(int64(e.GetCancelledCount())),
		RetriedCount:    types.Int64Value(int64(e.GetRetriedCount())),
		CreateTime:      moment(e.GetCreateTime()),
		StartTime:       moment(e.GetStartTime()),
		CompletionTime:  moment(e.GetCompletionTime()),
		DurationSeconds: types.Float64Null(),
		LogURI:          text(e.GetLogUri()),
	}
	if t := e.GetTemplate(); t != nil {
		s.TaskTimeout = types.StringValue(value.FormatDuration(timeoutOfTemplate(t)))
		s.MaxRetries = types.Int64Value(retriesOf(t))
	}
	if happened(e.GetStartTime()) && happened(e.GetCompletionTime()) {
		s.DurationSeconds = types.Float64Value(e.GetCompletionTime().AsTime().Sub(e.GetStartTime().AsTime()).Seconds())
	}
	return s
}

func said(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func count(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

// overviewAttributes describes an Overview, every time anew: a data source changes
// some of them.
func overviewAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":           said("Full name of the execution, `projects/P/locations/L/jobs/J/executions/E`."),
		"name":         said("Name of the execution within the job, such as `train-x7k2p`."),
		"uid":          said("Unique id that Cloud Run gave the execution."),
		"state":        said("`pending`, `running`, `succeeded`, `failed` or `cancelled`. Derived from the execution's conditions, counts and times."),
		"reason":       said("Cloud Run's reason for the state, such as `NON_ZERO_EXIT_CODE`. There is none for a timeout, the memory limit, a preemption or a failure of the platform."),
		"message":      said("Cloud Run's own words on the execution."),
		"task_count":   count("Number of tasks."),
		"parallelism":  count("How many tasks may run at the same time."),
		"task_timeout": said("Timeout of one attempt of a task, such as `12h`."),
		"max_retries":  count("How often each task may be retried."),
		"exposure": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "The most that this execution can use.",
			Attributes: map[string]schema.Attribute{
				"attempts":   count("Attempts of all tasks: tasks × (retries + 1)."),
				"gpu_hours":  schema.Float64Attribute{Computed: true, MarkdownDescription: "Hours of GPU, when each attempt runs into its timeout."},
				"task_hours": schema.Float64Attribute{Computed: true, MarkdownDescription: "Hours of all attempts, when each runs into its timeout."},
			},
		},
		"running_count":    count("Number of tasks that run."),
		"succeeded_count":  count("Number of tasks that succeeded."),
		"failed_count":     count("Number of tasks that failed for good."),
		"cancelled_count":  count("Number of tasks that were cancelled."),
		"retried_count":    count("Number of tasks that were retried at least once."),
		"create_time":      said("When Cloud Run accepted the execution, RFC 3339."),
		"start_time":       said("When Cloud Run began to start tasks, RFC 3339; null before."),
		"completion_time":  said("When the execution ended, RFC 3339; null before."),
		"duration_seconds": schema.Float64Attribute{Computed: true, MarkdownDescription: "Seconds from `start_time` to `completion_time`; null before the end."},
		"log_uri":          said("Link to the logs of the execution."),
	}
}
