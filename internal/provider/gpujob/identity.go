// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Identity is what makes a job that job, for import by identity.
type Identity struct {
	Project  types.String `tfsdk:"project"`
	Location types.String `tfsdk:"location"`
	Name     types.String `tfsdk:"name"`
}

// IdentitySchema describes the identity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"project":  identityschema.StringAttribute{OptionalForImport: true, Description: "Google Cloud project. Default: the provider's."},
		"location": identityschema.StringAttribute{OptionalForImport: true, Description: "Region. Default: the provider's."},
		"name":     identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the job."},
	}}
}

// setIdentity writes the identity, always whole and always beside the state: the
// framework takes an answer without it for a bug, also when the resource is gone.
func setIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, job resourcename.Job) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.Set(ctx, Identity{
		Project: types.StringValue(job.Project), Location: types.StringValue(job.Location), Name: types.StringValue(job.Name),
	})
}
