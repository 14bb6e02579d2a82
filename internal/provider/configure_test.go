// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

// configured runs Configure with a block of these attributes.
func configured(t *testing.T, attributes map[string]tftypes.Value, deferralAllowed bool, opts ...Option) provider.ConfigureResponse {
	t.Helper()
	p := New("test", opts...)()
	var s provider.SchemaResponse
	p.Schema(t.Context(), provider.SchemaRequest{}, &s)
	typ, ok := s.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is no object")
	}
	all := map[string]tftypes.Value{}
	for name, attributeType := range typ.AttributeTypes {
		all[name] = tftypes.NewValue(attributeType, nil)
		if v, ok := attributes[name]; ok {
			all[name] = v
		}
	}
	var resp provider.ConfigureResponse
	p.Configure(t.Context(), provider.ConfigureRequest{
		TerraformVersion:   "1.11.4",
		Config:             tfsdk.Config{Schema: s.Schema, Raw: tftypes.NewValue(typ, all)},
		ClientCapabilities: provider.ConfigureProviderClientCapabilities{DeferralAllowed: deferralAllowed},
	}, &resp)
	return resp
}

func TestConfigureHandsOver(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	vars := map[string]string{"GOOGLE_REGION": "europe-west4", "GOOGLE_OAUTH_ACCESS_TOKEN": "token"}
	resp := configured(t, map[string]tftypes.Value{
		"project":         tftypes.NewValue(tftypes.String, "my-project"),
		"plan_validation": tftypes.NewValue(tftypes.String, "warn"),
		"default_labels":  tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"team": tftypes.NewValue(tftypes.String, "ml")}),
	}, false, WithClock(clock), WithEnvironment(func(name string) string { return vars[name] }))
	if len(resp.Diagnostics) != 0 {
		t.Fatal(resp.Diagnostics)
	}
	data, ok := resp.ResourceData.(*providerdata.Data)
	if !ok || resp.DataSourceData != resp.ResourceData {
		t.Fatalf("resources get %T, data sources %T", resp.ResourceData, resp.DataSourceData)
	}
	if data.Project != "my-project" || data.Region != "europe-west4" || data.DefaultLabels["team"] != "ml" || !data.WarnOnly() ||
		data.Clock != clock || data.Client == nil || data.Emulator || data.Deferred() || len(data.Unknown) != 0 {
		t.Errorf("handed over: %+v", data)
	}
	if resp.Deferred != nil || resp.EphemeralResourceData != nil || resp.ActionData != nil || resp.ListResourceData != nil {
		t.Errorf("set without need: %+v", resp)
	}
}

func TestConfigureWithUnknownValues(t *testing.T) {
	t.Parallel()
	unknownString := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	none := WithEnvironment(func(string) string { return "" })
	emulated := WithEnvironment(func(name string) string {
		if name == emulatorEnv {
			return "127.0.0.1:8085"
		}
		return ""
	})
	for _, test := range []struct {
		name            string
		unknown         string
		env             Option
		deferralAllowed bool
		deferred        bool // Data.Deferred
		whole           bool // the whole provider is deferred
	}{
		{"a default", "project", none, true, false, false},
		{"credentials", "credentials", none, false, true, false},
		{"credentials, and Terraform can defer", "credentials", none, true, true, true},
		{"credentials, which the emulator needs not", "credentials", emulated, true, false, false},
		{"a default on the emulator", "project", emulated, true, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			resp := configured(t, map[string]tftypes.Value{test.unknown: unknownString}, test.deferralAllowed, test.env)
			if resp.Diagnostics.HasError() {
				t.Fatal(resp.Diagnostics)
			}
			data, ok := resp.ResourceData.(*providerdata.Data)
			if !ok || data.Client == nil {
				t.Fatalf("handed over: %+v", resp.ResourceData)
			}
			if data.Deferred() != test.deferred || (resp.Deferred != nil) != test.whole {
				t.Errorf("deferred is %t, the whole provider %+v", data.Deferred(), resp.Deferred)
			}
			if isUnknown := slices.Contains(data.Unknown, test.unknown); isUnknown == (data.Emulator && test.unknown == "credentials") {
				t.Errorf("unknown are %v", data.Unknown)
			}
		})
	}
}
