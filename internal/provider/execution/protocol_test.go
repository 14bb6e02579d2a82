// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

const typeName = "resilientjob_execution"

// server is the provider in process, spoken to as Terraform does. It shows what
// an older command line cannot ask for, and takes milliseconds.
type server struct {
	tfprotov6.ProviderServer
	t        *testing.T
	ctx      context.Context
	schema   *tfprotov6.Schema
	typ      tftypes.Object
	identity tftypes.Type
	// another configures the provider as a process of its own does.
	another func() *server
}

// unknown is a value that is known only after apply.
type unknown struct{}

// attributes are configured values: string, int, bool, []string,
// map[string]string or unknown.
type attributes map[string]any

// server configures a provider. The clock may be nil; later are the provider's
// attributes that are known only after apply.
func (w *world) server(clock clockwork.Clock, later ...string) *server {
	w.t.Helper()
	s := &server{t: w.t, ctx: w.ctx, another: func() *server { return w.server(clock, later...) }}
	var err error
	if s.ProviderServer, err = acctest.FactoriesWithClock(w.Emulator, clock)["resilientjob"](); err != nil {
		w.t.Fatal(err)
	}
	schemas, err := s.GetProviderSchema(w.ctx, &tfprotov6.GetProviderSchemaRequest{})
	s.check(err, schemas.Diagnostics)
	s.schema = schemas.ResourceSchemas[typeName]
	s.typ = object(s.schema.ValueType())
	identities, err := s.GetResourceIdentitySchemas(w.ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	s.check(err, identities.Diagnostics)
	s.identity = identities.IdentitySchemas[typeName].ValueType()
	config := nulls(object(schemas.Provider.ValueType()))
	config["project"] = tftypes.NewValue(tftypes.String, acctest.EmulatorProject)
	config["region"] = tftypes.NewValue(tftypes.String, acctest.EmulatorRegion)
	for _, name := range later {
		config[name] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	}
	configured, err := s.ConfigureProvider(w.ctx, &tfprotov6.ConfigureProviderRequest{Config: s.dynamic(tftypes.NewValue(schemas.Provider.ValueType(), config))})
	s.check(err, configured.Diagnostics)
	return s
}

func object(t tftypes.Type) tftypes.Object {
	o, ok := t.(tftypes.Object)
	if !ok {
		panic(fmt.Sprintf("%s is no object", t))
	}
	return o
}

func nulls(o tftypes.Object) map[string]tftypes.Value {
	all := map[string]tftypes.Value{}
	for name, t := range o.AttributeTypes {
		all[name] = tftypes.NewValue(t, nil)
	}
	return all
}

func (s *server) check(err error, diags []*tfprotov6.Diagnostic) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	if text := errorsOf(diags); text != "" {
		s.t.Fatal(text)
	}
}

func errorsOf(diags []*tfprotov6.Diagnostic) string {
	return textOf(diags, tfprotov6.DiagnosticSeverityError)
}
func warnings(diags []*tfprotov6.Diagnostic) string {
	return textOf(diags, tfprotov6.DiagnosticSeverityWarning)
}

func textOf(diags []*tfprotov6.Diagnostic, severity tfprotov6.DiagnosticSeverity) string {
	var all []string
	for _, d := range diags {
		if d.Severity == severity {
			all = append(all, fmt.Sprintf("%s (%s): %s", d.Summary, d.Attribute, d.Detail))
		}
	}
	return strings.Join(all, "\n")
}

func (s *server) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	s.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		s.t.Fatal(err)
	}
	return &d
}

