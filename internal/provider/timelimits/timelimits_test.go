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

// A duration stands at its verb, and what is not given is null.
func TestOf(t *testing.T) {
	t.Parallel()
	if none := timelimits.Of(t.Context(), map[string]string{"create": "", "invented": "1m"}); !none.IsNull() {
		t.Errorf("without a duration it is %s", none)
	}
	some := timelimits.Of(t.Context(), map[string]string{"delete": "5m"})
	if d, diags := some.Delete(t.Context(), timelimits.Default); diags.HasError() || d.String() != "5m0s" {
		t.Errorf("a delete may take %s: %v", d, diags)
	}
	if create := some.Attributes()["create"]; !create.IsNull() {
		t.Errorf("a create may take %s", create)
	}
}
