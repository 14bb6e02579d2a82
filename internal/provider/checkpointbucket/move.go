// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/googlestate"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

var _ resource.ResourceWithMoveState = (*Resource)(nil)

// MoveState takes over a google_storage_bucket, from its state alone: Terraform moves before it configures a provider. The read that
// follows brings what the state does not tell.
func (r *Resource) MoveState(context.Context) []resource.StateMover {
	return googlestate.Movers(googlestate.BucketType, move)
}

func move(ctx context.Context, raw []byte, version int64, resp *resource.MoveStateResponse) {
	source, problems := googlestate.ReadBucket(raw, version)
	if googlestate.Refuse(googlestate.BucketType, problems, &resp.Diagnostics) {
		return
	}
	name := source.Live.Name
	googlestate.WarnOfPolicy(source.DeletionPolicy, googlestate.BucketType, "bucket", name, &resp.Diagnostics)
	if len(source.Others) > 0 {
		resp.Diagnostics.AddWarning("Settings that are not managed", fmt.Sprintf(
			"The bucket %s has %s. This resource has no attributes for them: they stay on the bucket as they are.", name, strings.Join(source.Others, ", ")))
	}
	prior := blank(ctx, name)
	if source.Project != "" {
		prior.Project = types.StringValue(source.Project)
	}
	prior.ForceDestroy = types.BoolValue(source.ForceDestroy)
	if len(source.Labels.Own) > 0 {
		prior.Labels = value.MapOf(source.Labels.Own)
	}
	prior.TerraformLabels = value.MapOf(source.Labels.All)
	m := flatten(source.Live, &prior)
	if source.Live.TimeCreated == "" {
		m.TimeCreated = types.StringNull()
	}
	m.Timeouts = timelimits.Of(ctx, source.Timeouts)
	resp.Diagnostics.Append(resp.TargetState.Set(ctx, &m)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.TargetIdentity, &m)...)
	resp.Diagnostics.Append(noteGiven(ctx, resp.TargetPrivate, nil)...) // what is granted was granted by others
}