func (s *server) undynamic(d *tfprotov6.DynamicValue) tftypes.Value {
	s.t.Helper()
	v, err := d.Unmarshal(s.typ)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// config makes the configuration of the resource.
func (s *server) config(a attributes) tftypes.Value {
	s.t.Helper()
	all := nulls(s.typ)
	for name, v := range a {
		t := s.typ.AttributeTypes[name]
		switch v := v.(type) {
		case unknown:
			all[name] = tftypes.NewValue(t, tftypes.UnknownValue)
		case []string:
			elements := []tftypes.Value{}
			for _, e := range v {
				elements = append(elements, tftypes.NewValue(tftypes.String, e))
			}
			all[name] = tftypes.NewValue(t, elements)
		case map[string]any:
			elements := map[string]tftypes.Value{}
			for k, e := range v {
				if _, ok := e.(unknown); ok {
					e = tftypes.UnknownValue
				}
				elements[k] = tftypes.NewValue(tftypes.String, e)
			}
			all[name] = tftypes.NewValue(t, elements)
		case map[string]string: // an object of strings
			elements := nulls(object(t))
			for k, e := range v {
				elements[k] = tftypes.NewValue(tftypes.String, e)
			}
			all[name] = tftypes.NewValue(t, elements)
		default:
			all[name] = tftypes.NewValue(t, v)
		}
	}
	return tftypes.NewValue(s.typ, all)
}

// life is a resource as Terraform keeps it.
type life struct {
	state   tftypes.Value
	private []byte
	// identity is what the last call returned.
	identity *tfprotov6.ResourceIdentityData
	tainted  bool
}

func (s *server) nothing() life { return life{state: tftypes.NewValue(s.typ, nil)} }

// attribute returns one attribute as Go's own value.
func (l life) attribute(name string) any {
	if l.state.IsNull() {
		return nil
	}
	var all map[string]tftypes.Value
	if err := l.state.As(&all); err != nil {
		panic(err)
	}
	v := all[name]
	if v.IsNull() {
		return nil
	}
	switch {
	case v.Type().Is(tftypes.String):
		var out string
		_ = v.As(&out)
		return out
	case v.Type().Is(tftypes.Number):
		var out *big.Float
		_ = v.As(&out)
		n, _ := out.Float64()
		return n
	case v.Type().Is(tftypes.Bool):
		var out bool
		_ = v.As(&out)
		return out
	}
	return v.String()
}

// with returns the resource with one attribute of its state changed.
func (l life) with(name string, v any) life {
	var all map[string]tftypes.Value
	if err := l.state.As(&all); err != nil {
		panic(err)
	}
	all = maps.Clone(all) // it is the value's own
	all[name] = tftypes.NewValue(all[name].Type(), v)
	l.state = tftypes.NewValue(l.state.Type(), all)
	return l
}

// planned is a plan as Terraform reads it.
type planned struct {
	*tfprotov6.PlanResourceChangeResponse
	state    tftypes.Value
	replaces []string
	noop     bool
}

func (s *server) validate(a attributes) []*tfprotov6.Diagnostic {
	s.t.Helper()
	resp, err := s.ValidateResourceConfig(s.ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: s.dynamic(s.config(a))})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.Diagnostics
}

