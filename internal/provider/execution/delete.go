// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Delete forgets an execution that has ended, and never deletes its record. One
// that still runs is refused by name, or cancelled when the state says so.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	begin := r.data.Clock.Now()
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name, ok := stateName(&resp.Diagnostics, state)
	if !ok || !r.sameWorld(&resp.Diagnostics, state) || state.finished() {
		return
	}
	limit, d := state.Timeouts.Delete(ctx, defaultPatience)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	// A replacement that is created before the destroy may be the same run.
	owner, d := req.Private.GetKey(ctx, ownerKey)
	resp.Diagnostics.Append(d...)
	if claimsOf(r.data).takenFrom(string(owner), name) {
		resp.Diagnostics.AddWarning("Execution goes on under its replacement", fmt.Sprintf(
			"The resource that replaces this one has the same job, overrides and triggers, and has taken over execution %s, which still runs. It was not cancelled.", name.Name))
		return
	}

	var e *runpb.Execution
	err := r.data.Client.Confirm(ctx, func() (err error) {
		e, err = r.data.Client.GetExecution(ctx, name.String())
		return err
	})
	switch {
	case gcp.IsNotFound(err):
		return
	case err != nil:
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot read the execution", err, "")
		return
	case StateOf(e).Finished():
		return
	case !state.CancelOnDestroy.ValueBool():
		resp.Diagnostics.AddError(stillRunning(name, e))
		return
	}
	planner, d := req.Private.GetKey(ctx, plannerKey)
	resp.Diagnostics.Append(d...)
	if !mayCancel(string(planner), claimsOf(r.data).planner) {
		resp.Diagnostics.AddWarning(notOurs(name, e))
		return
	}
	w := watcher{api: r.data.Client, clock: r.data.Clock}
	if e, err = w.cancel(ctx, name, e, limit-r.data.Clock.Since(begin)); err != nil {
		resp.Diagnostics.AddError(notCancelled(name, e, err))
		// The resource stays, and the plan is over.
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannerKey, nil)...)
	}
}

// mayCancel reports whether a delete is that of a current object. A deposed one,
// which a replacement with create_before_destroy leaves, may share its execution
// with the object that replaced it: that one adopts what has its key, or did so
// in an earlier apply that was interrupted, of which this process knows nothing.
//
// Terraform does not say which of the two it destroys. But it destroys a current
// object by the plan that another process of the provider has made, and plans
// the destroy of a deposed one anew, in the process that applies. So the plan of
// another one is the proof that is needed; without it nothing is cancelled. This
// depends neither on a refresh nor on the order in which objects are read.
func mayCancel(planner, here string) bool { return planner != "" && planner != here }

// cancel asks for the end of an execution and waits for it. What the execution
// says counts more than the answer: a cancel can be refused because the
// execution has just ended, or fail and work all the same. One that is gone has
// ended.
func (w watcher) cancel(ctx context.Context, name resourcename.Execution, e *runpb.Execution, limit time.Duration) (*runpb.Execution, error) {
	begin := w.clock.Now()
	if !cancelling(e) {
		if _, refused := w.api.CancelExecution(ctx, name.String()); refused != nil {
			latest, err := w.api.GetExecution(ctx, name.String())
			switch {
			case gcp.IsNotFound(err):
				return e, nil
			case err != nil, !cancelling(latest) && !StateOf(latest).Finished():
				return e, refused
			}
			e = latest
		}
	}
	e, err := w.until(ctx, name, e, limit-w.clock.Since(begin), theEnd)
	if errors.Is(err, errForgotten) {
		return e, nil
	}
	return e, err
}
