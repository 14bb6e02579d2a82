// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ basetypes.StringTypable                    = LocationType{}
	_ basetypes.StringValuableWithSemanticEquals = Location{}
)

// LocationType is the type of attributes that hold a Google Cloud location.
// Cloud Storage answers in upper case, Cloud Run in lower case; the case means
// nothing.
type LocationType struct{ basetypes.StringType }

// String names the type for developers.
func (LocationType) String() string { return "value.LocationType" }

// Equal reports whether o is the same type.
func (LocationType) Equal(o attr.Type) bool { _, ok := o.(LocationType); return ok }

// ValueType returns an empty value of the type.
func (LocationType) ValueType(context.Context) attr.Value { return Location{} }

// ValueFromString wraps a plain string value.
func (LocationType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Location{in}, nil
}

// ValueFromTerraform converts a protocol value.
func (t LocationType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return Location{s}, err
}

// Location is a value of [LocationType].
type Location struct{ basetypes.StringValue }

// NewLocation returns a known value with the spelling s, unchecked.
func NewLocation(s string) Location { return Location{basetypes.NewStringValue(s)} }

// NewLocationNull returns the null value.
func NewLocationNull() Location { return Location{basetypes.NewStringNull()} }

// NewLocationUnknown returns the value that is not known yet.
func NewLocationUnknown() Location { return Location{basetypes.NewStringUnknown()} }

// Type returns the type of the value.
func (Location) Type(context.Context) attr.Type { return LocationType{} }

// Equal reports whether o is a location with the same spelling.
func (l Location) Equal(o attr.Value) bool {
	other, ok := o.(Location)
	return ok && l.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both differ by case at most.
func (l Location) StringSemanticEquals(ctx context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	return equalBy(ctx, l.StringValue, o, func(a, b string) bool {
		return CanonicalLocation(a) == CanonicalLocation(b)
	})
}

// Canonical returns the location in lower case, as it is sent to Google.
func (l Location) Canonical() string { return CanonicalLocation(l.ValueString()) }

// CanonicalLocation returns a location in lower case.
func CanonicalLocation(s string) string { return strings.ToLower(s) }
