// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
)

// countLimit bounds the counting of objects for an error message.
const countLimit = 10000

// emptyings is how often a bucket is emptied again, when others go on writing to it.
const emptyings = 3

// Delete deletes the bucket. The API itself refuses one that is not empty, so that nothing can be lost between a look and the delete; only
// with force_destroy in the state its content is deleted.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, d := state.Timeouts.Delete(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() || !r.sameWorld(ctx, req.Private, &state, &resp.Diagnostics) {
		return
	}
	noted, d := req.Private.GetKey(ctx, worldKey)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() || len(noted) == 0 && !r.sameBucket(ctx, &state, &resp.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	if !r.unused(ctx, &state, &resp.Diagnostics) {
		return
	}
	name := state.Name.ValueString()
	err := r.data.Client.Confirm(ctx, func() error { return r.data.Client.DeleteBucket(ctx, name) })
	switch {
	case err == nil || gcp.IsNotFound(err):
	case !notEmpty(err):
		diags.Error(&resp.Diagnostics, path.Root("name"), "Cannot delete the bucket", err, "")
	case !state.ForceDestroy.ValueBool():
		r.refuse(ctx, name, err, &resp.Diagnostics)
	default:
		r.destroyAll(ctx, name, &resp.Diagnostics)
	}
}

// sameBucket stands in for the note of the world, which a tainted bucket has lost: a bucket that was made at another time is not deleted.
func (r *Resource) sameBucket(ctx context.Context, state *Model, diagnostics *diag.Diagnostics) bool {
	name, made := state.Name.ValueString(), state.TimeCreated.ValueString()
	live, err := r.data.Client.GetBucket(ctx, name)
	if err != nil || made == "" || live.TimeCreated == made {
		return true // the delete itself says what is wrong with a bucket that cannot be read
	}
	diagnostics.AddAttributeError(path.Root("name"), "Bucket is another one", fmt.Sprintf(
		"The bucket %s was made at %s, and the one of the state at %s. Nothing was deleted.\n\n"+
			"To delete it all the same, run \"terraform apply -refresh-only\", which takes it over, and then destroy. To keep it, take it out of the state with \"terraform state rm\".",
		name, live.TimeCreated, made))
	return false
}

// notEmpty reports whether a delete was refused because of what the bucket holds.
func notEmpty(err error) bool {
	e, ok := gcp.AsError(err)
	return ok && e.Code == codes.FailedPrecondition
}

// refuse says how much there is in the bucket and what to do.
func (r *Resource) refuse(ctx context.Context, name string, err error, diagnostics *diag.Diagnostics) {
	n, more, countErr := r.data.Client.CountObjects(ctx, name, countLimit)
	holds := "It holds folders or other things, but no objects."
	switch {
	case countErr != nil:
		holds = "How much it holds could not be counted: " + countErr.Error() + "."
	case more:
		holds = "It holds more than " + objects(n) + " (older versions count)."
	case n > 0:
		holds = "It holds " + objects(n) + " (older versions count)."
	}
	diags.Error(diagnostics, path.Root("force_destroy"), "Bucket is not empty", err, holds+" Nothing was deleted.\n\n"+
		"To delete the bucket with everything in it, set force_destroy = true, apply that to the bucket alone "+
		"(terraform apply -target=resilientjob_checkpoint_bucket.NAME: an apply of everything would also make again, and run again, what this destroy has removed), and then destroy. To keep the bucket, take it out of Terraform with a removed block or \"terraform state rm\".")
}

// destroyAll empties the bucket and deletes it.
func (r *Resource) destroyAll(ctx context.Context, name string, diagnostics *diag.Diagnostics) {
	total := 0
	var failed error
	for range emptyings {
		deleted, emptyErr := r.data.Client.EmptyBucket(ctx, name)
		total += deleted
		if gcp.IsNotFound(emptyErr) && deleted == 0 {
			return
		}
		if ctx.Err() != nil {
			failed = emptyErr
			break
		}
		// Whether it is empty decides the API: a listing that was denied does not matter when there was nothing to list.
		err := r.data.Client.Confirm(ctx, func() error { return r.data.Client.DeleteBucket(ctx, name) })
		if err == nil || gcp.IsNotFound(err) {
			return
		}
		failed = errors.Join(emptyErr, err)
		if emptyErr != nil || !notEmpty(err) {
			break
		}
	}
	diags.Error(diagnostics, path.Root("name"), "Cannot delete the bucket", failed,
		"Deleted before that: "+objects(total)+". Destroy again to go on; while jobs write to the bucket it cannot be emptied.")
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
