// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// ImportState reads an existing job into a whole state: every default is
// written, since the framework applies none on import, and values have their
// shortest spelling.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	job, ok := r.importName(ctx, req, &resp.Diagnostics)
	if !ok || !r.importable(&resp.Diagnostics) {
		return
	}
	live, err := r.data.Client.GetJob(ctx, job.String())
	if err != nil {
		hint := ""
		if gcp.IsNotFound(err) {
			hint = "Only an existing job can be imported. Check the project, the location and the name."
		}
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot import the job", err, hint)
		return
	}
	m, ok := r.adopt(ctx, job, live, &resp.Diagnostics)
	if !ok {
		return
	}
	// Only the name may be kept from what the framework has set.
	m.Timeouts = timelimits.Null(ctx)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, job)...)
}

// importName reads the id or the identity.
func (r *Resource) importName(ctx context.Context, req resource.ImportStateRequest, diagnostics *diag.Diagnostics) (resourcename.Job, bool) {
	var defaults resourcename.Defaults
	if r.data != nil {
		defaults = r.data.Defaults()
	}
	if req.ID != "" || req.Identity == nil {
		job, err := resourcename.ParseJob(req.ID, defaults)
		if err != nil {
			diagnostics.AddError("Invalid import id", capital(err.Error())+".")
		}
		return job, err == nil
	}
	var id Identity
	diagnostics.Append(req.Identity.Get(ctx, &id)...)
	if diagnostics.HasError() {
		return resourcename.Job{}, false
	}
	given := []string{id.Project.ValueString(), id.Location.ValueString(), id.Name.ValueString()}
	if given[0] == "" {
		given[0] = defaults.Project
	}
	if given[1] == "" {
		given[1] = defaults.Location
	}
	job, err := resourcename.ParseJob(strings.Join(given, "/"), defaults)
	if err != nil {
		diagnostics.AddError("Invalid import identity", capital(err.Error())+".")
	}
	return job, err == nil
}

func (r *Resource) importable(diagnostics *diag.Diagnostics) bool {
	if r.data == nil || r.data.Deferred() {
		diagnostics.AddError("Cannot import yet", "The provider's configuration is not known, so that the job cannot be read. Import when it is.")
		return false
	}
	return true
}

// adopt makes a model of a job that somebody else made. What the schema cannot
// hold is an error that names it: an update would destroy it, or keep it unseen.
func (r *Resource) adopt(ctx context.Context, job resourcename.Job, live *runpb.Job, diagnostics *diag.Diagnostics) (Model, bool) {
	if what := lost(live.GetTemplate().GetTemplate()); len(what) > 0 {
		diagnostics.AddError("Job cannot be imported", fmt.Sprintf(
			"%s has what this resource cannot hold: %s. Change the job first, or manage it with another resource.", job, strings.Join(what, "; ")))
		return Model{}, false
	}
	m := blank(job)
	m.Labels, m.TerraformLabels = labels.Import(r.data, live.GetLabels())
	m.Annotations = managedmap.Import(live.GetAnnotations(), func(k, _ string) bool { return value.SystemNamespace(k) != "" })
	m = adopted(ctx, live, &m, diagnostics)
	if diagnostics.HasError() || !r.importAccount(ctx, &m, diagnostics) {
		return Model{}, false
	}
	r.importGrants(ctx, &m, diagnostics)
	warnUnshown(live, job, diagnostics)
	return m, !diagnostics.HasError()
}

// adopted returns m with everything that the job itself says, and the volume
// that is its checkpoint. m says which labels and annotations are managed.
func adopted(ctx context.Context, live *runpb.Job, m *Model, diagnostics *diag.Diagnostics) Model {
	task := live.GetTemplate().GetTemplate()
	m.Checkpoint = importedCheckpoint(ctx, task, task.GetContainers()[0], diagnostics).object(ctx, diagnostics)
	out := flatten(ctx, live, m, diagnostics)
	if need := stageToSend(ctx, &out, 0); stageRank(live.GetLaunchStage()) > stageRank(need) {
		// More than the schema's features need: something else does.
		out.LaunchStage = types.StringValue(live.GetLaunchStage().String())
	}
	return out
}

// lost says what of a job that somebody else made the schema cannot hold. A
// task of which nothing is lost has one container.
func lost(task *runpb.TaskTemplate) []string {
	if n := len(task.GetContainers()); n != 1 {
		names := make([]string, 0, n)
		for _, c := range task.GetContainers() {
			names = append(names, fmt.Sprintf("%q", c.GetName()))
		}
		return []string{strings.TrimSpace(fmt.Sprintf("%d containers %s", n, strings.Join(names, ", ")))}
	}
	var out []string
	for _, v := range task.GetVolumes() {
		if why := whyNotHeld(task, v); why != "" {
			out = append(out, fmt.Sprintf("a volume %q that %s", v.GetName(), why))
		}
	}
	return out
}

