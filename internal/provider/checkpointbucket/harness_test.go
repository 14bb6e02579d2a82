// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

const typeName = "resilientjob_checkpoint_bucket"

// server is the provider in process, spoken to as Terraform does: for what the installed command line cannot do (identity), and for many
// small cases.
type server struct {
	tfprotov6.ProviderServer
	t      *testing.T
	e      *emulator.Emulator
	schema *tfprotov6.Schema
	object tftypes.Object
}

func newServer(t *testing.T, e *emulator.Emulator) *server {
	t.Helper()
	return newServerWith(t, e, nil, nil)
}

// newServerWithLabels is newServer with default labels.
func newServerWithLabels(t *testing.T, e *emulator.Emulator, defaults map[string]string) *server {
	t.Helper()
	return newServerWith(t, e, defaults, nil)
}

// newPatientServer is newServer with a provider that does not really wait: its clock advances whenever somebody waits for it.
func newPatientServer(t *testing.T, e *emulator.Emulator) *server {
	t.Helper()
	clock := clockwork.NewFakeClock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for clock.BlockUntilContext(ctx, 1) == nil {
			clock.Advance(5 * time.Second)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return newServerWith(t, e, nil, clock)
}

func newServerWith(t *testing.T, e *emulator.Emulator, defaults map[string]string, clock clockwork.Clock) *server {
	t.Helper()
	s := &server{t: t, e: e}
	var err error
	if s.ProviderServer, err = acctest.FactoriesWithClock(e, clock)["resilientjob"](); err != nil {
		t.Fatal(err)
	}
	schemas, err := s.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	s.check(err, schemas.Diagnostics)
	s.schema = schemas.ResourceSchemas[typeName]
	var ok bool
	if s.object, ok = s.schema.ValueType().(tftypes.Object); !ok {
		t.Fatal("the schema is no object")
	}
	provider := schemas.Provider.ValueType()
	null := map[string]tftypes.Value{}
	if o, ok := provider.(tftypes.Object); ok {
		for name, typ := range o.AttributeTypes {
			null[name] = tftypes.NewValue(typ, nil)
		}
	}
	if defaults != nil {
		labels := map[string]tftypes.Value{}
		for k, v := range defaults {
			labels[k] = tftypes.NewValue(tftypes.String, v)
		}
		null["default_labels"] = tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, labels)
	}
	configured, err := s.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: s.dynamic(tftypes.NewValue(provider, null))})
	s.check(err, configured.Diagnostics)
	return s
}

func (s *server) check(err error, diags []*tfprotov6.Diagnostic) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	if text := messages(diags); text != "" {
		s.t.Fatal(text)
	}
}

// messages are the errors, with their attributes.
func messages(diags []*tfprotov6.Diagnostic) string {
	var out []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			out = append(out, fmt.Sprintf("%s at %s: %s", d.Summary, d.Attribute, d.Detail))
		}
	}
	return strings.Join(out, "\n")
}

func (s *server) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	s.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		s.t.Fatal(err)
	}
	return &d
}

func (s *server) value(d *tfprotov6.DynamicValue) tftypes.Value {
	s.t.Helper()
	v, err := d.Unmarshal(s.object)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// config makes a configuration of strings, ints, bools, string lists, string maps and whatever is a value already.
func (s *server) config(attributes map[string]any) tftypes.Value {
	s.t.Helper()
	all := map[string]tftypes.Value{}
	for name, typ := range s.object.AttributeTypes {
		switch v := attributes[name].(type) {
		case tftypes.Value:
			all[name] = v
		case []string:
			elements := []tftypes.Value{}
			for _, e := range v {
				elements = append(elements, tftypes.NewValue(tftypes.String, e))
			}
			all[name] = tftypes.NewValue(typ, elements)
		case map[string]string:
			elements := map[string]tftypes.Value{}
			for k, e := range v {
				elements[k] = tftypes.NewValue(tftypes.String, e)
			}
			all[name] = tftypes.NewValue(typ, elements)
		default:
			all[name] = tftypes.NewValue(typ, v)
		}
	}
	for name := range attributes {
		if _, ok := s.object.AttributeTypes[name]; !ok {
			s.t.Fatalf("no attribute %s", name)
		}
	}
	return tftypes.NewValue(s.object, all)
}

// life is a resource in Terraform's hands.
type life struct {
	state    tftypes.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData
}

func (s *server) none() *life { return &life{state: tftypes.NewValue(s.object, nil)} }

func (s *server) validate(config tftypes.Value) string {
	s.t.Helper()
	v, err := s.ValidateResourceConfig(s.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: s.dynamic(config)})
	if err != nil {
		s.t.Fatal(err)
	}
	return messages(v.Diagnostics)
}

// plan plans as Terraform does: what is not configured and computed is proposed as it was.
func (s *server) plan(l *life, config tftypes.Value) *tfprotov6.PlanResourceChangeResponse {
	s.t.Helper()
	p, err := s.PlanResourceChange(s.t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), PriorPrivate: l.private,
		PriorIdentity: l.identity, Config: s.dynamic(config), ProposedNewState: s.dynamic(core.Proposed(s.schema.Block.Attributes, l.state, config))})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *server) attributes(v tftypes.Value) map[string]tftypes.Value {
	s.t.Helper()
	all := map[string]tftypes.Value{}
	if err := v.As(&all); err != nil {
		s.t.Fatal(err)
	}
	return maps.Clone(all) // As gives out the value's own map
}