// plan asks for a change of l to a configuration; nil is a destroy. Computed
// attributes that are not configured propose their prior value, as Terraform's.
func (s *server) plan(l life, a attributes) planned {
	s.t.Helper()
	config, proposed := tftypes.NewValue(s.typ, nil), tftypes.NewValue(s.typ, nil)
	if a != nil {
		config = s.config(a)
		var all, prior map[string]tftypes.Value
		if err := config.As(&all); err != nil {
			s.t.Fatal(err)
		}
		if !l.state.IsNull() {
			if err := l.state.As(&prior); err != nil {
				s.t.Fatal(err)
			}
		}
		all = maps.Clone(all) // it is the configuration's own
		for _, attribute := range s.schema.Block.Attributes {
			if old, ok := prior[attribute.Name]; ok && attribute.Computed && all[attribute.Name].IsNull() {
				all[attribute.Name] = old
			}
		}
		proposed = tftypes.NewValue(s.typ, all)
	}
	resp, err := s.PlanResourceChange(s.ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, PriorState: s.dynamic(l.state), ProposedNewState: s.dynamic(proposed), Config: s.dynamic(config), PriorPrivate: l.private, PriorIdentity: l.identity,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	p := planned{PlanResourceChangeResponse: resp}
	if errorsOf(resp.Diagnostics) != "" {
		return p
	}
	p.state = s.undynamic(resp.PlannedState)
	p.noop = p.state.Equal(l.state)
	for _, at := range resp.RequiresReplace {
		p.replaces = append(p.replaces, string(at.Steps()[0].(tftypes.AttributeName)))
	}
	return p
}

// apply plans and applies one step, without a replacement, and returns the
// resource and the diagnostics as Terraform does: an error of a create taints
// what it returns. Like Terraform it destroys by the plan that another process
// has made, and plans everything else anew in the process that applies.
func (s *server) apply(ctx context.Context, l life, a attributes) (life, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	planner := s
	if a == nil {
		planner = s.another()
	}
	return s.carryOut(ctx, l, a, planner.plan(l, a))
}

// destroyDeposed destroys an object that a replacement has left: the plan of
// another process counts for nothing, it is planned anew.
func (s *server) destroyDeposed(ctx context.Context, l life) (life, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	s.check(nil, s.another().plan(l, nil).Diagnostics)
	return s.carryOut(ctx, l, nil, s.plan(l, nil))
}

// carryOut applies a plan.
func (s *server) carryOut(ctx context.Context, l life, a attributes, p planned) (life, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	s.check(nil, p.Diagnostics)
	config := tftypes.NewValue(s.typ, nil)
	if a != nil {
		config = s.config(a)
	}
	resp, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeName, PriorState: s.dynamic(l.state), PlannedState: p.PlannedState, Config: s.dynamic(config), PlannedPrivate: p.PlannedPrivate, PlannedIdentity: p.PlannedIdentity,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	next := life{state: s.undynamic(resp.NewState), private: resp.Private, identity: resp.NewIdentity}
	next.tainted = l.state.IsNull() && !next.state.IsNull() && errorsOf(resp.Diagnostics) != ""
	if !next.state.IsFullyKnown() {
		s.t.Errorf("a state that is not fully known: %s", next.state)
	}
	return next, resp.Diagnostics
}

func (s *server) read(l life) (life, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	resp, err := s.ReadResource(s.ctx, &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: s.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
	if err != nil {
		s.t.Fatal(err)
	}
	return life{state: s.undynamic(resp.NewState), private: resp.Private, identity: resp.NewIdentity}, resp.Diagnostics
}

// importAs imports and reads, as Terraform does, by id or by identity.
func (s *server) importAs(id string, identity map[string]any) (life, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	req := &tfprotov6.ImportResourceStateRequest{TypeName: typeName, ID: id}
	if identity != nil {
		all := nulls(object(s.identity))
		for k, v := range identity {
			all[k] = tftypes.NewValue(tftypes.String, v)
		}
		req.Identity = &tfprotov6.ResourceIdentityData{IdentityData: s.dynamic(tftypes.NewValue(s.identity, all))}
	}
	resp, err := s.ImportResourceState(s.ctx, req)
	if err != nil {
		s.t.Fatal(err)
	}
	if errorsOf(resp.Diagnostics) != "" {
		return s.nothing(), resp.Diagnostics
	}
	one := resp.ImportedResources[0]
	return s.read(life{state: s.undynamic(one.State), private: one.Private, identity: one.Identity})
}

// identityOf returns an identity's attributes.
func (s *server) identityOf(l life) map[string]string {
	s.t.Helper()
	if l.identity == nil {
		s.t.Fatal("there is no identity")
	}
	v, err := l.identity.IdentityData.Unmarshal(s.identity)
	if err != nil {
		s.t.Fatal(err)
	}
	var all map[string]tftypes.Value
	if err := v.As(&all); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	for k, v := range all {
		var text string
		if err := v.As(&text); err != nil {
			s.t.Fatal(err)
		}
		out[k] = text
	}
	return out
}
