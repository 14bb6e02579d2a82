// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Model is the resource's configuration, plan and state.
type Model struct {
	ID types.String `tfsdk:"id"`

	Job         types.String   `tfsdk:"job"`
	Args        types.List     `tfsdk:"args"`
	Env         types.Map      `tfsdk:"env"`
	TaskCount   value.Whole    `tfsdk:"task_count"`
	TaskTimeout value.Duration `tfsdk:"task_timeout"`
	Triggers    types.Map      `tfsdk:"triggers"`

	WaitFor         types.String   `tfsdk:"wait_for"`
	AllowConcurrent types.Bool     `tfsdk:"allow_concurrent"`
	CancelOnDestroy types.Bool     `tfsdk:"cancel_on_destroy"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`

	Name               types.String `tfsdk:"name"`
	UID                types.String `tfsdk:"uid"`
	State              types.String `tfsdk:"state"`
	Reason             types.String `tfsdk:"reason"`
	Message            types.String `tfsdk:"message"`
	EffectiveTaskCount types.Int64  `tfsdk:"effective_task_count"`
	RunningCount       types.Int64  `tfsdk:"running_count"`
	SucceededCount     types.Int64  `tfsdk:"succeeded_count"`
	FailedCount        types.Int64  `tfsdk:"failed_count"`
	CancelledCount     types.Int64  `tfsdk:"cancelled_count"`
	RetriedCount       types.Int64  `tfsdk:"retried_count"`
	CreateTime         types.String `tfsdk:"create_time"`
	StartTime          types.String `tfsdk:"start_time"`
	CompletionTime     types.String `tfsdk:"completion_time"`
	LogURI             types.String `tfsdk:"log_uri"`
	FailedTasks        types.List   `tfsdk:"failed_tasks"`
	Exposure           types.Object `tfsdk:"exposure"`
}

// finished reports whether the state says that the execution has ended. What
// has ended does not change any more.
func (m Model) finished() bool { return State(m.State.ValueString()).Finished() }

// Identity is the resource's identity.
type Identity struct {
	Project  types.String `tfsdk:"project"`
	Location types.String `tfsdk:"location"`
	Job      types.String `tfsdk:"job"`
	Name     types.String `tfsdk:"name"`
}

func identityOf(e resourcename.Execution) Identity {
	return Identity{
		Project:  types.StringValue(e.Job.Project),
		Location: types.StringValue(e.Job.Location),
		Job:      types.StringValue(e.Job.Name),
		Name:     types.StringValue(e.Name),
	}
}

var failedTaskType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"index":     types.Int64Type,
	"attempts":  types.Int64Type,
	"exit_code": types.Int64Type,
	"signal":    types.Int64Type,
	"message":   types.StringType,
	"meaning":   types.StringType,
}}

var exposureTypes = map[string]attr.Type{
	"attempts":   types.Int64Type,
	"gpu_hours":  types.Float64Type,
	"task_hours": types.Float64Type,
}