func (s *server) text(v tftypes.Value, attribute string) string {
	s.t.Helper()
	var text *string
	if err := s.attributes(v)[attribute].As(&text); err != nil || text == nil {
		return ""
	}
	return *text
}

func (s *server) apply(l *life, config tftypes.Value) *life {
	s.t.Helper()
	p := s.plan(l, config)
	s.check(nil, p.Diagnostics)
	a, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: s.dynamic(config),
		PlannedState: p.PlannedState, PlannedPrivate: p.PlannedPrivate, PlannedIdentity: p.PlannedIdentity})
	s.check(err, a.Diagnostics)
	return &life{state: s.value(a.NewState), private: a.Private, identity: a.NewIdentity}
}

func (s *server) read(l *life) *life {
	s.t.Helper()
	if l.state.IsNull() {
		return l // Terraform does not read what is not there
	}
	r, err := s.ReadResource(s.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: s.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
	s.check(err, r.Diagnostics)
	return &life{state: s.value(r.NewState), private: r.Private, identity: r.NewIdentity}
}

// imported imports by an id or, without one, by the identity.
func (s *server) imported(id, name string) *life {
	s.t.Helper()
	req := &tfprotov6.ImportResourceStateRequest{TypeName: typeName, ID: id}
	if id == "" {
		typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}}
		req.Identity = &tfprotov6.ResourceIdentityData{IdentityData: s.dynamic(tftypes.NewValue(typ, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, name)}))}
	}
	r, err := s.ImportResourceState(s.t.Context(), req)
	s.check(err, r.Diagnostics)
	i := r.ImportedResources[0]
	return &life{state: s.value(i.State), private: i.Private, identity: i.Identity}
}

// texts returns a map of strings of a state, nil for null.
func (s *server) texts(v tftypes.Value, attribute string) map[string]string {
	s.t.Helper()
	var elements map[string]tftypes.Value
	if err := s.attributes(v)[attribute].As(&elements); err != nil {
		s.t.Fatal(err)
	}
	if s.attributes(v)[attribute].IsNull() {
		return nil
	}
	out := map[string]string{}
	for k, e := range elements {
		var text string
		if err := e.As(&text); err != nil {
			s.t.Fatal(err)
		}
		out[k] = text
	}
	return out
}

// action is what a plan does: "no-op", "update", "replace", or "refused" with its errors.
func (s *server) action(l *life, config tftypes.Value) (string, string) {
	s.t.Helper()
	if text := s.validate(config); text != "" {
		return "refused", text
	}
	p := s.plan(l, config)
	if text := messages(p.Diagnostics); text != "" {
		return "refused", text
	}
	if len(p.RequiresReplace) > 0 {
		return "replace", ""
	}
	d, err := l.state.Diff(s.value(p.PlannedState))
	if err != nil {
		s.t.Fatal(err)
	}
	if len(d) == 0 {
		return "no-op", ""
	}
	return "update", ""
}

// fails applies what is to fail, and returns what is true then and the errors.
func (s *server) fails(l *life, config tftypes.Value) (*life, string) {
	s.t.Helper()
	p := s.plan(l, config)
	s.check(nil, p.Diagnostics)
	a, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: s.dynamic(config),
		PlannedState: p.PlannedState, PlannedPrivate: p.PlannedPrivate, PlannedIdentity: p.PlannedIdentity})
	if err != nil {
		s.t.Fatal(err)
	}
	text := messages(a.Diagnostics)
	if text == "" {
		s.t.Fatal("the apply succeeded")
	}
	return &life{state: s.value(a.NewState), private: a.Private, identity: a.NewIdentity}, text
}

// members returns a set of strings of a state in order, nil for null.
func (s *server) members(v tftypes.Value, attribute string) []string {
	s.t.Helper()
	var elements []tftypes.Value
	if err := s.attributes(v)[attribute].As(&elements); err != nil {
		s.t.Fatal(err)
	}
	if s.attributes(v)[attribute].IsNull() {
		return nil
	}
	out := []string{}
	for _, e := range elements {
		var text string
		if err := e.As(&text); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// unchanged fails the test when a plan changes anything.
func (s *server) unchanged(l *life, config tftypes.Value) {
	s.t.Helper()
	p := s.plan(l, config)
	s.check(nil, p.Diagnostics)
	if d, err := l.state.Diff(s.value(p.PlannedState)); err != nil || len(d) > 0 {
		s.t.Errorf("the plan changes %v %v", d, err)
	}
}

// name returns the bucket that an identity names.
func (s *server) name(identity *tfprotov6.ResourceIdentityData) string {
	s.t.Helper()
	if identity == nil || identity.IdentityData == nil {
		return "(no identity)"
	}
	v, err := identity.IdentityData.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.text(v, "name")
}
