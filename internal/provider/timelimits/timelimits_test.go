// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package timelimits_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
)

// The descriptions state the default, and the null value has the attribute's type.
func TestAttribute(t *testing.T) {
	t.Parallel()
	a := timelimits.Attribute(t.Context(), "emptying needs more")
	typ, ok := a.GetType().(attr.TypeWithAttributeTypes)
	if !ok || len(typ.AttributeTypes()) != 4 {
		t.Fatalf("type %s", a.GetType())
	}
	null := timelimits.Null(t.Context())
	if !null.IsNull() || len(null.AttributeTypes(t.Context())) != 4 {
		t.Errorf("null is %s with %v", null, null.AttributeTypes(t.Context()))
	}
	for _, verb := range []func() (string, bool){
		func() (string, bool) {
			d, diags := null.Create(t.Context(), timelimits.Default)
			return d.String(), diags.HasError()
		},
		func() (string, bool) {
			d, diags := null.Delete(t.Context(), timelimits.Default)
			return d.String(), diags.HasError()
		},
	} {
		if d, failed := verb(); failed || !strings.HasPrefix(d, "20m") {
			t.Errorf("without a value a verb has %s", d)
		}
	}
}
