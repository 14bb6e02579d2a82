// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// DataModel is the data source's configuration and state.
type DataModel struct {
	Job                 types.String          `tfsdk:"job"`
	ID                  types.String          `tfsdk:"id"`
	UID                 types.String          `tfsdk:"uid"`
	Name                types.String          `tfsdk:"name"`
	Project             types.String          `tfsdk:"project"`
	Location            types.String          `tfsdk:"location"`
	Image               types.String          `tfsdk:"image"`
	Command             types.List            `tfsdk:"command"`
	Args                types.List            `tfsdk:"args"`
	WorkingDir          types.String          `tfsdk:"working_dir"`
	Env                 types.Map             `tfsdk:"env"`
	SecretEnv           types.Map             `tfsdk:"secret_env"`
	GPUType             types.String          `tfsdk:"gpu_type"`
	GPUZonalRedundancy  types.Bool            `tfsdk:"gpu_zonal_redundancy"`
	CPU                 types.String          `tfsdk:"cpu"`
	Memory              types.String          `tfsdk:"memory"`
	TaskCount           types.Int64           `tfsdk:"task_count"`
	Parallelism         types.Int64           `tfsdk:"parallelism"`
	TaskTimeout         types.String          `tfsdk:"task_timeout"`
	MaxRetries          types.Int64           `tfsdk:"max_retries"`
	Checkpoint          *CheckpointDataModel  `tfsdk:"checkpoint"`
	Volumes             types.Map             `tfsdk:"volumes"`
	Network             types.Object          `tfsdk:"network"`
	EncryptionKey       types.String          `tfsdk:"encryption_key"`
	BinaryAuthorization types.Object          `tfsdk:"binary_authorization"`
	ServiceAccountEmail types.String          `tfsdk:"service_account_email"`
	Labels              types.Map             `tfsdk:"labels"`
	Annotations         types.Map             `tfsdk:"annotations"`
	LaunchStage         types.String          `tfsdk:"launch_stage"`
	ConsoleURL          types.String          `tfsdk:"console_url"`
	Exposure            types.Object          `tfsdk:"exposure"`
	CreateTime          types.String          `tfsdk:"create_time"`
	UpdateTime          types.String          `tfsdk:"update_time"`
	Ready               types.Bool            `tfsdk:"ready"`
	ReadyReason         types.String          `tfsdk:"ready_reason"`
	ReadyMessage        types.String          `tfsdk:"ready_message"`
	ExecutionCount      types.Int64           `tfsdk:"execution_count"`
	LatestExecution     *LatestExecutionModel `tfsdk:"latest_execution"`
	NotShown            types.List            `tfsdk:"not_shown"`
}

// CheckpointDataModel is the attribute checkpoint of the data source: what the
// API holds of it.
type CheckpointDataModel struct {
	Bucket       types.String `tfsdk:"bucket"`
	MountPath    types.String `tfsdk:"mount_path"`
	Prefix       types.String `tfsdk:"prefix"`
	MountOptions types.List   `tfsdk:"mount_options"`
	Volume       types.String `tfsdk:"volume"`
}

// LatestExecutionModel is the attribute latest_execution.
type LatestExecutionModel struct {
	Name           types.String `tfsdk:"name"`
	State          types.String `tfsdk:"state"`
	CreateTime     types.String `tfsdk:"create_time"`
	CompletionTime types.String `tfsdk:"completion_time"`
}

// flattenData shows a job as an import would, and beside it what only the API
// knows. It is pure. What the schema cannot hold is left out and named.
func flattenData(ctx context.Context, job resourcename.Job, live *runpb.Job, asked types.String, diags *diag.Diagnostics) DataModel {
	task := live.GetTemplate().GetTemplate()
	container := &runpb.Container{}
	if len(task.GetContainers()) > 0 {
		container = task.GetContainers()[0]
	}
	prior := blank(job)
	prior.Checkpoint = importedCheckpoint(ctx, task, container, diags).object(ctx, diags)
	m := flatten(ctx, live, &prior, diags)
	ready, reason, message := readiness(live)
	return DataModel{
		Job: asked, ID: m.ID, UID: text(live.GetUid()), Name: m.Name, Project: m.Project, Location: m.Location.StringValue,
		Image: text(container.GetImage()), Command: m.Command, Args: m.Args, WorkingDir: m.WorkingDir,
		Env: m.Env, SecretEnv: apartMap(m.SecretEnv),
		GPUType: m.GPUType, GPUZonalRedundancy: m.GPUZonalRedundancy, CPU: m.CPU.StringValue, Memory: m.Memory.StringValue,
		TaskCount: m.TaskCount.Int64Value, Parallelism: m.Parallelism.Int64Value, TaskTimeout: m.TaskTimeout.StringValue, MaxRetries: m.MaxRetries.Int64Value,
		Checkpoint: flattenCheckpointData(ctx, task, container, &m, diags),
		Volumes:    apartMap(m.Volumes),
		Network:    m.Network, EncryptionKey: m.EncryptionKey, BinaryAuthorization: m.BinaryAuthorization, ServiceAccountEmail: text(task.GetServiceAccount()),
		Labels: value.MapOf(live.GetLabels()), Annotations: value.MapOf(live.GetAnnotations()), LaunchStage: flattenLiveStage(live.GetLaunchStage()),
		ConsoleURL: m.ConsoleURL, Exposure: m.Exposure, CreateTime: moment(live.GetCreateTime()), UpdateTime: moment(live.GetUpdateTime()),
		Ready: ready, ReadyReason: reason, ReadyMessage: message,
		ExecutionCount: types.Int64Value(int64(live.GetExecutionCount())), LatestExecution: flattenLatest(live.GetLatestCreatedExecution()),
		NotShown: value.ListOf(notShown(live, container)),
	}
}

