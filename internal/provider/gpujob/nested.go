// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// decode returns an object attribute as T; nil when it is null or unknown.
func decode[T any](ctx context.Context, v attr.Value, diags *diag.Diagnostics) *T {
	o, ok := v.(types.Object)
	if !ok || !value.Known(o) {
		return nil
	}
	var out T
	diags.Append(o.As(ctx, &out, basetypes.ObjectAsOptions{})...)
	return &out
}

// decodeMap returns the elements of a map of objects that are known.
func decodeMap[T any](ctx context.Context, m types.Map, diags *diag.Diagnostics) map[string]*T {
	out := make(map[string]*T, len(m.Elements()))
	for k, v := range m.Elements() {
		if e := decode[T](ctx, v, diags); e != nil {
			out[k] = e
		}
	}
	return out
}

// encode returns v as an object attribute; null for nil.
func encode[T any](ctx context.Context, of map[string]attr.Type, v *T, diags *diag.Diagnostics) types.Object {
	if v == nil {
		return types.ObjectNull(of)
	}
	o, d := types.ObjectValueFrom(ctx, of, v)
	diags.Append(d...)
	return o
}

// encodeMap returns objects as a map attribute. An empty one is null, unless
// prior is an empty map too.
func encodeMap[T any](ctx context.Context, of map[string]attr.Type, m map[string]*T, prior types.Map, diags *diag.Diagnostics) types.Map {
	elementType := types.ObjectType{AttrTypes: of}
	if len(m) == 0 {
		if value.Known(prior) && len(prior.Elements()) == 0 {
			return prior
		}
		return types.MapNull(elementType)
	}
	elements := make(map[string]attr.Value, len(m))
	for k, v := range m {
		elements[k] = encode(ctx, of, v, diags)
	}
	return types.MapValueMust(elementType, elements)
}

// partlyUnknown tells whether a map or one of its elements is unknown as a whole.
func partlyUnknown(m types.Map) bool {
	if m.IsUnknown() {
		return true
	}
	for _, v := range m.Elements() {
		if v.IsUnknown() {
			return true
		}
	}
	return false
}

// text is the API's text as an attribute: null where it is empty.
func text(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// keepSame plans the state's spelling of a name where the configuration has the
// same name in another one: bare, which means the job's own project and region,
// or in full. Only what is certainly the same counts: the number of a project may
// be that of another one.
type keepSame struct {
	same func(a, b string, at placement.Place) bool
}

func (keepSame) Description(context.Context) string {
	return "Another spelling of the same name is no change."
}

func (k keepSame) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (k keepSame) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !value.Known(req.StateValue) || !value.Known(req.PlanValue) {
		return
	}
	var at placement.Place
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("project"), &at.Project)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("location"), &at.Location)...)
	if !resp.Diagnostics.HasError() && k.same(req.StateValue.ValueString(), req.PlanValue.ValueString(), at) {
		resp.PlanValue = req.StateValue
	}
}
