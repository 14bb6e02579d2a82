// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// Each rule of the table, spoken to as Terraform does: what is wrong gets its one
// message at its one place, from validation or from the plan; what is right, null
// or not known yet gets none.

func TestEveryRuleHasACase(t *testing.T) {
	t.Parallel()
	for _, r := range resilience.Rules() {
		if !slices.ContainsFunc(ruleCases, func(c ruleCase) bool { return c.rule == r }) {
			t.Errorf("%s has no case", r.ID)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	seedBucket(t, e.Addr(), "my-checkpoints", "us-central1")
	seedBucket(t, e.Addr(), "elsewhere", "europe-west4")
	local, warn := block{"local"}, block{"warn"}
	for i, c := range ruleCases {
		t.Run(fmt.Sprintf("%s_%d", c.rule.ID, i), func(t *testing.T) {
			t.Parallel()
			said := func(b block, v any) (validated, planned []message) {
				s := b.speak(t, e.Addr())
				config := s.config(c, v)
				return s.validate(c, config), s.plan(c, config)
			}
			refuses := c.rule.Verdict == resilience.Refuse

			validated, planned := said(local, c.wrong)
			if refuses {
				one(t, "validation of "+show(c.wrong), validated, c, tfprotov6.DiagnosticSeverityError)
			} else {
				one(t, "plan of "+show(c.wrong), planned, c, tfprotov6.DiagnosticSeverityWarning)
				none(t, "validation of "+show(c.wrong), validated)
			}
			validated, planned = said(warn, c.wrong)
			switch {
			case refuses && !c.rule.Dated:
				one(t, "lenient validation of "+show(c.wrong), validated, c, tfprotov6.DiagnosticSeverityError)
			default:
				one(t, "lenient plan of "+show(c.wrong), planned, c, tfprotov6.DiagnosticSeverityWarning)
				none(t, "lenient validation of "+show(c.wrong), validated)
			}
			for name, v := range map[string]any{"right": c.right, "unknown": notKnown{}} {
				validated, planned = said(local, v)
				none(t, "validation of "+name, validated)
				none(t, "plan of "+name, planned)
			}
			if v, ok := c.right.(map[string]any); ok && len(v) == 1 && c.at != "checkpoint" {
				// One unknown value in a map that is known.
				for k := range v {
					validated, planned = said(local, attributes{k: notKnown{}})
					none(t, "validation of an unknown value", validated)
					none(t, "plan of an unknown value", planned)
				}
			}
			if c.wrong != nil && c.at != "name" && c.at != "checkpoint.bucket" {
				validated, planned = said(local, nil)
				none(t, "validation of null", validated)
				none(t, "plan of null", planned)
			}
		})
	}
}

// What is left out counts with its documented default, and the plan shows it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := block{"local"}.speak(t, e.Addr())
	job := ruleCase{rule: resilience.RetriesRange, at: "max_retries"}
	planned := s.planned(job, s.config(job, nil))
	for name, want := range map[string]tftypes.Value{
		"gpu_type": str("nvidia-l4"), "cpu": str("4"), "memory": str("16Gi"), "task_timeout": str("1h"),
		// case 47: how often a task is started again, and so what it may cost, stands in the plan.
		"max_retries": tftypes.NewValue(tftypes.Number, 3), "task_count": tftypes.NewValue(tftypes.Number, 1),
		"gpu_zonal_redundancy": tftypes.NewValue(tftypes.Bool, false),
		"parallelism":          tftypes.NewValue(tftypes.Number, nil), "launch_stage": tftypes.NewValue(tftypes.String, nil),
	} {
		if !planned[name].Equal(want) {
			t.Errorf("%s is planned as %s, want %s", name, planned[name], want)
		}
	}
	bucket := ruleCase{rule: resilience.SoftDelete, at: "soft_delete_retention"}
	if got := s.planned(bucket, s.config(bucket, nil))["soft_delete_retention"]; !got.Equal(str("0s")) {
		t.Errorf("soft_delete_retention is planned as %s", got)
	}
}

// A provider block whose plan_validation is not known yet refuses nothing that a
// dated table says; without a block, validation refuses.
func TestEarlyRefusals(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	c := ruleCase{rule: resilience.RetriesRange, at: "max_retries"}
	for _, test := range []struct {
		name          string
		block         block
		unconfigured  bool
		validation    []tfprotov6.DiagnosticSeverity
		planSeverity  tfprotov6.DiagnosticSeverity
		planIsReached bool
	}{
		{"no block", block{nil}, true, []tfprotov6.DiagnosticSeverity{tfprotov6.DiagnosticSeverityError}, 0, false},
		{"null", block{nil}, false, []tfprotov6.DiagnosticSeverity{tfprotov6.DiagnosticSeverityError}, 0, false},
		{"local", block{"local"}, false, []tfprotov6.DiagnosticSeverity{tfprotov6.DiagnosticSeverityError}, 0, false},
		{"warn", block{"warn"}, false, nil, tfprotov6.DiagnosticSeverityWarning, true},
		{"not known yet", block{notKnown{}}, false, nil, tfprotov6.DiagnosticSeverityWarning, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := test.block.speak(t, e.Addr())
			if test.unconfigured {
				s = &speaker{Protocol: acctest.NewProtocol(t, env()), t: t}
			}
			config := s.config(c, 11)
			var got []tfprotov6.DiagnosticSeverity
			for _, m := range s.validate(c, config) {
				got = append(got, m.severity)
			}
			if !slices.Equal(got, test.validation) {
				t.Errorf("validation says %v, want %v", got, test.validation)
			}
			if test.planIsReached {
				one(t, "plan", s.plan(c, config), c, test.planSeverity)
			}
		})
	}
}

