// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// KeepEqual plans the state's spelling where the plan has the same value in
// another one, so that neither "12h" rewritten as "720m" nor an import plans a
// change. It works for every type with semantic equality, and must stand
// before RequiresReplace. Terraform allows a provider to plan the prior value
// instead of the configured one.
func KeepEqual() planmodifier.String { return keepEqual{} }

type keepEqual struct{}

func (keepEqual) Description(context.Context) string {
	return "Another spelling of the same value is no change."
}

func (k keepEqual) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (keepEqual) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.StateValue.IsNull() || req.StateValue.IsUnknown() || req.PlanValue.IsNull() || req.PlanValue.IsUnknown() {
		return
	}
	// The request holds base values: the type of the attribute knows what is equal.
	typ, diags := req.Plan.Schema.TypeAtPath(ctx, req.Path)
	if diags.HasError() {
		resp.Diagnostics.Append(diags...)
		return
	}
	stringType, ok := typ.(basetypes.StringTypable)
	if !ok {
		return
	}
	planned, diags := stringType.ValueFromString(ctx, req.PlanValue)
	resp.Diagnostics.Append(diags...)
	state, diags := stringType.ValueFromString(ctx, req.StateValue)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	spelling, ok := state.(basetypes.StringValuableWithSemanticEquals)
	if !ok {
		return
	}
	equal, diags := spelling.StringSemanticEquals(ctx, planned)
	resp.Diagnostics.Append(diags...)
	if equal {
		resp.PlanValue = req.StateValue
	}
}