// importAccount tells an account that this provider made for the job from one
// that somebody named: by the marker.
func (r *Resource) importAccount(ctx context.Context, m *Model, diagnostics *diag.Diagnostics) bool {
	email := m.ServiceAccountEmail.ValueString()
	id, _, _ := strings.Cut(email, "@")
	project := m.Project.ValueString()
	if email == resourcename.ServiceAccountEmail(project, id) {
		account, err := r.data.Client.GetServiceAccount(ctx, project, email)
		switch {
		case err == nil && account.GetDescription() == marker(m):
			m.ServiceAccountID, m.ServiceAccountUniqueID = types.StringValue(id), types.StringValue(account.GetUniqueId())
			return true
		case err != nil && !gcp.IsNotFound(err) && !gcp.IsPermissionDenied(err):
			diags.Error(diagnostics, path.Root("service_account"), "Cannot read the job's service account", err, "")
			return false
		}
	}
	m.ServiceAccount = types.StringValue(email)
	return true
}

// importGrants records the roles that the owned account has on what the job
// uses. The role on the checkpoint's bucket is the one that it has.
func (r *Resource) importGrants(ctx context.Context, m *Model, diagnostics *diag.Diagnostics) {
	if !m.owned() {
		return
	}
	if c := m.checkpoint(ctx, diagnostics); c != nil {
		for _, role := range []string{defaultRole, "roles/storage.objectAdmin", "roles/storage.admin", viewerRole} {
			g := gcp.Grant{Resource: resourcename.Bucket{Name: c.Bucket.ValueString()}.String(), Role: role,
				Member: resourcename.ServiceAccount{Email: m.ServiceAccountEmail.ValueString()}.Member()}
			if has, err := r.data.Client.HasMember(ctx, g); err == nil && has {
				c.Role = types.StringValue(role)
				m.Checkpoint = c.object(ctx, diagnostics)
				break
			}
		}
	}
	var held []gcp.Grant
	desired, _ := m.desiredGrants(ctx, diagnostics)
	for _, g := range desired {
		if has, err := r.data.Client.HasMember(ctx, g); err == nil && has {
			held = append(held, g)
		}
	}
	m.Grants = grantSet(held)
}

// importedCheckpoint chooses the checkpoint of a job that somebody else made:
// the volume of that name, else the only writable bucket, else none.
func importedCheckpoint(ctx context.Context, task *runpb.TaskTemplate, container *runpb.Container, diagnostics *diag.Diagnostics) *Checkpoint {
	volume := findCheckpoint(ctx, task, container, nil, diagnostics)
	if volume.GetGcs() == nil {
		var writable []*runpb.Volume
		for _, v := range task.GetVolumes() {
			if v.GetGcs() != nil && !v.GetGcs().GetReadOnly() && mountOf(container, v.GetName()) != nil {
				writable = append(writable, v)
			}
		}
		if len(writable) != 1 {
			return nil
		}
		volume = writable[0]
	}
	return flattenCheckpoint(volume, container, nil)
}

// blank returns a model in which everything is null or has its default.
func blank(job resourcename.Job) Model {
	return Model{
		ID: types.StringNull(), UID: types.StringNull(),
		Name: types.StringValue(job.Name), Project: types.StringValue(job.Project), Location: value.NewLocation(job.Location),
		Image: types.StringNull(), Command: types.ListNull(types.StringType), Args: types.ListNull(types.StringType),
		WorkingDir: types.StringNull(), Env: types.MapNull(types.StringType), SecretEnv: types.MapNull(secretEnvType),
		GPUType: types.StringNull(), GPUZonalRedundancy: types.BoolNull(), CPU: value.NewQuantityNull(), Memory: value.NewQuantityNull(),
		TaskCount: value.NewWholeNull(), Parallelism: value.NewWholeNull(), TaskTimeout: value.NewDurationNull(), MaxRetries: value.NewWholeNull(),
		Checkpoint: types.ObjectNull(checkpointTypes), Volumes: types.MapNull(volumeType), Network: types.ObjectNull(networkTypes),
		EncryptionKey: types.StringNull(), BinaryAuthorization: types.ObjectNull(binaryAuthorizationTypes), Annotations: types.MapNull(types.StringType),
		ServiceAccount: types.StringNull(), ServiceAccountID: types.StringNull(), ServiceAccountEmail: types.StringNull(), ServiceAccountUniqueID: types.StringNull(),
		Labels: types.MapNull(types.StringType), TerraformLabels: types.MapNull(types.StringType), EffectiveLabels: types.MapNull(types.StringType),
		LaunchStage: types.StringNull(), CancelRunningExecutions: types.BoolValue(false), ConsoleURL: types.StringNull(),
		Grants: grantSet(nil), Exposure: types.ObjectNull(exposureTypes),
	}
}
