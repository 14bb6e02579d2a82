// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// TestKeepEqual plans with the modifier alone; whole plans are in the tests of
// the resources.
func TestKeepEqual(t *testing.T) {
	t.Parallel()
	s := schema.Schema{Attributes: map[string]schema.Attribute{
		"timeout":  schema.StringAttribute{Optional: true, CustomType: value.DurationType{}},
		"memory":   schema.StringAttribute{Optional: true, CustomType: value.QuantityType{}},
		"location": schema.StringAttribute{Optional: true, CustomType: value.LocationType{}},
		"plain":    schema.StringAttribute{Optional: true},
		"nested": schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"size": schema.StringAttribute{Optional: true, CustomType: value.QuantityType{}},
		}}},
	}}
	size := path.Root("nested").AtMapKey("scratch").AtName("size")
	for _, test := range []struct {
		name              string
		at                path.Path
		state, plan, want types.String
	}{
		{"another spelling", path.Root("timeout"), types.StringValue("12h"), types.StringValue("720m"), types.StringValue("12h")},
		{"server spelling in state", path.Root("timeout"), types.StringValue("3.500s"), types.StringValue("3.5s"), types.StringValue("3.500s")},
		{"another value", path.Root("timeout"), types.StringValue("12h"), types.StringValue("6h"), types.StringValue("6h")},
		{"quantity", path.Root("memory"), types.StringValue("34359738368"), types.StringValue("32Gi"), types.StringValue("34359738368")},
		{"location", path.Root("location"), types.StringValue("US-CENTRAL1"), types.StringValue("us-central1"), types.StringValue("US-CENTRAL1")},
		{"in a map", size, types.StringValue("1Gi"), types.StringValue("1024Mi"), types.StringValue("1Gi")},
		{"plain string", path.Root("plain"), types.StringValue("12h"), types.StringValue("720m"), types.StringValue("720m")},
		{"create", path.Root("timeout"), types.StringNull(), types.StringValue("720m"), types.StringValue("720m")},
		{"removed", path.Root("timeout"), types.StringValue("12h"), types.StringNull(), types.StringNull()},
		{"unknown", path.Root("timeout"), types.StringValue("12h"), types.StringUnknown(), types.StringUnknown()},
		{"misspelt", path.Root("timeout"), types.StringValue("12h"), types.StringValue("soon"), types.StringValue("soon")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			req := planmodifier.StringRequest{Path: test.at, StateValue: test.state, PlanValue: test.plan, Plan: tfsdk.Plan{Schema: s}}
			resp := planmodifier.StringResponse{PlanValue: test.plan}
			value.KeepEqual().PlanModifyString(t.Context(), req, &resp)
			if resp.Diagnostics.HasError() || !resp.PlanValue.Equal(test.want) {
				t.Errorf("planned %s, %v; want %s", resp.PlanValue, resp.Diagnostics, test.want)
			}
		})
	}
}

func TestValidators(t *testing.T) {
	t.Parallel()
	timeout := value.DurationBetween(time.Second, 168*time.Hour).Because("Cloud Run stops a task after seven days.")
	for _, test := range []struct {
		name      string
		validator validator.String
		in        types.String
		want      string // summary and detail; "" accepts
	}{
		{"in range", timeout, types.StringValue("12h"), ""},
		{"lower end", timeout, types.StringValue("1s"), ""},
		{"upper end", timeout, types.StringValue("7h"), ""},
		{"null", timeout, types.StringNull(), ""},
		{"unknown", timeout, types.StringUnknown(), ""},
		{"too long", timeout, types.StringValue("200h"), `Duration out of range|attribute = "200h" is longer than 168h. Cloud Run stops a task after seven days. Write a duration from 1s to 168h; the longest is "168h".`},
		{"zero", timeout, types.StringValue("0s"), `Duration out of range|attribute = "0s" is shorter than 1s.`},
		{"no unit", timeout, types.StringValue("600"), `Invalid duration|attribute: "600" is not a duration: write "600s".`},
		{"duration", value.IsDuration(), types.StringValue("1m"), ""},
		{"duration zero", value.IsDuration(), types.StringValue("0s"), `Invalid duration|attribute: "0s" is not more than zero: write a duration such as "90m".`},
		{"quantity", value.IsQuantity(), types.StringValue("16Gi"), ""},
		{"quantity bad", value.IsQuantity(), types.StringValue("16GB"), `Invalid quantity|attribute: "16GB" is not a quantity: write "16Gi".`},
		{"cpu", value.IsCPU(), types.StringValue("4000m"), ""},
		{"cpu bad", value.IsCPU(), types.StringValue("0"), `Invalid amount of CPU|attribute: "0" is not more than zero`},
		{"memory", value.IsMemory(), types.StringValue("4Gi"), ""},
		{"memory bad", value.IsMemory(), types.StringValue("512m"), `Invalid amount of memory|attribute: "512m" is not an amount of memory`},
		{"location", value.IsLocation(), types.StringValue("us-central1"), ""},
		{"location zone", value.IsLocation(), types.StringValue("us-central1-a"), `Invalid location|attribute: "us-central1-a" is a zone: write its region, "us-central1".`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			req := validator.StringRequest{Path: path.Root("attribute"), ConfigValue: test.in}
			var resp validator.StringResponse
			test.validator.ValidateString(t.Context(), req, &resp)
			checkDiagnostics(t, resp.Diagnostics, path.Root("attribute"), test.want)
			if test.validator.Description(t.Context()) == "" || test.validator.MarkdownDescription(t.Context()) == "" {
				t.Error("the validator does not say what it accepts")
			}
		})
	}
}

