// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
)

// NewResource returns the managed resource resilientjob_execution. early is what
// validation knows of the provider block.
func NewResource(early *providerdata.Early) resource.Resource { return &Resource{early: early} }

// Resource is one run of a job.
type Resource struct {
	data  *providerdata.Data
	early *providerdata.Early
}

// Metadata sets the type name.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_execution"
}

// Configure takes the provider's data.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = providerdata.FromResource(req, resp)
}

// ownerKey holds, in the private state, what tells this resource from another one
// that has the same execution: JSON, random.
const ownerKey = "owner"

// plannerKey names, in the private state of a plan, the configured provider that
// made it: see mayCancel. No resource keeps it.
const plannerKey = "planner"

// allClaims holds one *claims for each configured provider. Terraform makes a
// new Resource for every call, so that it cannot hold them.
var allClaims sync.Map

func claimsOf(d *providerdata.Data) *claims {
	c, _ := allClaims.LoadOrStore(d, &claims{planner: strconv.Quote(rand.Text())})
	return c.(*claims) //nolint:forcetypeassert // nothing else is stored
}

// Create starts the run, or adopts it, and watches it as far as wait_for says.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	begin := r.data.Clock.Now()
	var plan Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	wanted, d := expandRun(ctx, plan)
	resp.Diagnostics.Append(d...)
	jobName, err := resourcename.ParseJob(plan.Job.ValueString(), r.data.Defaults())
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("job"), "Invalid job", err.Error()+".")
	}
	if resp.Diagnostics.HasError() {
		return
	}
	job, err := r.data.Client.GetJob(ctx, jobName.String())
	if err != nil {
		diags.Error(&resp.Diagnostics, path.Root("job"), "Cannot read the job", err, missingJobHint(err))
		return
	}
	limit, d := plan.Timeouts.Create(ctx, wanted.patience(job, plan.WaitFor.ValueString()))
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}

	key := wanted.key(job.GetUid())
	owner := strconv.Quote(rand.Text())
	s := starter{api: r.data.Client, clock: r.data.Clock, claims: claimsOf(r.data), owner: owner}
	e, err := s.start(ctx, jobName, wanted.request(jobName, job, key), key, plan.AllowConcurrent.ValueBool())
	if err != nil {
		reportNotStarted(&resp.Diagnostics, err)
		return
	}
	name := resourcename.Execution{Job: jobName, Name: lastSegment(e.GetName())}
	publish := func(failed []*runpb.Task) {
		resp.Diagnostics.Append(resp.State.Set(ctx, flatten(name, e, failed, plan))...)
		resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, name)...)
	}
	// Before anything is waited for: what runs is never lost by an error below.
	publish(nil)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, ownerKey, []byte(owner))...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannerKey, nil)...)

	w := watcher{api: r.data.Client, clock: r.data.Clock}
	e, stopped := w.until(ctx, name, e, limit-r.data.Clock.Since(begin), goal(plan.WaitFor.ValueString()))
	failed, err := failedTasks(ctx, r.data.Client, name, e)
	publish(failed)
	switch state := StateOf(e); {
	case state.Finished() && state != Succeeded:
		resp.Diagnostics.AddError(endedWithoutSuccess(name, e, failed, err))
	case stopped != nil:
		resp.Diagnostics.AddWarning(stoppedWatching(name, e, stopped))
	}
}

// goal is what create waits for.
func goal(waitFor string) func(*runpb.Execution) bool {
	switch waitFor {
	case waitCreated:
		return func(*runpb.Execution) bool { return true }
	case waitStarted:
		return func(e *runpb.Execution) bool { return StateOf(e) != Pending }
	}
	return theEnd
}

// Update records settings: wait_for and its like, and after an import the
// overrides and triggers. It makes no call.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name, ok := stateName(&resp.Diagnostics, plan)
	if !ok {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, name)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, nil)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannerKey, nil)...)
}

// setIdentity fills the identity in, for a Terraform that has asked for one.
func setIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, name resourcename.Execution) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.Set(ctx, identityOf(name))
}

// stateName reads the execution's name from the id in a state.
func stateName(diagnostics *diag.Diagnostics, m Model) (resourcename.Execution, bool) {
	name, err := resourcename.ParseExecution(m.ID.ValueString(), resourcename.Defaults{})
	if err != nil {
		diagnostics.AddAttributeError(path.Root("id"), "Invalid id in the state", err.Error()+".\n\nRemove the resource from the state with \"terraform state rm\" and import it again.")
	}
	return name, err == nil
}

// sameWorld refuses to read or drop what the other one of emulator and Google
// Cloud made: there it would look as if it did not exist any more.
func (r *Resource) sameWorld(diagnostics *diag.Diagnostics, m Model) bool {
	uid := m.UID.ValueString()
	if uid == "" || gcp.EmulatorUID(uid) == r.data.Emulator {
		return true
	}
	here, there, hint := "Google Cloud", "the emulator", "Set RESILIENTJOB_EMULATOR_HOST to the emulator that holds it, or remove the resource from the state with \"terraform state rm\"."
	if r.data.Emulator {
		here, there, hint = there, here, "Unset RESILIENTJOB_EMULATOR_HOST, and apply again."
	}
	diagnostics.AddError("Emulator and Google Cloud mixed up", fmt.Sprintf(
		"Execution %s was made by %s, and the provider talks to %s. Nothing was read or changed.\n\n%s", m.Name.ValueString(), there, here, hint))
	return false
}

func missingJobHint(err error) string {
	if gcp.IsNotFound(err) {
		return "Write the name of a job that exists in the provider's project and region, or its full name, such as resilientjob_gpu_job.NAME.id. Nothing was started."
	}
	return ""
}

// reportNotStarted adds the error of a run that is not known to have begun.
// There is no state then, so that nothing is tainted.
func reportNotStarted(diagnostics *diag.Diagnostics, err error) {
	var occupied *occupiedError
	var claimed *claimedError
	var lost *lostError
	switch {
	case errors.As(err, &occupied):
		diagnostics.AddError("Job is already running", occupied.Error()+"\n\n"+occupied.hint())
	case errors.As(err, &claimed):
		diagnostics.AddAttributeError(path.Root("triggers"), "Two resources for one run", claimed.Error()+
			"\n\nGive each resource a trigger that differs, such as triggers = { index = count.index }.")
	case errors.As(err, &lost):
		diagnostics.AddError("Cannot tell whether the job was started", diags.Detail(lost.cause, lost.hint()))
	default:
		diags.Error(diagnostics, path.Empty(), "Cannot run the job", err, "")
	}
}
