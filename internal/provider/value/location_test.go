// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value_test

import (
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func TestLocationSemanticEquality(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b value.Location
		want bool
	}{
		{value.NewLocation("US-CENTRAL1"), value.NewLocation("us-central1"), true},
		{value.NewLocation("us-central1"), value.NewLocation("us-east1"), false},
		{value.NewLocationNull(), value.NewLocation(""), false},
		{value.NewLocationUnknown(), value.NewLocationNull(), false},
	} {
		for _, pair := range [][2]value.Location{{test.a, test.b}, {test.b, test.a}} {
			got, diags := pair[0].StringSemanticEquals(t.Context(), pair[1])
			if diags.HasError() || got != test.want {
				t.Errorf("%s equals %s: %t, %v; want %t", pair[0], pair[1], got, diags, test.want)
			}
		}
	}
	if got := value.NewLocation("EUROPE-WEST4").Canonical(); got != "europe-west4" {
		t.Errorf("canonical: %q", got)
	}
}
