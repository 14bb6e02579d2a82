// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
)

// conflictBudget is how long an update goes on against others who change the bucket at the same time.
const conflictBudget = time.Minute

// Update reads the bucket, changes what differs from the plan, and reads it again. When nothing differs nothing is sent.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, &state)...)
	limit, d := plan.Timeouts.Update(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() || !r.sameWorld(ctx, req.Private, &state, &resp.Diagnostics) {
		return
	}
	given, lost := readGiven(ctx, req.Private, &state, &resp.Diagnostics), lostNote(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	live := r.change(ctx, &plan, &state, &resp.Diagnostics)
	if live == nil {
		return
	}
	m := complete(plan, flatten(live, &plan))
	given = r.share(ctx, &plan, &state, &m, given, lost, "Everything else of the bucket was changed as planned. Mend the cause and apply again.", &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(context.WithoutCancel(ctx), &m)...)
	resp.Diagnostics.Append(noteGiven(ctx, resp.Private, given)...)
	// An update that ended early may have more to take over.
	resp.Diagnostics.Append(noteLost(ctx, resp.Private, lost && resp.Diagnostics.HasError())...)
}

// change brings the bucket to the plan and returns it as it was read last.
func (r *Resource) change(ctx context.Context, plan, state *Model, diagnostics *diag.Diagnostics) *storage.Bucket {
	name := plan.Name.ValueString()
	pauses := gcp.Backoff{Budget: conflictBudget, Clock: r.data.Clock}.Start()
	var refused int64 // the metageneration that a change was refused for
	for {
		var live *storage.Bucket
		err := r.data.Client.Confirm(ctx, func() (err error) {
			live, err = r.data.Client.GetBucket(ctx, name)
			return err
		})
		if err != nil {
			diags.Error(diagnostics, path.Root("name"), "Cannot read the bucket before changing it", err, "")
			return nil
		}
		patch := expandUpdate(plan, state, live)
		if patch == nil {
			return live
		}
		patched, err := r.data.Client.PatchBucket(ctx, name, patch, gcp.IfMetageneration(live.Metageneration))
		// Where nobody has changed it since the last refusal, the refusal means something else.
		if gcp.IsConflict(err) && refused != live.Metageneration && pauses.Wait(ctx, 0) {
			refused = live.Metageneration
			continue // somebody changed it in between: look again
		}
		if err != nil {
			refuse(plan, diagnostics, "Cannot change the bucket", err)
			return nil
		}
		read, err := r.data.Client.GetBucket(ctx, name)
		if err != nil {
			// The answer to the change is the whole bucket.
			diags.Warning(diagnostics, path.Root("name"), "Bucket not read back", err, "The bucket was changed. The next plan reads it again.")
			return patched
		}
		return read
	}
}
