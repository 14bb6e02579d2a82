// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// BinaryAuthorization is the attribute binary_authorization.
type BinaryAuthorization struct {
	UseDefault              types.Bool   `tfsdk:"use_default"`
	Policy                  types.String `tfsdk:"policy"`
	BreakglassJustification types.String `tfsdk:"breakglass_justification"`
}

var binaryAuthorizationTypes = map[string]attr.Type{
	"use_default": types.BoolType, "policy": types.StringType, "breakglass_justification": types.StringType,
}

func binaryAuthorizationAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Admits only images that a Binary Authorization policy accepts: exactly one of `use_default` and `policy`. Default: every image is admitted.",
		Optional:            true,
		Validators:          []validator.Object{onePolicy{}},
		Attributes: map[string]schema.Attribute{
			"use_default": schema.BoolAttribute{
				MarkdownDescription: "`true` uses the project's default policy. Default: `policy` is used.",
				Optional:            true,
				Validators:          []validator.Bool{onlyTrue{}},
			},
			"policy": schema.StringAttribute{
				MarkdownDescription: "A platform policy, `projects/PROJECT/platforms/cloudRun/policies/NAME`. Default: the one of `use_default`.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("a policy", "Invalid Binary Authorization policy", checkPolicy)},
			},
			"breakglass_justification": schema.StringAttribute{
				MarkdownDescription: "Why an image that the policy does not accept is admitted nevertheless. Only with `use_default`. Default: it is not.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("a reason", "Invalid justification", checkJustification)},
			},
		},
	}
}

func encryptionKeyAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: "Key of Cloud KMS that encrypts the deployed image, `projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY`. " +
			"Cloud Run's service agent needs `roles/cloudkms.cryptoKeyEncrypterDecrypter` on it. Default: Google's own key.",
		Optional:   true,
		Validators: []validator.String{value.Parses("a key of Cloud KMS", "Invalid encryption key", resourcename.CheckKey)},
	}
}

func overlayBinaryAuthorization(ctx context.Context, job *runpb.Job, m *Model, diags *diag.Diagnostics) {
	b := decode[BinaryAuthorization](ctx, m.BinaryAuthorization, diags)
	if b == nil {
		job.BinaryAuthorization = nil
		return
	}
	if job.BinaryAuthorization == nil {
		job.BinaryAuthorization = &runpb.BinaryAuthorization{}
	}
	if value.Known(b.Policy) {
		job.BinaryAuthorization.BinauthzMethod = &runpb.BinaryAuthorization_Policy{Policy: b.Policy.ValueString()}
	} else {
		job.BinaryAuthorization.BinauthzMethod = &runpb.BinaryAuthorization_UseDefault{UseDefault: b.UseDefault.ValueBool()}
	}
	job.BinaryAuthorization.BreakglassJustification = b.BreakglassJustification.ValueString()
}

func flattenBinaryAuthorization(ctx context.Context, job *runpb.Job, prior *Model, diags *diag.Diagnostics) types.Object {
	live := job.GetBinaryAuthorization()
	if !live.GetUseDefault() && live.GetPolicy() == "" && live.GetBreakglassJustification() == "" {
		return types.ObjectNull(binaryAuthorizationTypes)
	}
	b := &BinaryAuthorization{UseDefault: types.BoolNull(), Policy: text(live.GetPolicy()), BreakglassJustification: text(live.GetBreakglassJustification())}
	if live.GetUseDefault() {
		b.UseDefault = types.BoolValue(true)
	}
	if before := decode[BinaryAuthorization](ctx, prior.BinaryAuthorization, diags); before != nil {
		b.Policy = keepName(alwaysFull, prior.place(), b.Policy, before.Policy)
	}
	return encode(ctx, binaryAuthorizationTypes, b, diags)
}
