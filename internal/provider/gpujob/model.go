// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// Model is the resource as configuration, plan and state hold it.
type Model struct {
	ID                      types.String   `tfsdk:"id"`
	UID                     types.String   `tfsdk:"uid"`
	Name                    types.String   `tfsdk:"name"`
	Project                 types.String   `tfsdk:"project"`
	Location                value.Location `tfsdk:"location"`
	Image                   types.String   `tfsdk:"image"`
	Command                 types.List     `tfsdk:"command"`
	Args                    types.List     `tfsdk:"args"`
	WorkingDir              types.String   `tfsdk:"working_dir"`
	Env                     types.Map      `tfsdk:"env"`
	SecretEnv               types.Map      `tfsdk:"secret_env"`
	GPUType                 types.String   `tfsdk:"gpu_type"`
	GPUZonalRedundancy      types.Bool     `tfsdk:"gpu_zonal_redundancy"`
	CPU                     value.Quantity `tfsdk:"cpu"`
	Memory                  value.Quantity `tfsdk:"memory"`
	TaskCount               value.Whole    `tfsdk:"task_count"`
	Parallelism             value.Whole    `tfsdk:"parallelism"`
	TaskTimeout             value.Duration `tfsdk:"task_timeout"`
	MaxRetries              value.Whole    `tfsdk:"max_retries"`
	Checkpoint              types.Object   `tfsdk:"checkpoint"`
	Volumes                 types.Map      `tfsdk:"volumes"`
	Network                 types.Object   `tfsdk:"network"`
	EncryptionKey           types.String   `tfsdk:"encryption_key"`
	BinaryAuthorization     types.Object   `tfsdk:"binary_authorization"`
	ServiceAccount          types.String   `tfsdk:"service_account"`
	ServiceAccountID        types.String   `tfsdk:"service_account_id"`
	ServiceAccountEmail     types.String   `tfsdk:"service_account_email"`
	ServiceAccountUniqueID  types.String   `tfsdk:"service_account_unique_id"`
	Labels                  types.Map      `tfsdk:"labels"`
	TerraformLabels         types.Map      `tfsdk:"terraform_labels"`
	EffectiveLabels         types.Map      `tfsdk:"effective_labels"`
	Annotations             types.Map      `tfsdk:"annotations"`
	LaunchStage             types.String   `tfsdk:"launch_stage"`
	CancelRunningExecutions types.Bool     `tfsdk:"cancel_running_executions"`
	ConsoleURL              types.String   `tfsdk:"console_url"`
	Grants                  types.Set      `tfsdk:"grants"`
	Exposure                types.Object   `tfsdk:"exposure"`
	Timeouts                timeouts.Value `tfsdk:"timeouts"`
}

// Checkpoint is the attribute checkpoint.
type Checkpoint struct {
	Bucket       types.String   `tfsdk:"bucket"`
	MountPath    types.String   `tfsdk:"mount_path"`
	Prefix       types.String   `tfsdk:"prefix"`
	MountOptions types.List     `tfsdk:"mount_options"`
	Role         types.String   `tfsdk:"role"`
	Grant        types.Bool     `tfsdk:"grant"`
	PerTask      types.Bool     `tfsdk:"per_task"`
	Interval     value.Duration `tfsdk:"interval"`
	WriteTime    value.Duration `tfsdk:"write_time"`
	RestoreTime  value.Duration `tfsdk:"restore_time"`
	WorkTime     value.Duration `tfsdk:"work_time"`
}

var (
	checkpointTypes = map[string]attr.Type{
		"bucket": types.StringType, "mount_path": types.StringType, "prefix": types.StringType,
		"mount_options": types.ListType{ElemType: types.StringType}, "role": types.StringType, "grant": types.BoolType, "per_task": types.BoolType,
		"interval": value.DurationType{}, "write_time": value.DurationType{}, "restore_time": value.DurationType{}, "work_time": value.DurationType{},
	}
	grantTypes    = map[string]attr.Type{"resource": types.StringType, "role": types.StringType, "member": types.StringType}
	grantType     = types.ObjectType{AttrTypes: grantTypes}
	exposureTypes = map[string]attr.Type{"attempts": types.Int64Type, "gpu_hours": types.Float64Type, "task_hours": types.Float64Type}
)

// job returns the job's name. It is complete only when project, location and
// name are known.
func (m *Model) job() resourcename.Job {
	return resourcename.Job{Project: m.Project.ValueString(), Location: m.Location.Canonical(), Name: m.Name.ValueString()}
}

// place returns project, location and name.
func (m *Model) place() placement.Place {
	return placement.Place{Name: m.Name, Project: m.Project, Location: m.Location}
}

