// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

const typeName = "resilientjob_gpu_job"

// harness serves the resource alone, for tests of validation and plan that need
// no API: the provider is deferred, so that any call would be a mistake.
type harness struct {
	t      testing.TB
	server tfprotov6.ProviderServer
	typ    tftypes.Object
}

// unknown stands for a value that is not known yet.
type unknown struct{}

type onlyResource struct{ data *providerdata.Data }

func (*onlyResource) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "resilientjob"
}
func (*onlyResource) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (p *onlyResource) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = p.data
}
func (*onlyResource) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return NewResource(&providerdata.Early{}) }}
}
func (*onlyResource) DataSources(context.Context) []func() datasource.DataSource { return nil }

func newHarness(t testing.TB, data *providerdata.Data) *harness {
	t.Helper()
	if data == nil {
		data = &providerdata.Data{Project: "my-project", Region: "us-central1"}
	}
	data.Emulator = true
	data.Unknown = append(data.Unknown, "credentials") // no calls
	server, err := providerserver.NewProtocol6WithError(&onlyResource{data})()
	if err != nil {
		t.Fatal(err)
	}
	empty := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	config, err := tfprotov6.NewDynamicValue(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &config}); err != nil {
		t.Fatal(err)
	}
	typ, ok := schemaOf(t).Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is no object")
	}
	return &harness{t: t, server: server, typ: typ}
}

// convert makes a Terraform value of Go values; what a map leaves out is null.
func convert(t testing.TB, typ tftypes.Type, v any) tftypes.Value {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case tftypes.Value:
		return v
	case map[string]any:
		out := map[string]tftypes.Value{}
		switch typ := typ.(type) {
		case tftypes.Object:
			for name, at := range typ.AttributeTypes {
				out[name] = convert(t, at, v[name])
			}
			for name := range v {
				if _, ok := typ.AttributeTypes[name]; !ok {
					t.Fatalf("no attribute %s", name)
				}
			}
		case tftypes.Map:
			for name, e := range v {
				out[name] = convert(t, typ.ElementType, e)
			}
		}
		return tftypes.NewValue(typ, out)
	case []any:
		out := []tftypes.Value{}
		list, ok := typ.(tftypes.List)
		if !ok {
			t.Fatalf("a list for %s", typ)
		}
		for _, e := range v {
			out = append(out, convert(t, list.ElementType, e))
		}
		return tftypes.NewValue(typ, out)
	}
	return tftypes.NewValue(typ, v)
}

func (h *harness) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	h.t.Helper()
	d, err := tfprotov6.NewDynamicValue(h.typ, v)
	if err != nil {
		h.t.Fatal(err)
	}
	return &d
}

// config is a minimal configuration with changes.
func (h *harness) config(changes map[string]any) tftypes.Value {
	h.t.Helper()
	all := map[string]any{"name": "train", "image": "train:1"}
	for k, v := range changes {
		all[k] = v
	}
	return convert(h.t, h.typ, all)
}

// messages is a diagnostic in one line: severity, path, summary and detail.
func messages(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diags {
		severity := "error"
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			severity = "warning"
		}
		out = append(out, fmt.Sprintf("%s %s: %s: %s", severity, pathOf(d), d.Summary, d.Detail))
	}
	return out
}

func pathOf(d *tfprotov6.Diagnostic) string {
	s := ""
	for _, step := range d.Attribute.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if s != "" {
				s += "."
			}
			s += string(step)
		case tftypes.ElementKeyString:
			s += fmt.Sprintf("[%q]", string(step))
		default:
			s += fmt.Sprintf("[%v]", step)
		}
	}
	return s
}

func (h *harness) validate(config tftypes.Value) []string {
	h.t.Helper()
	resp, err := h.server.ValidateResourceConfig(h.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: h.dynamic(config)})
	if err != nil {
		h.t.Fatal(err)
	}
	return messages(resp.Diagnostics)
}

// planned is the answer to a plan.
type planned struct {
	model    Model
	raw      tftypes.Value
	said     []string
	replaces []string
}

// plan plans config against a prior state, nil for none, as Terraform proposes
// it.
func (h *harness) plan(config tftypes.Value, prior *Model) planned {
	h.t.Helper()
	ctx := h.t.Context()
	s := schemaOf(h.t)
	state := tftypes.NewValue(h.typ, nil)
	if prior != nil {
		st := tfsdk.State{Schema: s, Raw: state}
		noErrors(h.t, st.Set(ctx, *prior))
		state = st.Raw
	}
	resp, err := h.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, Config: h.dynamic(config), PriorState: h.dynamic(state), ProposedNewState: h.dynamic(h.proposed(config, state)),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	p := planned{said: messages(resp.Diagnostics)}
	for _, r := range resp.RequiresReplace {
		p.replaces = append(p.replaces, r.String())
	}
	raw, err := resp.PlannedState.Unmarshal(h.typ)
	if err != nil {
		h.t.Fatal(err)
	}
	p.raw = raw
	plan := tfsdk.Plan{Schema: s, Raw: raw}
	noErrors(h.t, plan.Get(ctx, &p.model))
	return p
}

// proposed merges configuration and state as Terraform does: computed attributes
// that the configuration leaves out keep the state's value.
func (h *harness) proposed(config, state tftypes.Value) tftypes.Value {
	h.t.Helper()
	var c, s map[string]tftypes.Value
	if err := config.As(&c); err != nil {
		h.t.Fatal(err)
	}
	if !state.IsNull() {
		if err := state.As(&s); err != nil {
			h.t.Fatal(err)
		}
	}
	out := map[string]tftypes.Value{}
	for name, a := range schemaOf(h.t).Attributes {
		out[name] = c[name]
		if c[name].IsNull() && a.IsComputed() && s != nil {
			out[name] = s[name]
		}
	}
	return tftypes.NewValue(h.typ, out)
}
