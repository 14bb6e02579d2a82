// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/googlestate"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

var _ resource.ResourceWithMoveState = (*Resource)(nil)

// MoveState takes over a google_cloud_run_v2_job, from its state alone:
// Terraform moves before it configures a provider. The job's account is a named
// one, whoever made it, and nothing is granted to it.
func (r *Resource) MoveState(context.Context) []resource.StateMover {
	return googlestate.Movers(googlestate.JobType, move)
}

func move(ctx context.Context, raw []byte, _ int64, resp *resource.MoveStateResponse) {
	source, problems := googlestate.ReadJob(raw)
	if googlestate.Refuse(googlestate.JobType, problems, &resp.Diagnostics) {
		return
	}
	task := source.Live.GetTemplate().GetTemplate()
	if what := lost(task); len(what) > 0 {
		resp.Diagnostics.AddError("Cannot move this resource", fmt.Sprintf(
			"%s has what this resource cannot hold: %s. Nothing was changed. Change the job first, or leave it to the provider that has it.", source.Name, strings.Join(what, "; ")))
		return
	}
	googlestate.WarnOfPolicy(source.DeletionPolicy, googlestate.JobType, "job", source.Name.String(), &resp.Diagnostics)
	warnUnshown(source.Live, source.Name, &resp.Diagnostics)
	m := blank(source.Name)
	if len(source.Labels.Own) > 0 {
		m.Labels = value.MapOf(source.Labels.Own)
	}
	m.TerraformLabels = value.MapOf(source.Labels.All)
	if len(source.Annotations.Own) > 0 {
		m.Annotations = value.MapOf(source.Annotations.Own)
	}
	m = adopted(ctx, source.Live, &m, &resp.Diagnostics)
	if email := task.GetServiceAccount(); email != "" {
		m.ServiceAccount = types.StringValue(email)
	}
	m.Timeouts = timelimits.Of(ctx, source.Timeouts)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.TargetState.Set(ctx, &m)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.TargetIdentity, source.Name)...)
}

// unshown names the settings of a job that have no place in the schema, and that
// an update leaves as they are. A startup probe that asks nothing is what Cloud
// Run adds by itself.
func unshown(live *runpb.Job) []string {
	execution := live.GetTemplate()
	task := execution.GetTemplate()
	var out []string
	for _, a := range []struct {
		name string
		set  bool
	}{
		{"delay_execution", execution.DelayExecution != nil}, {"sandboxes", task.GetSandboxes() != nil}, {"workload_identity_config", task.GetWorkloadIdentityConfig() != nil},
	} {
		if a.set {
			out = append(out, a.name)
		}
	}
	for _, c := range task.GetContainers() {
		for _, a := range []struct {
			name string
			set  bool
		}{
			{"liveness_probe", c.GetLivenessProbe() != nil}, {"ports", len(c.GetPorts()) > 0}, {"readiness_probe", c.GetReadinessProbe() != nil},
			{"startup_probe", c.GetStartupProbe().GetProbeType() != nil},
		} {
			if a.set {
				out = append(out, a.name)
			}
		}
	}
	return out
}

// warnUnshown warns of settings that stay on the job and are not managed.
func warnUnshown(live *runpb.Job, job resourcename.Job, diagnostics *diag.Diagnostics) {
	if names := unshown(live); len(names) > 0 {
		diagnostics.AddWarning("Settings that are not managed", fmt.Sprintf(
			"The job %s has %s. This resource has no attributes for them: they stay on the job as they are.", job, strings.Join(names, ", ")))
	}
}
