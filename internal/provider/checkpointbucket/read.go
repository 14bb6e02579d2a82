// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
)

// Read brings the state up to date. Only a bucket that Google says does not exist is dropped.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, &state)...)
	limit, d := state.Timeouts.Read(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() || !r.data.CanRead(&resp.Diagnostics) || !r.sameWorld(ctx, req.Private, &state, &resp.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var live *storage.Bucket
	err := r.data.Client.Confirm(ctx, func() (err error) {
		live, err = r.data.Client.GetBucket(ctx, state.Name.ValueString())
		return err
	})
	switch {
	case gcp.IsNotFound(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		diags.Error(&resp.Diagnostics, path.Root("name"), "Cannot read the bucket", err, "")
		return
	}
	m := flatten(live, &state)
	lost := lostNote(ctx, req.Private, &resp.Diagnostics)
	given := r.stillShared(ctx, &m, readGiven(ctx, req.Private, &state, &resp.Diagnostics), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(r.noteWorld(ctx, resp.Private)...)
	resp.Diagnostics.Append(noteGiven(ctx, resp.Private, given)...)
	resp.Diagnostics.Append(noteLost(ctx, resp.Private, lost)...)
}
