// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// A value with several spellings needs three parts in the schema, and nothing
// but this test notices when one is missing: the type, the plan modifier that
// keeps the state's spelling (before RequiresReplace), and one validator.
func TestSpellingsInSchemas(t *testing.T) {
	t.Parallel()
	found := 0
	for _, newResource := range New("test")().Resources(t.Context()) {
		r := newResource()
		var meta resource.MetadataResponse
		r.Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "resilientjob"}, &meta)
		var resp resource.SchemaResponse
		r.Schema(t.Context(), resource.SchemaRequest{}, &resp)
		if diags := resp.Schema.ValidateImplementation(t.Context()); diags.HasError() {
			t.Errorf("%s: %v", meta.TypeName, diags)
		}
		walkAttributes(meta.TypeName, resp.Schema.Attributes, func(at string, a schema.StringAttribute) {
			switch a.CustomType.(type) {
			case value.DurationType, value.QuantityType, value.LocationType:
			default:
				return
			}
			found++
			keeps, replaces := -1, len(a.PlanModifiers)
			for i, m := range a.PlanModifiers {
				switch m {
				case value.KeepEqual():
					keeps = i
				case stringplanmodifier.RequiresReplace():
					replaces = i
				}
			}
			if keeps < 0 || keeps > replaces {
				t.Errorf("%s: value.KeepEqual is not before RequiresReplace in %v", at, a.PlanModifiers)
			}
			if len(a.Validators) == 0 && (a.Optional || a.Required) {
				t.Errorf("%s has no validator", at)
			}
		})
	}
	if found == 0 {
		t.Error("no attribute was looked at")
	}
}

// walkAttributes calls visit for every string attribute, at every depth.
func walkAttributes(at string, attributes map[string]schema.Attribute, visit func(at string, a schema.StringAttribute)) {
	for name, a := range attributes {
		here := at + "." + name
		switch a := a.(type) {
		case schema.StringAttribute:
			visit(here, a)
		case schema.SingleNestedAttribute:
			walkAttributes(here, a.Attributes, visit)
		case schema.MapNestedAttribute:
			walkAttributes(here, a.NestedObject.Attributes, visit)
		case schema.ListNestedAttribute:
			walkAttributes(here, a.NestedObject.Attributes, visit)
		case schema.SetNestedAttribute:
			walkAttributes(here, a.NestedObject.Attributes, visit)
		}
	}
}
