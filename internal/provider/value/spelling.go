// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// stringFromTerraform converts a protocol value into the base type of all
// types of this package.
func stringFromTerraform(ctx context.Context, in tftypes.Value) (basetypes.StringValue, error) {
	v, err := basetypes.StringType{}.ValueFromTerraform(ctx, in)
	if err != nil {
		return basetypes.NewStringUnknown(), err
	}
	s, ok := v.(basetypes.StringValue)
	if !ok {
		return basetypes.NewStringUnknown(), fmt.Errorf("unexpected value of type %T", v)
	}
	return s, nil
}

// equalBy compares two known values by same; null and unknown equal only
// themselves.
func equalBy(ctx context.Context, a basetypes.StringValue, other basetypes.StringValuable, same func(a, b string) bool) (bool, diag.Diagnostics) {
	b, diags := other.ToStringValue(ctx)
	if diags.HasError() {
		return false, diags
	}
	if a.Equal(b) {
		return true, diags
	}
	if a.IsNull() || a.IsUnknown() || b.IsNull() || b.IsUnknown() {
		return false, diags
	}
	return same(a.ValueString(), b.ValueString()), diags
}
