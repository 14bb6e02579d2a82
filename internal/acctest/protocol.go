// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// Protocol is a provider that is spoken to as Terraform does, without the
// command line: for what the installed command line cannot do, and for the
// many small cases that would be slow with it.
type Protocol struct {
	tfprotov6.ProviderServer

	// Schema is everything that the provider offers.
	Schema *tfprotov6.GetProviderSchemaResponse

	t testing.TB
}

// NewProtocol returns a provider made with the options, not configured yet.
func NewProtocol(t testing.TB, opts ...provider.Option) *Protocol {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(provider.New("test", opts...)())()
	if err != nil {
		t.Fatal(err)
	}
	p := &Protocol{ProviderServer: server, t: t}
	p.Schema, err = server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range p.Schema.Diagnostics {
		t.Errorf("the schema: %s: %s (%s)", d.Summary, d.Detail, d.Attribute)
	}
	return p
}

// Configure validates the provider block and, when that finds no error,
// configures the provider with it, as Terraform does. Attributes that are not
// named are null.
func (p *Protocol) Configure(attributes map[string]tftypes.Value) []*tfprotov6.Diagnostic {
	p.t.Helper()
	config := p.Object(p.Schema.Provider, attributes)
	validated, err := p.ValidateProviderConfig(p.t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, d := range validated.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return validated.Diagnostics
		}
	}
	configured, err := p.ConfigureProvider(p.t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: config})
	if err != nil {
		p.t.Fatal(err)
	}
	return append(validated.Diagnostics, configured.Diagnostics...)
}

// Object returns a value of a schema. Attributes that are not named are null.
func (p *Protocol) Object(schema *tfprotov6.Schema, attributes map[string]tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	typ, ok := schema.ValueType().(tftypes.Object)
	if !ok {
		p.t.Fatal("the schema is no object")
	}
	all := maps.Clone(attributes)
	if all == nil {
		all = map[string]tftypes.Value{}
	}
	for name, t := range typ.AttributeTypes {
		if _, ok := all[name]; !ok {
			all[name] = tftypes.NewValue(t, nil)
		}
	}
	v, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, all))
	if err != nil {
		p.t.Fatal(err)
	}
	return &v
}