// ownOnly are attributes of nested objects that say what this resource does, and
// not what the job is.
var ownOnly = []string{"grant"}

// apart is the type of a value without what is ownOnly.
func apart(t attr.Type) attr.Type {
	switch t := t.(type) {
	case types.ObjectType:
		kept := map[string]attr.Type{}
		for name, a := range t.AttrTypes {
			if !slices.Contains(ownOnly, name) {
				kept[name] = apart(a)
			}
		}
		return types.ObjectType{AttrTypes: kept}
	case types.MapType:
		return types.MapType{ElemType: apart(t.ElemType)}
	}
	return t
}

func apartMap(m types.Map) types.Map {
	element := apart(m.ElementType(context.Background()))
	if m.IsNull() {
		return types.MapNull(element)
	}
	out := make(map[string]attr.Value, len(m.Elements()))
	for name, e := range m.Elements() {
		out[name] = apartOf(e)
	}
	return types.MapValueMust(element, out)
}

// apartOf is a value without what is ownOnly.
func apartOf(v attr.Value) attr.Value {
	switch v := v.(type) {
	case types.Object:
		t, ok := apart(v.Type(context.Background())).(types.ObjectType)
		switch {
		case !ok:
			return v
		case v.IsNull():
			return types.ObjectNull(t.AttrTypes)
		}
		kept := map[string]attr.Value{}
		for name, a := range v.Attributes() {
			if _, stays := t.AttrTypes[name]; stays {
				kept[name] = apartOf(a)
			}
		}
		return types.ObjectValueMust(t.AttrTypes, kept)
	case types.Map:
		return apartMap(v)
	}
	return v
}

func flattenCheckpointData(ctx context.Context, task *runpb.TaskTemplate, container *runpb.Container, m *Model, diags *diag.Diagnostics) *CheckpointDataModel {
	c := m.checkpoint(ctx, diags)
	if c == nil {
		return nil
	}
	return &CheckpointDataModel{
		Bucket: c.Bucket, MountPath: text(c.MountPath.ValueString()), Prefix: c.Prefix, MountOptions: c.MountOptions,
		Volume: text(findCheckpoint(ctx, task, container, m, diags).GetName()),
	}
}

func flattenLiveStage(s api.LaunchStage) types.String {
	if s == api.LaunchStage_LAUNCH_STAGE_UNSPECIFIED {
		return types.StringNull()
	}
	return types.StringValue(s.String())
}

// readiness says whether Cloud Run could set the job up, with its own reason and
// words. It is null where an answer says nothing of it.
func readiness(live *runpb.Job) (ready types.Bool, reason, message types.String) {
	t := live.GetTerminalCondition()
	reason, message = text(reasonOf(t)), text(t.GetMessage())
	switch {
	case live.GetReconciling():
		return types.BoolValue(false), reason, message
	case t.GetState() == runpb.Condition_STATE_UNSPECIFIED:
		return types.BoolNull(), reason, message
	}
	return types.BoolValue(t.GetState() == runpb.Condition_CONDITION_SUCCEEDED), reason, message
}

// flattenLatest is nil before the first run, of which some answers show an empty
// record.
func flattenLatest(e *runpb.ExecutionReference) *LatestExecutionModel {
	name := bareName(e.GetName())
	if name == "" {
		return nil
	}
	state := types.StringNull()
	if s := e.GetCompletionStatus(); s != runpb.ExecutionReference_COMPLETION_STATUS_UNSPECIFIED {
		state = types.StringValue(strings.ToLower(strings.TrimPrefix(s.String(), "EXECUTION_")))
	}
	return &LatestExecutionModel{Name: types.StringValue(name), State: state, CreateTime: moment(e.GetCreateTime()), CompletionTime: moment(e.GetCompletionTime())}
}

// moment is a time of the API's; null where there is none, which some answers
// write as the beginning of 1970.
func moment(t *timestamppb.Timestamp) types.String {
	if t.GetSeconds() <= 0 {
		return types.StringNull()
	}
	return types.StringValue(t.AsTime().UTC().Format(time.RFC3339Nano))
}

// notShown names what of a job the data source has no attributes for.
func notShown(live *runpb.Job, container *runpb.Container) []string {
	if live.GetTemplate() == nil {
		return nil
	}
	task := live.GetTemplate().GetTemplate()
	out := unshown(live)
	for _, c := range task.GetContainers() {
		if c != container {
			out = append(out, fmt.Sprintf("container %q", c.GetName()))
		}
	}
	for _, v := range task.GetVolumes() {
		if why := whyNotHeld(task, v); why != "" {
			out = append(out, fmt.Sprintf("volume %q, which %s", v.GetName(), why))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
