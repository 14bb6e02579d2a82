// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
)

// NewResource returns the managed resource resilientjob_checkpoint_bucket.
func NewResource() resource.Resource { return &Resource{} }

// Resource is a bucket for checkpoints.
type Resource struct{ data *providerdata.Data }

// Metadata sets the type name.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_checkpoint_bucket"
}

// Configure takes over the configured provider.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = providerdata.FromResource(req, resp)
}

// Identity is what makes a bucket that bucket: names of buckets are unique in the world.
type Identity struct {
	Name types.String `tfsdk:"name"`
}

// IdentitySchema describes the identity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the bucket."},
	}}
}

// setIdentity writes the identity, always beside the state: the framework takes an answer without it for a bug, also when the resource is
// gone.
func setIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, m *Model) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.Set(ctx, Identity{Name: m.Name})
}

// The world that a resource was last seen in is noted in its private state. A bucket itself does not tell: project numbers of the emulator
// are not a form that Google never gives out.
const (
	worldKey = "world"
	emulator = `"emulator"`
	cloud    = `"google cloud"`
)

// private is the private state of a request or a response.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func (r *Resource) world() string {
	if r.data.Emulator {
		return emulator
	}
	return cloud
}

// noteWorld records in which world the bucket was just seen.
func (r *Resource) noteWorld(ctx context.Context, p private) diag.Diagnostics {
	return p.SetKey(ctx, worldKey, []byte(r.world()))
}

// sameWorld refuses to go on with a bucket of the other world: what was made on the emulator is not looked for on Google Cloud, nor the
// other way round. A variable left in a shell must not make Terraform forget, or change, real resources.
func (r *Resource) sameWorld(ctx context.Context, p interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}, m *Model, diagnostics *diag.Diagnostics) bool {
	noted, d := p.GetKey(ctx, worldKey)
	diagnostics.Append(d...)
	if diagnostics.HasError() {
		return false
	}
	if len(noted) == 0 || string(noted) == r.world() {
		return true
	}
	there, here, remedy := "on Google Cloud", "the emulator", "Unset RESILIENTJOB_EMULATOR_HOST to work with it."
	if !r.data.Emulator {
		there, here = "on the emulator", "Google Cloud"
		remedy = "Set RESILIENTJOB_EMULATOR_HOST to work with it, or remove it from the state with \"terraform state rm\" if that emulator is gone."
	}
	diagnostics.AddAttributeError(path.Root("name"), "Emulator and Google Cloud mixed up",
		"The state's bucket "+m.Name.ValueString()+" was made "+there+", and the provider is configured for "+here+". Nothing was changed. "+remedy)
	return false
}
