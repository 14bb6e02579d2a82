// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// importedKey marks, in the private state, an execution that was imported. The
// overrides and triggers of its configuration are not known from the platform:
// the first change of the resource records them in place and removes the mark.
const importedKey = "imported"

// ImportState takes a full name, JOB/EXECUTION and the forms between, or an
// identity. It only names the execution; Read fills the rest in. Nothing runs.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if r.data.Deferred() {
		resp.Diagnostics.AddError("Cannot import yet", "The provider's configuration is not known before apply ("+strings.Join(r.data.Unknown, ", ")+"). Apply what it depends on first.")
		return
	}
	id := req.ID
	if id == "" {
		var identity Identity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
		if resp.Diagnostics.HasError() {
			return
		}
		id = r.idOf(identity)
	}
	name, err := resourcename.ParseExecution(id, r.data.Defaults())
	if err != nil {
		resp.Diagnostics.AddError("Invalid import id", err.Error()+".")
		return
	}
	for attribute, v := range map[string]any{
		"id":                name.String(),
		"job":               shortestJob(name.Job, r.data),
		"wait_for":          waitStarted,
		"allow_concurrent":  false,
		"cancel_on_destroy": false,
		"failed_tasks":      types.ListNull(failedTaskType),
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute), v)...)
	}
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, name)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, []byte("true"))...)
}

// idOf returns the full name for an identity, whose project and location may be
// left to the provider.
func (r *Resource) idOf(i Identity) string {
	project, location := i.Project.ValueString(), i.Location.ValueString()
	if project == "" {
		project = r.data.Project
	}
	if location == "" {
		location = r.data.Region
	}
	job := resourcename.Job{Project: project, Location: location, Name: i.Job.ValueString()}
	return resourcename.Execution{Job: job, Name: i.Name.ValueString()}.String()
}

// shortestJob spells a job as a configuration would most likely do: by its bare
// name where the provider has its project and region.
func shortestJob(job resourcename.Job, d *providerdata.Data) string {
	if job.Project == d.Project && strings.EqualFold(job.Location, d.Region) {
		return job.Name
	}
	return job.String()
}
