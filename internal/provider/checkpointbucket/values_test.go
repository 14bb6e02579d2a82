// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// odd returns values of a type that somebody may write, by what they are.
func odd(typ tftypes.Type) map[string]tftypes.Value {
	out := map[string]tftypes.Value{"null": tftypes.NewValue(typ, nil), "unknown": tftypes.NewValue(typ, tftypes.UnknownValue)}
	texts := map[string]string{
		"empty": "", "blank": " ", "huge": strings.Repeat("x", 10_000), "letters of others": "dünger/雪", "control": "a\x01\n\tb", "quotes": `"${x}"%s%!d(MISSING)`,
		"slashes": "//a//b/", "number": "-1", "big number": "99999999999999999999", "project": "projects/p/locations/l/keyRings/r/cryptoKeys/k", "capitals": "US-CENTRAL1",
	}
	switch typ := typ.(type) {
	case tftypes.Set:
		out["no elements"] = tftypes.NewValue(typ, []tftypes.Value{})
		out["null element"] = tftypes.NewValue(typ, []tftypes.Value{tftypes.NewValue(tftypes.String, nil)})
		out["unknown element"] = tftypes.NewValue(typ, []tftypes.Value{tftypes.NewValue(tftypes.String, tftypes.UnknownValue)})
		var many []tftypes.Value
		for i := range 70 {
			many = append(many, tftypes.NewValue(tftypes.String, fmt.Sprintf("user:u%d@example.com", i)))
		}
		out["many"] = tftypes.NewValue(typ, many)
		for name, text := range texts {
			out[name] = tftypes.NewValue(typ, []tftypes.Value{tftypes.NewValue(tftypes.String, text)})
		}
	case tftypes.Map:
		out["no elements"] = tftypes.NewValue(typ, map[string]tftypes.Value{})
		out["null element"] = tftypes.NewValue(typ, map[string]tftypes.Value{"a": tftypes.NewValue(tftypes.String, nil)})
		out["unknown element"] = tftypes.NewValue(typ, map[string]tftypes.Value{"a": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)})
		many := map[string]tftypes.Value{}
		for i := range 70 {
			many[fmt.Sprintf("k%d", i)] = tftypes.NewValue(tftypes.String, "v")
		}
		out["many"] = tftypes.NewValue(typ, many)
		for name, text := range texts {
			out[name+" key"] = tftypes.NewValue(typ, map[string]tftypes.Value{text: tftypes.NewValue(tftypes.String, "v")})
			out[name+" value"] = tftypes.NewValue(typ, map[string]tftypes.Value{"k": tftypes.NewValue(tftypes.String, text)})
		}
	case tftypes.Object:
		for name, text := range texts {
			each := map[string]tftypes.Value{}
			for attribute, t := range typ.AttributeTypes {
				each[attribute] = tftypes.NewValue(t, nil)
			}
			each["create"] = tftypes.NewValue(tftypes.String, text)
			out[name] = tftypes.NewValue(typ, each)
		}
	default:
		switch {
		case typ.Is(tftypes.String):
			for name, text := range texts {
				out[name] = tftypes.NewValue(typ, text)
			}
		case typ.Is(tftypes.Number):
			for _, n := range []int64{-1 << 63, -1, 0, 1, 1 << 31, 1<<63 - 1} {
				out[fmt.Sprint(n)] = tftypes.NewValue(typ, big.NewFloat(float64(n)))
			}
			out["half"] = tftypes.NewValue(typ, big.NewFloat(0.5))
			out["too big"] = tftypes.NewValue(typ, new(big.Float).SetMantExp(big.NewFloat(1), 2000))
		case typ.Is(tftypes.Bool):
			out["true"], out["false"] = tftypes.NewValue(typ, true), tftypes.NewValue(typ, false)
		}
	}
	return out
}

// Every attribute with every odd value, for a new bucket and for one that exists: no crash, no plan that Terraform would call inconsistent,
// and at most one message for one mistake, at the attribute (cases 118, 121).
func TestOddValues(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	base := attrs{"name": "ckpt-odd", "hierarchical_namespace": false}
	there := s.apply(s.none(), s.config(base))
	tried := 0
	for _, a := range s.schema.Block.Attributes {
		if !a.Optional && !a.Required {
			continue
		}
		for what, v := range odd(s.object.AttributeTypes[a.Name]) {
			if a.Required && v.IsNull() {
				continue // Terraform does not let it through
			}
			set := maps.Clone(base)
			set[a.Name] = v
			if a.Name == "expire_after_days" && !v.IsNull() {
				set["expire_prefixes"] = []string{"a/"}
			}
			if a.Name == "expire_prefixes" && !v.IsNull() {
				set["expire_after_days"] = 3
			}
			tried++
			s.try(a.Name+", "+what+", there", a, there, s.config(set))
			if !v.IsFullyKnown() || v.IsNull() || what == "huge" {
				s.try(a.Name+", "+what+", new", a, s.none(), s.config(set))
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d values were tried", tried)
	}
}

// try validates and plans one configuration.
func (s *server) try(what string, a *tfprotov6.SchemaAttribute, l *life, config tftypes.Value) {
	s.t.Helper()
	v, err := s.ValidateResourceConfig(s.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: s.dynamic(config)})
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	errs := errorsAt(v.Diagnostics)
	var p *tfprotov6.PlanResourceChangeResponse
	if len(errs) == 0 {
		p = s.plan(l, config)
		errs = errorsAt(p.Diagnostics)
	}
	if len(errs) > 1 {
		s.t.Errorf("%s: %d messages: %v", what, len(errs), errs)
	}
	for _, at := range errs {
		if !strings.HasPrefix(at, fmt.Sprintf("AttributeName(%q)", a.Name)) {
			s.t.Errorf("%s: the message is at %s", what, at)
		}
	}
	if len(errs) > 0 || p == nil {
		return
	}
	planned := s.attributes(s.value(p.PlannedState))
	var prior map[string]tftypes.Value
	if !l.state.IsNull() {
		prior = s.attributes(l.state)
	}
	for name, configured := range s.attributes(config) {
		schema := s.schema.Block.Attributes[slices.IndexFunc(s.schema.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == name })]
		if configured.IsNull() && schema.Computed || !configured.IsFullyKnown() {
			continue
		}
		if got := planned[name]; !got.Equal(configured) && !got.Equal(prior[name]) {
			s.t.Errorf("%s: %s is planned as %s, configured %s, was %s", what, name, got, configured, prior[name])
		}
	}
}

func errorsAt(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			out = append(out, d.Attribute.String())
		}
	}
	return out
}
