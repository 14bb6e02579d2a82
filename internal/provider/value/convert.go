// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Known reports whether an attribute has a value that can be used.
func Known(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// Filled returns what was planned, and what was read where the plan left it
// open.
func Filled[T attr.Value](planned, read T) T {
	if planned.IsUnknown() {
		return read
	}
	return planned
}

// Strings returns the known elements of a map of strings, never nil.
func Strings(m types.Map) map[string]string {
	out := make(map[string]string, len(m.Elements()))
	for k, v := range m.Elements() {
		if s, ok := v.(types.String); ok && Known(s) {
			out[k] = s.ValueString()
		}
	}
	return out
}

// MapOf makes a map of strings.
func MapOf(m map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(m))
	for k, v := range m {
		elements[k] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, elements)
}

// Elements returns the known elements of a list or set of strings, in its
// order.
func Elements(l interface{ Elements() []attr.Value }) []string {
	var out []string
	for _, v := range l.Elements() {
		if s, ok := v.(types.String); ok && Known(s) {
			out = append(out, s.ValueString())
		}
	}
	return out
}

// ListOf makes a list of strings.
func ListOf(items []string) types.List {
	return types.ListValueMust(types.StringType, stringValues(items))
}

// SetOf makes a set of strings, which must not hold one twice.
func SetOf(items []string) types.Set {
	return types.SetValueMust(types.StringType, stringValues(items))
}

func stringValues(items []string) []attr.Value {
	out := make([]attr.Value, 0, len(items))
	for _, s := range items {
		out = append(out, types.StringValue(s))
	}
	return out
}