// case 17: there is nothing to choose a generation with, and the second one is
// asked for, since jobs have no other.
func TestExecutionEnvironment(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := block{nil}.speak(t, e.Addr())
	for _, a := range s.Schema.ResourceSchemas["resilientjob_gpu_job"].Block.Attributes {
		if strings.Contains(a.Name, "environment") || strings.Contains(a.Name, "generation") {
			t.Errorf("attribute %s", a.Name)
		}
	}
	c := ruleCase{rule: resilience.GPUUnknown, at: "gpu_type"}
	config := s.config(c, "none")
	plan := s.create(c, config)
	none(t, "plan", messagesOf(plan.Diagnostics))
	applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeName(c), Config: s.dynamic(config), PriorState: s.dynamic(tftypes.NewValue(config.Type(), nil)),
		PlannedState: plan.PlannedState, PlannedPrivate: plan.PlannedPrivate, PlannedIdentity: plan.PlannedIdentity,
	})
	if err != nil {
		t.Fatal(err)
	}
	none(t, "apply", messagesOf(applied.Diagnostics))
	asked := 0
	for _, call := range e.Faults().Calls() {
		if r, ok := call.Request.(*runpb.CreateJobRequest); ok {
			asked++
			if got := r.GetJob().GetTemplate().GetTemplate().GetExecutionEnvironment(); got != runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2 {
				t.Errorf("the request asks for %s", got)
			}
		}
	}
	if asked != 1 {
		t.Errorf("%d requests made a job", asked)
	}
}

// block is a provider block with this plan_validation: a string, nil or notKnown.
type block struct{ planValidation any }

// speaker is a configured provider.
type speaker struct {
	*acctest.Protocol
	t testing.TB
}

func (b block) speak(t testing.TB, addr string) *speaker {
	t.Helper()
	s := &speaker{acctest.NewProtocol(t, env("RESILIENTJOB_EMULATOR_HOST", addr, "GOOGLE_PROJECT", acctest.EmulatorProject, "GOOGLE_REGION", acctest.EmulatorRegion)), t}
	for _, d := range s.Configure(map[string]tftypes.Value{"plan_validation": terraformValue(t, tftypes.String, b.planValidation)}) {
		if d.Summary != provider.EmulatorWarning {
			t.Fatalf("the provider block: %s: %s", d.Summary, d.Detail)
		}
	}
	return s
}

func typeName(c ruleCase) string { return "resilientjob_" + c.on() }

// config is a configuration that is right but for the value of the case.
func (s *speaker) config(c ruleCase, v any) tftypes.Value {
	s.t.Helper()
	all := attributes{}
	switch c.on() {
	case resilience.JobResource:
		all = attributes{"name": "train", "image": "train:1"}
	case resilience.BucketResource:
		all = attributes{"name": "my-checkpoints"}
	}
	for k, other := range c.with {
		all[k] = other
	}
	parent, child, nested := strings.Cut(c.at, ".")
	if nested {
		object := attributes{"bucket": "my-checkpoints"}
		if given, ok := all[parent].(attributes); ok {
			for k, other := range given {
				object[k] = other
			}
		}
		object[child] = v
		all[parent] = object
	} else {
		all[parent] = v
	}
	return terraformValue(s.t, s.Schema.ResourceSchemas[typeName(c)].ValueType(), all)
}

// message is a diagnostic.
type message struct {
	severity     tfprotov6.DiagnosticSeverity
	at           string
	summary, why string
}