// checkDiagnostics wants no diagnostic, or exactly one at p, whose
// "summary|detail" begins with want.
func checkDiagnostics(t *testing.T, diags diag.Diagnostics, p path.Path, want string) {
	t.Helper()
	if want == "" {
		if len(diags) > 0 {
			t.Errorf("unwanted: %v", diags)
		}
		return
	}
	if len(diags) != 1 {
		t.Fatalf("%d diagnostics, want one: %v", len(diags), diags)
	}
	at, ok := diags[0].(diag.DiagnosticWithPath)
	if !ok || !at.Path().Equal(p) {
		t.Errorf("the diagnostic is not at %s: %v", p, diags[0])
	}
	if got := diags[0].Summary() + "|" + diags[0].Detail(); !strings.HasPrefix(got, want) {
		t.Errorf("the message is\n%s\nwant\n%s", got, want)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ key, val, want string }{
		{"team", "ml", ""},
		{"team", "", ""}, // case 100
		{"größe", "groß", ""},
		{"a_b-1", "1-a_b", ""},
		{"", "x", "the key is empty"},
		{"Team", "ml", "the key \"Team\" is not in lower case, as keys of labels are: write \"team\""},
		{"1team", "ml", "with a letter first"},
		{"team", "ML", "the value \"ML\" is not in lower case"},
		{"team", "a b", "the value \"a b\" is not allowed"},
		{strings.Repeat("k", 64), "x", "the key has 64 characters, and 63 is the most"},
		{"k", strings.Repeat("v", 64), "the value has 64 characters, and 63 is the most"},
		{"run.googleapis.com/foo", "x", "keys in run.googleapis.com belong to Google"},
	} {
		err := value.CheckLabel(test.key, test.val)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q = %q: %v; want %q", test.key, test.val, err, test.want)
		}
	}
}

func TestIsLabels(t *testing.T) {
	t.Parallel()
	labels := func(m map[string]string) types.Map {
		v, diags := types.MapValueFrom(t.Context(), types.StringType, m)
		if diags.HasError() {
			t.Fatal(diags)
		}
		return v
	}
	many := map[string]string{}
	for _, a := range "abcdefghi" {
		for _, b := range "abcdefgh" {
			many[string(a)+string(b)] = ""
		}
	}
	for _, test := range []struct {
		name string
		in   types.Map
		at   path.Path
		want string
	}{
		{"good", labels(map[string]string{"a": "b"}), path.Root("labels"), ""},
		{"null", types.MapNull(types.StringType), path.Root("labels"), ""},
		{"unknown", types.MapUnknown(types.StringType), path.Root("labels"), ""},
		{"one bad", labels(map[string]string{"a": "b", "c": "D"}), path.Root("labels").AtMapKey("c"), `Invalid label|labels["c"]: the value "D" is not in lower case`},
		{"too many", labels(many), path.Root("labels"), "Too many labels|labels has 72 labels, and 64 is the most that a resource of Google Cloud can have. Take some out."},
		{"unknown value", types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringUnknown()}), path.Root("labels"), ""},
		{"null value", types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringNull()}), path.Root("labels").AtMapKey("a"), `Invalid label|labels["a"]: the value is null: write ""`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var resp validator.MapResponse
			value.IsLabels().ValidateMap(t.Context(), validator.MapRequest{Path: path.Root("labels"), ConfigValue: test.in}, &resp)
			checkDiagnostics(t, resp.Diagnostics, test.at, test.want)
		})
	}
}

// The types must carry null, unknown and known through the protocol.
func TestTypesFromTerraform(t *testing.T) {
	t.Parallel()
	for _, typ := range []attr.Type{value.DurationType{}, value.QuantityType{}, value.LocationType{}} {
		for _, in := range []tftypes.Value{
			tftypes.NewValue(tftypes.String, nil), tftypes.NewValue(tftypes.String, tftypes.UnknownValue), tftypes.NewValue(tftypes.String, "1"),
		} {
			v, err := typ.ValueFromTerraform(t.Context(), in)
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			out, err := v.ToTerraformValue(t.Context())
			if err != nil || !out.Equal(in) {
				t.Errorf("%s: %s becomes %s, %v", typ, in, out, err)
			}
			if !v.Type(t.Context()).Equal(typ) || !typ.ValueType(t.Context()).Type(t.Context()).Equal(typ) {
				t.Errorf("%s: the value has the type %s", typ, v.Type(t.Context()))
			}
		}
		if _, err := typ.ValueFromTerraform(t.Context(), tftypes.NewValue(tftypes.Bool, true)); err == nil {
			t.Errorf("%s accepts a bool", typ)
		}
	}
}
