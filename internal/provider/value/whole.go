// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ basetypes.Int64Typable      = WholeType{}
	_ basetypes.Int64Valuable     = Whole{}
	_ xattr.ValidateableAttribute = Whole{}
)

// WholeType is the type of attributes that hold a whole number. The framework
// calls 0.5, or a number that is too big for it, an error of the provider; here
// it is one message at the attribute.
type WholeType struct{ basetypes.Int64Type }

// String names the type for developers.
func (WholeType) String() string { return "value.WholeType" }

// Equal reports whether o is the same type.
func (WholeType) Equal(o attr.Type) bool { _, ok := o.(WholeType); return ok }

// ValueType returns an empty value of the type.
func (WholeType) ValueType(context.Context) attr.Value { return Whole{} }

// ValueFromInt64 wraps a plain value.
func (WholeType) ValueFromInt64(_ context.Context, in basetypes.Int64Value) (basetypes.Int64Valuable, diag.Diagnostics) {
	return Whole{Int64Value: in}, nil
}

// ValueFromTerraform converts a protocol value. A number that is not whole
// becomes a value that refuses itself.
func (t WholeType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	var n *big.Float
	if in.IsKnown() && !in.IsNull() && in.As(&n) == nil {
		if _, accuracy := n.Int64(); accuracy != big.Exact {
			return Whole{Int64Value: basetypes.NewInt64Value(0), odd: n.Text('g', 6)}, nil
		}
	}
	v, err := t.Int64Type.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	whole, ok := v.(basetypes.Int64Value)
	if !ok {
		return nil, fmt.Errorf("unexpected value of type %T", v)
	}
	return Whole{Int64Value: whole}, nil
}

// Whole is a value of [WholeType].
type Whole struct {
	basetypes.Int64Value
	odd string // what is written instead of a whole number
}

// NewWhole returns a known value.
func NewWhole(n int64) Whole { return Whole{Int64Value: basetypes.NewInt64Value(n)} }

// NewWholeNull returns the null value.
func NewWholeNull() Whole { return Whole{Int64Value: basetypes.NewInt64Null()} }

// Type returns the type of the value.
func (Whole) Type(context.Context) attr.Type { return WholeType{} }

// Equal reports whether o is the same number.
func (w Whole) Equal(o attr.Value) bool {
	other, ok := o.(Whole)
	return ok && w.odd == other.odd && w.Int64Value.Equal(other.Int64Value)
}

// ValidateAttribute refuses what is no whole number.
func (w Whole) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if w.odd != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Not a whole number", fmt.Sprintf(
			"%s = %s cannot be used: write a whole number, without a fraction and below 9223372036854775808.", req.Path, w.odd))
	}
}
