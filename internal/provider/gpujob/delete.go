// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Delete removes the job, then what its account was granted, then the account
// and any other that a failed change left.
// Each step finds out by itself that there is nothing left to do.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	limit, d := state.Timeouts.Delete(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	before := readNote(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.sameWorld(&state, before, &resp.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	w := &work{r: r, diags: &resp.Diagnostics, state: state, held: state.grants(ctx, &resp.Diagnostics), cancel: state.CancelRunningExecutions.ValueBool(),
		note: before,
		store: func(ctx context.Context, m Model, n note) diag.Diagnostics {
			diags := resp.State.Set(ctx, m)
			diags.Append(n.write(ctx, resp.Private)...)
			return diags
		}}
	planner, d := req.Private.GetKey(ctx, plannerKey)
	resp.Diagnostics.Append(d...)
	w.provenOnly = bytes.Equal(planner, r.planner())
	if resp.Diagnostics.HasError() || !w.deleteJob(ctx) || w.note.Lost && w.heir == nil && !w.provenOnly && !w.recall(ctx) {
		return
	}
	if !w.revoke(ctx, gcp.WithoutGrants(w.held, w.inherited(ctx)), nil) {
		return
	}
	if value.Known(state.ServiceAccountUniqueID) && !w.runsHeir(state.ServiceAccountID.ValueString()) && !w.dropAccount(ctx, state.ServiceAccountUniqueID.ValueString()) {
		return
	}
	w.dropLeftovers(ctx, slices.DeleteFunc(slices.Clone(w.note.Accounts), func(a ownedAccount) bool { return w.runsHeir(a.ID) }))
}

// runsHeir tells whether the heir runs as an account of ours.
func (w *work) runsHeir(id string) bool {
	return w.heir != nil && strings.EqualFold(w.heir.GetTemplate().GetTemplate().GetServiceAccount(), resourcename.ServiceAccountEmail(w.state.Project.ValueString(), id))
}

// inherited are the held grants that the heir needs: those of the account
// that it runs as on what it uses. Others are of no more use to anybody.
func (w *work) inherited(ctx context.Context) []gcp.Grant {
	if w.heir == nil {
		return nil
	}
	heir := flatten(ctx, w.heir, &w.state, w.diags)
	uses, _ := heir.uses(ctx, w.diags)
	member := resourcename.ServiceAccount{Email: w.heir.GetTemplate().GetTemplate().GetServiceAccount()}.Member()
	return slices.DeleteFunc(slices.Clone(w.held), func(g gcp.Grant) bool {
		return !gcp.SameMember(g.Member, member) || !slices.ContainsFunc(uses, func(u use) bool {
			if value.Known(u.bucket) {
				return g.Resource == resourcename.Bucket{Name: u.bucket.ValueString()}.String()
			}
			secret, err := resourcename.ParseSecret(u.secret.ValueString(), heir.Project.ValueString())
			return err == nil && resourcename.SameName(g.Resource, secret.String(), true)
		})
	})
}

// deleteJob deletes the job, if it is the one that the state knows or one that
// an apply made without learning of it. It looks for running executions first,
// and deletes with the etag that it read: what comes in between is looked at
// again.
func (w *work) deleteJob(ctx context.Context) bool {
	name := w.state.job().String()
	pauses := gcp.Backoff{Clock: w.r.data.Clock}.Start()
	for attempt := 1; ; attempt++ {
		var live *runpb.Job
		err := w.r.data.Client.Confirm(ctx, func() (err error) {
			live, err = w.r.data.Client.GetJob(ctx, name)
			return err
		})
		switch {
		case gcp.IsNotFound(err):
			return w.withoutJob(ctx)
		case err != nil:
			w.fail("", "Cannot tell whether the job exists", err, "")
			return false
		case w.provenOnly && !w.proven(live):
			w.diags.AddWarning("A job of the same name is left alone", fmt.Sprintf(
				"%s exists (its uid is %s), and the create of the object that is destroyed did not learn that it made it. It is taken for the job of the resource that replaces it, and was not deleted; nor was the account that it runs as, with the roles that it needs.",
				name, live.GetUid()))
			w.heir = live
			return w.withoutJob(ctx)
		case replaced(live, &w.state):
			w.diags.AddWarning("A job of the same name is left alone", fmt.Sprintf(
				"%s exists, but was not made by this resource (its uid is %s). It was not deleted; nor was the account that it runs as, with the roles that it needs.", name, live.GetUid()))
			// Whoever holds the job holds what carries its mark.
			w.heir = live
			return w.withoutJob(ctx)
		}
		if !w.clearRuns(ctx, "Destroying the job") {
			return false
		}
		var op *gcp.JobOperation
		err = w.r.data.Client.Confirm(ctx, func() (err error) {
			op, err = w.r.data.Client.DeleteJob(ctx, name, live.GetEtag())
			return err
		})
		if err == nil {
			_, err = op.Wait(ctx)
		}
		if err == nil || gcp.IsNotFound(err) {
			return w.withoutJob(ctx)
		}
		if attempt >= updateAttempts || !gcp.IsConflict(err) || !pauses.Wait(ctx, 0) {
			w.reportJob(&w.state, "Cannot delete the Cloud Run job", err)
			return false
		}
	}
}

// proven tells whether a live job is the one whose uid the state was given when
// it was made.
func (w *work) proven(live *runpb.Job) bool {
	uid := w.state.UID.ValueString()
	return uid != "" && !w.note.Unsure && uid == live.GetUid()
}

// withoutJob records that the job is gone. One that a read finds under its name
// from now on is not proven to be ours, however it looks.
func (w *work) withoutJob(ctx context.Context) bool {
	w.state.UID, w.note.Unsure = types.StringNull(), true
	w.save(ctx)
	return true
}
