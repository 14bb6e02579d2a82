// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// ImportState reads an existing bucket into a whole state: every default is written, since the framework applies none on import, and
// values have their shortest spelling. The API does not name a bucket's project, so that it is the one of the import id, else the
// provider's.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	bucket, ok := r.importName(ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	if r.data == nil || r.data.Deferred() {
		resp.Diagnostics.AddError("Cannot import yet", "The provider's configuration is not known, so that the bucket cannot be read. Import when it is.")
		return
	}
	live, err := r.data.Client.GetBucket(ctx, bucket.Name)
	if err != nil {
		hint := ""
		if gcp.IsNotFound(err) {
			hint = "Only an existing bucket can be imported. Check the name."
		}
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot import the bucket", err, hint)
		return
	}
	prior := blank(ctx, bucket.Name)
	if bucket.Project == "" {
		bucket.Project = r.data.Project
	}
	if bucket.Project != "" {
		prior.Project = types.StringValue(bucket.Project)
	}
	prior.ForceDestroy = types.BoolValue(false)
	prior.Labels, prior.TerraformLabels = labels.Import(r.data, live.Labels)
	m := flatten(live, &prior)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(r.noteWorld(ctx, resp.Private)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, &m)...)
}

// importName reads the id or the identity.
func (r *Resource) importName(ctx context.Context, req resource.ImportStateRequest, diagnostics *diag.Diagnostics) (resourcename.Bucket, bool) {
	id := req.ID
	if id == "" && req.Identity != nil {
		var identity Identity
		diagnostics.Append(req.Identity.Get(ctx, &identity)...)
		if diagnostics.HasError() {
			return resourcename.Bucket{}, false
		}
		id = identity.Name.ValueString()
	}
	bucket, err := resourcename.ParseBucket(id)
	if err != nil {
		text := err.Error()
		diagnostics.AddError("Invalid import id", strings.ToUpper(text[:1])+text[1:]+".")
	}
	return bucket, err == nil
}
