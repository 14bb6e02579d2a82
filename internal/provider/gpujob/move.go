// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/googlestate"
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
	if names := unshown(task.GetContainers()[0]); len(names) > 0 {
		resp.Diagnostics.AddWarning("Settings that are not managed any more", fmt.Sprintf(
			"The job %s has %s. This resource has no attributes for them: they stay on the job as they are.", source.Name, strings.Join(names, ", ")))
	}
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

// unshown names the attributes of a google_cloud_run_v2_job that have a value
// and no place in the schema, and that an update leaves as they are.
func unshown(c *runpb.Container) []string {
	var out []string
	for _, a := range []struct {
		name string
		set  bool
	}{
		{"liveness_probe", c.GetLivenessProbe() != nil}, {"ports", len(c.GetPorts()) > 0}, {"startup_probe", c.GetStartupProbe() != nil},
	} {
		if a.set {
			out = append(out, a.name)
		}
	}
	return out
}