func messagesOf(diags []*tfprotov6.Diagnostic) []message {
	var out []message
	for _, d := range diags {
		var steps []string
		for _, step := range d.Attribute.Steps() {
			if name, ok := step.(tftypes.AttributeName); ok {
				steps = append(steps, string(name))
			}
		}
		out = append(out, message{d.Severity, strings.Join(steps, "."), d.Summary, d.Detail})
	}
	return out
}

func (s *speaker) validate(c ruleCase, config tftypes.Value) []message {
	s.t.Helper()
	resp, err := s.ValidateResourceConfig(s.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName(c), Config: s.dynamic(config)})
	if err != nil {
		s.t.Fatal(err)
	}
	return messagesOf(resp.Diagnostics)
}

// create plans the creation of what is configured.
func (s *speaker) create(c ruleCase, config tftypes.Value) *tfprotov6.PlanResourceChangeResponse {
	s.t.Helper()
	resp, err := s.PlanResourceChange(s.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName(c), Config: s.dynamic(config), ProposedNewState: s.dynamic(config), PriorState: s.dynamic(tftypes.NewValue(config.Type(), nil)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *speaker) plan(c ruleCase, config tftypes.Value) []message {
	s.t.Helper()
	return messagesOf(s.create(c, config).Diagnostics)
}

func (s *speaker) planned(c ruleCase, config tftypes.Value) map[string]tftypes.Value {
	s.t.Helper()
	resp := s.create(c, config)
	none(s.t, "plan", messagesOf(resp.Diagnostics))
	raw, err := resp.PlannedState.Unmarshal(config.Type())
	if err != nil {
		s.t.Fatal(err)
	}
	var all map[string]tftypes.Value
	if err := raw.As(&all); err != nil {
		s.t.Fatal(err)
	}
	return all
}

func (s *speaker) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	s.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		s.t.Fatal(err)
	}
	return &d
}

// one demands one message and no other: of the rule, at the attribute that the
// rule speaks of, with something to read.
func one(t testing.TB, what string, got []message, c ruleCase, severity tfprotov6.DiagnosticSeverity) {
	t.Helper()
	if len(got) != 1 {
		t.Errorf("%s: %d messages %+v, want one: %s", what, len(got), got, c.rule.Summary)
		return
	}
	if m := got[0]; m.severity != severity || m.summary != c.rule.Summary || m.at != c.rule.Attribute || len(m.why) < 20 {
		t.Errorf("%s: %s at %s: %s: %s; want %s at %s: %s", what, m.severity, m.at, m.summary, m.why, severity, c.rule.Attribute, c.rule.Summary)
	}
}

func none(t testing.TB, what string, got []message) {
	t.Helper()
	for _, m := range got {
		t.Errorf("%s: %s at %s: %s: %s", what, m.severity, m.at, m.summary, m.why)
	}
}

// show writes a value so short that it can be read.
func show(v any) string { return fmt.Sprintf("%.80v", v) }

// terraformValue makes a value of a type of Go values; what a map leaves out of
// an object is null.
func terraformValue(t testing.TB, typ tftypes.Type, v any) tftypes.Value {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case notKnown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case int:
		return tftypes.NewValue(typ, big.NewFloat(float64(v)))
	case []any:
		var element tftypes.Type
		switch typ := typ.(type) {
		case tftypes.List:
			element = typ.ElementType
		case tftypes.Set:
			element = typ.ElementType
		default:
			t.Fatalf("a list for %s", typ)
		}
		all := []tftypes.Value{}
		for _, e := range v {
			all = append(all, terraformValue(t, element, e))
		}
		return tftypes.NewValue(typ, all)
	case attributes:
		all := map[string]tftypes.Value{}
		switch typ := typ.(type) {
		case tftypes.Map:
			for k, e := range v {
				all[k] = terraformValue(t, typ.ElementType, e)
			}
		case tftypes.Object:
			for k := range v {
				if _, ok := typ.AttributeTypes[k]; !ok {
					t.Fatalf("no attribute %s", k)
				}
			}
			for k, at := range typ.AttributeTypes {
				all[k] = terraformValue(t, at, v[k])
			}
		default:
			t.Fatalf("a map for %s", typ)
		}
		return tftypes.NewValue(typ, all)
	}
	return tftypes.NewValue(typ, v)
}

func seedBucket(t testing.TB, addr, name, location string) {
	t.Helper()
	resp, err := http.Post("http://"+addr+"/storage/v1/b?project="+acctest.EmulatorProject, "application/json",
		strings.NewReader(fmt.Sprintf(`{"name": %q, "location": %q}`, name, location)))
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("bucket %s: %s, %v", name, resp.Status, err)
	}
}
