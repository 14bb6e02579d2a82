// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
)

// Create reads before it writes, and then makes the account, the grants and the
// job, in this order: a task that starts before its account may read the bucket
// does not start at all.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, d := plan.Timeouts.Create(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, plan.job())...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	w := &work{r: r, diags: &resp.Diagnostics, state: plan, store: func(ctx context.Context, m Model, n note) diag.Diagnostics {
		diags := resp.State.Set(ctx, m)
		diags.Append(n.write(ctx, resp.Private)...)
		return diags
	}}
	w.state.UID, w.state.ServiceAccountUniqueID, w.state.Grants = types.StringNull(), types.StringNull(), grantSet(nil)
	// No job is ours until one was sent, see ours.
	w.state.Image = types.StringNull()
	w.note.World, w.note.Unsure = r.world(), true
	w.create(ctx, &plan)
}

func (w *work) create(ctx context.Context, plan *Model) {
	w.taints = true
	grants, _ := plan.desiredGrants(ctx, w.diags)
	buckets := plan.buckets(ctx, w.diags)
	if w.diags.HasError() {
		return
	}
	seen := w.look(ctx, plan, buckets, grants)
	if !w.free(plan, seen) || !w.checkPlaces(ctx, plan, buckets, grants, seen) {
		return
	}
	if plan.owned() && !w.account(ctx, plan, seen.noAccount()) {
		return
	}
	if !w.give(ctx, plan, grants) {
		return
	}
	live, ok := w.createJob(ctx, plan)
	if !ok {
		return
	}
	read := flatten(ctx, live, plan, w.diags)
	w.warnChanged(plan, &read)
	w.finish(ctx, plan, read)
}

// free makes sure that neither the job's name nor the account's is taken.
func (w *work) free(plan *Model, seen *looks) bool {
	switch {
	case seen.jobErr == nil:
		w.reportTaken(plan)
		return false
	case !gcp.IsNotFound(seen.jobErr):
		w.fail("", "Cannot tell whether the job exists", seen.jobErr, nothingWritten)
		return false
	}
	var foreign *foreignAccountError
	if errors.As(seen.accountErr, &foreign) {
		w.reportAccount(seen.accountErr)
		return false
	}
	// Any other trouble with reading the account shows when it is made.
	return true
}

// account makes or adopts the owned account and records it. absent is as in
// ensureAccount.
func (w *work) account(ctx context.Context, plan *Model, absent bool) bool {
	account, err := w.r.ensureAccount(ctx, plan, absent)
	if err != nil {
		w.reportAccount(err)
		return false
	}
	w.fresh = account.GetEmail()
	w.state.ServiceAccountID = plan.ServiceAccountID
	w.state.ServiceAccountUniqueID = types.StringValue(account.GetUniqueId())
	w.note.forget(plan.ServiceAccountID.ValueString())
	w.save(ctx)
	return true
}

// finish returns what the plan knew as planned, and the rest as read.
func (w *work) finish(ctx context.Context, plan *Model, read Model) {
	m := *plan
	m.UID = read.UID
	m.ServiceAccountUniqueID = w.state.ServiceAccountUniqueID
	if m.EffectiveLabels.IsUnknown() {
		m.EffectiveLabels = read.EffectiveLabels
	}
	if m.CPU.IsUnknown() {
		m.CPU = read.CPU
	}
	if m.Memory.IsUnknown() {
		m.Memory = read.Memory
	}
	if m.Grants.IsUnknown() {
		m.Grants = grantSet(w.held)
	}
	w.state = m
	w.save(ctx)
}

// warnChanged warns of planned values that Cloud Run did not take as they were
// sent. The state has them as planned, and the next plan shows the difference.
func (w *work) warnChanged(plan, read *Model) {
	var changed []string
	for _, a := range []struct {
		name          string
		planned, read attr.Value
	}{
		{"gpu_type", plan.GPUType, read.GPUType}, {"gpu_zonal_redundancy", plan.GPUZonalRedundancy, read.GPUZonalRedundancy},
		{"cpu", plan.CPU, read.CPU}, {"memory", plan.Memory, read.Memory}, {"task_count", plan.TaskCount, read.TaskCount},
		{"parallelism", plan.Parallelism, read.Parallelism}, {"task_timeout", plan.TaskTimeout, read.TaskTimeout}, {"max_retries", plan.MaxRetries, read.MaxRetries},
	} {
		if !a.planned.IsUnknown() && !a.planned.Equal(a.read) {
			changed = append(changed, fmt.Sprintf("%s is %s, and %s was sent", a.name, a.read, a.planned))
		}
	}
	// These may hold what nobody should read in a message.
	for _, a := range []struct {
		name          string
		planned, read attr.Value
	}{
		{"image", plan.Image, read.Image}, {"command", plan.Command, read.Command}, {"args", plan.Args, read.Args}, {"working_dir", plan.WorkingDir, read.WorkingDir}, {"env", plan.Env, read.Env},
		{"secret_env", plan.SecretEnv, read.SecretEnv}, {"checkpoint", plan.Checkpoint, read.Checkpoint}, {"volumes", plan.Volumes, read.Volumes},
		{"network", plan.Network, read.Network}, {"encryption_key", plan.EncryptionKey, read.EncryptionKey},
		{"binary_authorization", plan.BinaryAuthorization, read.BinaryAuthorization}, {"annotations", plan.Annotations, read.Annotations}, {"service_account_email", plan.ServiceAccountEmail, read.ServiceAccountEmail},
		{"labels", plan.TerraformLabels, read.TerraformLabels},
	} {
		if !a.planned.Equal(a.read) {
			changed = append(changed, a.name+" is another one")
		}
	}
	if len(changed) > 0 {
		w.diags.AddWarning("Cloud Run did not take every value", fmt.Sprintf(
			"%s differs from what was sent: %s.\n\nEither Cloud Run changed it, or somebody else did at the same time. The next plan will show it; write the value that Cloud Run keeps.",
			plan.job(), strings.Join(changed, "; ")))
	}
}
