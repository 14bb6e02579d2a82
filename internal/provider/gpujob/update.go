// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Update changes what differs: new account and new grants first, then the job,
// then what is no longer needed is taken away. A change of what only this
// resource knows makes no call.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var state, plan Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, d := plan.Timeouts.Update(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, plan.job())...)
	before := readNote(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.sameWorld(&state, before, &resp.Diagnostics) {
		return
	}
	before.World = r.world()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	w := &work{r: r, diags: &resp.Diagnostics, state: state, held: state.grants(ctx, &resp.Diagnostics), note: before,
		cancel: state.CancelRunningExecutions.ValueBool(),
		store: func(ctx context.Context, m Model, n note) diag.Diagnostics {
			diags := resp.State.Set(ctx, m)
			diags.Append(n.write(ctx, resp.Private)...)
			return diags
		}}
	w.update(ctx, state, &plan)
}

// change is what an update has to do.
type change struct {
	job     bool
	account bool
	// buckets are those that the job did not use before.
	buckets []place
	// desired are the grants that the plan wants; give and revoke lead to them.
	desired, give, revoke []gcp.Grant
	// dropAccount is the unique id of an owned account that is not used any
	// more; empty for none.
	dropAccount string
	// leftovers are accounts of changes that did not come to their end, and
	// that are not used.
	leftovers []ownedAccount
}

// difference compares state and plan.
func (w *work) difference(ctx context.Context, state, plan *Model) change {
	desired, _ := plan.desiredGrants(ctx, w.diags)
	c := change{
		job:       plan.UID.IsUnknown() || w.note.Unready || !sameRequest(ctx, state, plan, w.diags),
		account:   plan.owned() && plan.ServiceAccountUniqueID.IsUnknown(),
		desired:   desired,
		give:      gcp.WithoutGrants(gcp.WithoutGrants(desired, w.held), w.note.Present),
		revoke:    gcp.WithoutGrants(w.held, desired),
		leftovers: w.note.leftovers(plan),
		buckets:   newBuckets(ctx, state, plan, w.diags),
	}
	if value.Known(state.ServiceAccountUniqueID) && !state.ServiceAccountID.Equal(plan.ServiceAccountID) {
		c.dropAccount = state.ServiceAccountUniqueID.ValueString()
	}
	w.note.Present = gcp.WithoutGrants(w.note.Present, gcp.WithoutGrants(w.note.Present, desired)) // notes about grants that are not wanted any more
	return c
}

func (w *work) update(ctx context.Context, state Model, plan *Model) {
	c := w.difference(ctx, &state, plan)
	if w.diags.HasError() {
		return
	}
	takes := len(c.revoke) > 0 || c.dropAccount != "" || len(c.leftovers) > 0
	if (takes || !value.Known(state.UID)) && !w.checkOwner(ctx) {
		return
	}
	if value.Known(state.UID) && takes && !w.clearRuns(ctx, "Taking a grant or the account away") {
		return
	}
	if !w.checkPlaces(ctx, plan, c.buckets, c.give, w.look(ctx, nil, c.buckets, c.give)) {
		return
	}
	if c.account && !w.newAccount(ctx, plan, c.dropAccount != "") {
		return
	}
	if !w.give(ctx, plan, c.give) {
		return
	}
	read := state
	if c.job {
		live, ok := w.updateJob(ctx, plan)
		if !ok {
			return
		}
		read = flatten(ctx, live, plan, w.diags)
		w.warnChanged(plan, &read)
		w.note.Unready = false
	}
	// An account goes after its roles: the policy of a bucket names a deleted one
	// otherwise, and that name cannot be revoked.
	if !w.revoke(ctx, c.revoke, c.desired) || c.dropAccount != "" && !w.dropAccount(ctx, c.dropAccount) || !w.dropLeftovers(ctx, c.leftovers) {
		// The state keeps what is still there, so that the next apply removes it.
		return
	}
	if c.dropAccount != "" && plan.owned() {
		// The account that is used now could not be recorded beside the old one.
		if !w.account(ctx, plan, false) {
			return
		}
	}
	if !plan.owned() {
		w.state.ServiceAccountUniqueID = types.StringNull()
	}
	w.finish(ctx, plan, read)
}

// newAccount makes the owned account. While an old one of another name is still
// to be removed the state goes on knowing that one, and this one is noted, so
// that it is not lost when the change fails and is not tried again.
func (w *work) newAccount(ctx context.Context, plan *Model, replaces bool) bool {
	if !replaces {
		return w.account(ctx, plan, false)
	}
	account, err := w.r.ensureAccount(ctx, plan, false)
	if err != nil {
		w.reportAccount(err)
		return false
	}
	w.fresh = account.GetEmail()
	w.note.forget(plan.ServiceAccountID.ValueString())
	w.note.Accounts = append(w.note.Accounts, ownedAccount{plan.ServiceAccountID.ValueString(), account.GetUniqueId()})
	w.save(ctx)
	return true
}

// dropLeftovers deletes noted accounts, and only those very ones. Their roles
// are among the grants of the state, and were revoked before.
func (w *work) dropLeftovers(ctx context.Context, accounts []ownedAccount) bool {
	for _, a := range accounts {
		err := w.deleteAccount(ctx, a.UniqueID)
		if err != nil && !gcp.IsNotFound(err) {
			w.fail("service_account_id", "Cannot delete the service account", err, fmt.Sprintf(
				"The account %s is left of a change that failed. It is remembered, and the next apply tries again.", a.ID))
			return false
		}
		w.note.forget(a.ID)
		w.save(ctx)
	}
	return true
}

func (w *work) deleteAccount(ctx context.Context, uniqueID string) error {
	return w.r.data.Client.Confirm(ctx, func() error {
		return w.r.data.Client.DeleteServiceAccount(ctx, w.state.Project.ValueString(), uniqueID)
	})
}

// dropAccount deletes an account of ours, and only that very one.
func (w *work) dropAccount(ctx context.Context, uniqueID string) bool {
	err := w.deleteAccount(ctx, uniqueID)
	if err != nil && !gcp.IsNotFound(err) {
		w.fail("service_account_unique_id", "Cannot delete the service account", err, "The account stays in the state, and the next apply tries again.")
		return false
	}
	w.state.ServiceAccountUniqueID = types.StringNull()
	w.save(ctx)
	return true
}

// revokes tells whether an update takes away what running executions may need.
func (r *Resource) revokes(ctx context.Context, state, plan *Model, diagnostics *diag.Diagnostics) bool {
	if value.Known(state.ServiceAccountUniqueID) && !plan.ServiceAccountID.IsUnknown() && !state.ServiceAccountID.Equal(plan.ServiceAccountID) {
		return true
	}
	desired, ok := plan.desiredGrants(ctx, diagnostics)
	return ok && len(gcp.WithoutGrants(state.grants(ctx, diagnostics), desired)) > 0
}

// reportJob adds the error of a job call, at the attribute that is to blame
// where the text tells.
func (w *work) reportJob(m *Model, summary string, err error) {
	if gcp.IsAlreadyExists(err) && !gcp.IsAmbiguous(err) {
		if w.state.Image.IsNull() {
			w.reportBeaten(m)
		} else {
			w.reportTaken(m)
		}
		return
	}
	w.explain(m, path.Empty(), summary, err, "")
}