// checkpoint returns the attribute checkpoint; nil when it is null or unknown.
func (m *Model) checkpoint(ctx context.Context, diags *diag.Diagnostics) *Checkpoint {
	return decode[Checkpoint](ctx, m.Checkpoint, diags)
}

// secretEnv returns the known elements of the attribute secret_env.
func (m *Model) secretEnv(ctx context.Context, diags *diag.Diagnostics) map[string]*SecretEnv {
	return decodeMap[SecretEnv](ctx, m.SecretEnv, diags)
}

// volumes returns the known elements of the attribute volumes.
func (m *Model) volumes(ctx context.Context, diags *diag.Diagnostics) map[string]*Volume {
	return decodeMap[Volume](ctx, m.Volumes, diags)
}

// object returns the checkpoint as an attribute value.
func (c *Checkpoint) object(ctx context.Context, diags *diag.Diagnostics) types.Object {
	return encode(ctx, checkpointTypes, c, diags)
}

// owned tells whether the account is made and owned by this resource. It is
// false while the configuration is not known.
func (m *Model) owned() bool { return m.ServiceAccount.IsNull() }

// ownedEmail returns the e-mail of the owned account.
func (m *Model) ownedEmail() string {
	return resourcename.ServiceAccountEmail(m.Project.ValueString(), m.ServiceAccountID.ValueString())
}

// grants returns the attribute grants; nothing when it is null or unknown.
func (m *Model) grants(ctx context.Context, diags *diag.Diagnostics) []gcp.Grant {
	if !value.Known(m.Grants) {
		return nil
	}
	var elements []struct {
		Resource string `tfsdk:"resource"`
		Role     string `tfsdk:"role"`
		Member   string `tfsdk:"member"`
	}
	diags.Append(m.Grants.ElementsAs(ctx, &elements, false)...)
	out := make([]gcp.Grant, 0, len(elements))
	for _, e := range elements {
		out = append(out, gcp.Grant(e))
	}
	return out
}

// grantSet makes the attribute grants.
func grantSet(grants []gcp.Grant) types.Set {
	elements := make([]attr.Value, 0, len(grants))
	for _, g := range grants {
		elements = append(elements, types.ObjectValueMust(grantTypes, map[string]attr.Value{
			"resource": types.StringValue(g.Resource), "role": types.StringValue(g.Role), "member": types.StringValue(g.Member),
		}))
	}
	return types.SetValueMust(grantType, elements)
}

// exposure computes the attribute exposure; unknown while a part of it is.
func (m *Model) exposure() types.Object {
	timeout, err := m.TaskTimeout.Duration()
	if err != nil || !value.Known(m.GPUType) || !value.Known(m.TaskCount) || !value.Known(m.MaxRetries) {
		return types.ObjectUnknown(exposureTypes)
	}
	e, err := resilience.Expose(m.GPUType.ValueString(), m.TaskCount.ValueInt64(), m.MaxRetries.ValueInt64(), timeout)
	if err != nil {
		// What no job can have is refused elsewhere, at the attribute to blame.
		return types.ObjectNull(exposureTypes)
	}
	return types.ObjectValueMust(exposureTypes, map[string]attr.Value{
		"attempts": types.Int64Value(e.Attempts), "gpu_hours": types.Float64Value(e.GPUHours), "task_hours": types.Float64Value(e.TaskHours),
	})
}

// timeout returns the task timeout; zero when it has no usable value.
func (m *Model) timeout() time.Duration {
	d, err := m.TaskTimeout.Duration()
	if err != nil {
		return 0
	}
	return d
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// settled returns m with every unknown computed attribute set to null, as a
// state must be while the rest is still being made.
func (m Model) settled() Model {
	for _, s := range []*types.String{&m.ID, &m.UID, &m.Project, &m.ServiceAccountID, &m.ServiceAccountEmail, &m.ServiceAccountUniqueID, &m.ConsoleURL} {
		if s.IsUnknown() {
			*s = types.StringNull()
		}
	}
	if m.Location.IsUnknown() {
		m.Location = value.NewLocationNull()
	}
	for _, q := range []*value.Quantity{&m.CPU, &m.Memory} {
		if q.IsUnknown() {
			*q = value.NewQuantityNull()
		}
	}
	for _, l := range []*types.Map{&m.TerraformLabels, &m.EffectiveLabels} {
		if l.IsUnknown() {
			*l = types.MapNull(types.StringType)
		}
	}
	if m.Grants.IsUnknown() {
		m.Grants = grantSet(nil)
	}
	if m.Exposure.IsUnknown() {
		m.Exposure = types.ObjectNull(exposureTypes)
	}
	return m
}
