// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// everyBlock sets every block of the resources that can be set together.
const everyBlock = `
resource "resilientjob_checkpoint_bucket" "b" {
  name                   = "odd-states"
  hierarchical_namespace = false
  versioning             = true
  soft_delete_retention  = "168h"
  expire_after_days      = 7
  expire_prefixes        = ["old/"]
  labels                 = { team = "ml" }
  readers                = ["user:ann@example.com"]
  writers                = ["user:bob@example.com"]
  force_destroy          = true
  timeouts               = { create = "5m", update = "5m", delete = "5m" }
}
resource "resilientjob_gpu_job" "j" {
  name        = "train"
  image       = "us-docker.pkg.dev/p/apps/train:1"
  command     = ["python"]
  args        = ["train.py"]
  working_dir = "/app"
  env         = { LR = "0.1" }
  secret_env  = { TOKEN = { secret = "token", version = "1", grant = true } }
  task_count  = 2
  parallelism = 1
  checkpoint  = { bucket = resilientjob_checkpoint_bucket.b.name, prefix = "runs", mount_options = ["implicit-dirs"], interval = "10m", write_time = "1m", restore_time = "1m", work_time = "1h" }
  volumes = {
    data    = { mount_path = "/data", read_only = true, sub_path = "in", gcs = { bucket = resilientjob_checkpoint_bucket.b.name, mount_options = ["implicit-dirs"] } }
    nfs     = { mount_path = "/nfs", nfs = { server = "10.0.0.2", path = "/export" } }
    scratch = { mount_path = "/scratch", empty_dir = { medium = "memory", size_limit = "1Gi" } }
    secret  = { mount_path = "/secret", secret = { secret = "token", items = { "a.txt" = { version = "1", mode = "0400" } }, default_mode = "0444" } }
    sql     = { cloud_sql = { instances = ["acctest-project:us-central1:db"] } }
  }
  network              = { network = "default", subnetwork = "default", tags = ["a"], egress = "ALL_TRAFFIC" }
  binary_authorization = { use_default = true }
  labels               = { team = "ml" }
  annotations          = { note = "x" }
  timeouts             = { create = "5m", update = "5m", delete = "5m" }
}
resource "resilientjob_execution" "x" {
  job          = resilientjob_gpu_job.j.id
  args         = ["train.py", "--short"]
  env          = { LR = "0.2" }
  task_count   = 1
  task_timeout = "10m"
  triggers     = { version = "1" }
  wait_for     = "completed"
  timeouts     = { create = "5m" }
}
`

// odd is a value with one part of it taken out, or emptied, or not known.
type odd struct {
	what string
	v    tftypes.Value
	leaf bool // a text, a number or a bool
}

// odds are all of those of a value, the deepest parts too.
func odds(t testing.TB, at string, v tftypes.Value) []odd {
	t.Helper()
	typ := v.Type()
	leaf := typ.Is(tftypes.String) || typ.Is(tftypes.Number) || typ.Is(tftypes.Bool)
	out := []odd{{at + " unknown", tftypes.NewValue(typ, tftypes.UnknownValue), leaf}}
	if v.IsNull() || !v.IsKnown() {
		return out
	}
	out = append(out, odd{at + " null", tftypes.NewValue(typ, nil), leaf})
	switch typ := typ.(type) {
	case tftypes.Object:
		out = append(out, odd{at + " empty", tftypes.NewValue(typ, nulls(typ)), false})
		all := parts(t, v)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, o := range odds(t, at+"."+name, all[name]) {
				changed := maps.Clone(all)
				changed[name] = o.v
				out = append(out, odd{o.what, tftypes.NewValue(typ, changed), o.leaf})
			}
		}
	case tftypes.Map:
		out = append(out, odd{at + " empty", tftypes.NewValue(typ, map[string]tftypes.Value{}), false})
		all := parts(t, v)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, o := range odds(t, at+"."+name, all[name]) {
				changed := maps.Clone(all)
				changed[name] = o.v
				out = append(out, odd{o.what, tftypes.NewValue(typ, changed), o.leaf})
			}
		}
	case tftypes.List, tftypes.Set:
		out = append(out, odd{at + " empty", tftypes.NewValue(typ, []tftypes.Value{}), false})
		var all []tftypes.Value
		if err := v.As(&all); err != nil {
			t.Fatal(err)
		}
		for i := range all {
			for _, o := range odds(t, fmt.Sprintf("%s.%d", at, i), all[i]) {
				changed := slices.Clone(all)
				changed[i] = o.v
				out = append(out, odd{o.what, tftypes.NewValue(typ, changed), o.leaf})
			}
		}
	default:
		if typ.Is(tftypes.String) {
			out = append(out, odd{at + " empty", tftypes.NewValue(typ, ""), true})
		}
	}
	return out
}

func parts(t testing.TB, v tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	var all map[string]tftypes.Value
	if err := v.As(&all); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(all) // As gives out the value's own map
}

func nulls(typ tftypes.Object) map[string]tftypes.Value {
	out := map[string]tftypes.Value{}
	for name, at := range typ.AttributeTypes {
		out[name] = tftypes.NewValue(at, nil)
	}
	return out
}

// filled is a value in which everything is set to something.
func filled(typ tftypes.Type) tftypes.Value {
	switch typ := typ.(type) {
	case tftypes.Object:
		all := map[string]tftypes.Value{}
		for name, at := range typ.AttributeTypes {
			all[name] = filled(at)
		}
		return tftypes.NewValue(typ, all)
	case tftypes.Map:
		return tftypes.NewValue(typ, map[string]tftypes.Value{"a": filled(typ.ElementType)})
	case tftypes.List:
		return tftypes.NewValue(typ, []tftypes.Value{filled(typ.ElementType)})
	case tftypes.Set:
		return tftypes.NewValue(typ, []tftypes.Value{filled(typ.ElementType)})
	}
	switch {
	case typ.Is(tftypes.Number):
		return tftypes.NewValue(typ, big.NewFloat(1))
	case typ.Is(tftypes.Bool):
		return tftypes.NewValue(typ, true)
	}
	return tftypes.NewValue(typ, "train")
}

// calm fails the test when f panics.
func calm(t testing.TB, what string, f func()) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v\n%s", what, r, debug.Stack())
		}
	}()
	f()
}

// configured is a provider beside an emulator, and the emulator.
func configured(t testing.TB) (*acctest.Protocol, *emulator.Emulator) {
	t.Helper()
	tasks := runner.NewScripted()
	tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	if _, err := e.Secrets().AddSecret(acctest.EmulatorProject, "token", []byte("x")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RESILIENTJOB_EMULATOR_HOST": e.Addr(), "GOOGLE_PROJECT": acctest.EmulatorProject, "GOOGLE_REGION": acctest.EmulatorRegion}
	p := acctest.NewProtocol(t, provider.WithEnvironment(func(name string) string { return env[name] }), provider.WithClock(core.NewClock()))
	p.Configure(nil)
	return p, e
}

// makeAll applies everything, and returns what stands in the state, by type.
func makeAll(t *testing.T, e *emulator.Emulator) map[string]*core.Object {
	t.Helper()
	tf := core.New(t, e, core.NewClock())
	if res := tf.Apply(acctest.ProviderConfig(e) + everyBlock); res.Failed() {
		t.Fatal(res)
	}
	out := map[string]*core.Object{}
	for _, r := range tf.State {
		out[r.Type] = r.Current
	}
	if len(out) != 3 {
		t.Fatalf("%d types of resources", len(out))
	}
	return out
}

// A state in which something is missing or empty, as an older version or a move may have left it, whatever it is: it is read, planned, changed
// and destroyed without a crash, and no plan is one that Terraform calls invalid (cases 103, 118).
func TestOddStates(t *testing.T) {
	t.Parallel()
	_, e := configured(t)
	for typeName, o := range makeAll(t, e) {
		t.Run(typeName, func(t *testing.T) {
			t.Parallel()
			gone, _ := configured(t)   // where nothing of it is there
			there, te := configured(t) // where all of it is, but for what another state made of it
			makeAll(t, te)
			schema := there.Schema.ResourceSchemas[typeName]
			config := configOf(t, schema, o.Value)
			tried := 0
			for i, state := range odds(t, "state", o.Value) {
				if state.v.IsNull() || !state.v.IsFullyKnown() || state.leaf && strings.Count(state.what, ".") > 1 && i%16 != 0 {
					continue // of the many deep leaves a few will do
				}
				if required(schema, state.what) {
					continue // no version has left that out
				}
				tried++
				raw, err := json.Marshal((&core.Object{Value: state.v}).Values())
				if err != nil {
					t.Fatal(err)
				}
				// In turn: changed where all of it is, and destroyed where nothing is.
				p, next := there, config
				if i%3 == 0 {
					p, next = gone, tftypes.NewValue(config.Type(), nil)
				}
				what := typeName + ", " + state.what
				calm(t, what, func() {
					up, err := p.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: typeName, Version: schema.Version, RawState: &tfprotov6.RawState{JSON: raw}})
					if err != nil || hasErrors(up.Diagnostics) {
						t.Errorf("%s: the state is not taken: %v %s", what, err, errorsOf(up.Diagnostics))
						return
					}
					if _, err := p.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: up.UpgradedState, Private: o.Private}); err != nil {
						t.Errorf("%s: %v", what, err)
					}
					carryOut(t, what, p, typeName, schema, state.v, next, o.Private)
				})
			}
			t.Logf("%d states", tried)
			if tried < 20 {
				t.Errorf("%d states were tried", tried)
			}
		})
	}
}

// required reports whether what is odd is that a required attribute is null.
func required(schema *tfprotov6.Schema, what string) bool {
	return slices.ContainsFunc(schema.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Required && what == "state."+a.Name+" null" })
}

// configOf is a configuration that gives a state: what cannot be configured is null.
func configOf(t testing.TB, schema *tfprotov6.Schema, state tftypes.Value) tftypes.Value {
	t.Helper()
	all := parts(t, state)
	for _, a := range schema.Block.Attributes {
		if !a.Optional && !a.Required {
			all[a.Name] = tftypes.NewValue(all[a.Name].Type(), nil)
		}
	}
	// Only one of each of these may be configured.
	for _, name := range []string{"service_account_id", "service_account"} {
		if v, ok := all[name]; ok {
			all[name] = tftypes.NewValue(v.Type(), nil)
		}
	}
	return tftypes.NewValue(state.Type(), all)
}

// carryOut plans and applies, and holds the plan to Terraform's rules.
func carryOut(t testing.TB, what string, p *acctest.Protocol, typeName string, schema *tfprotov6.Schema, prior, config tftypes.Value, private []byte) {
	t.Helper()
	dynamic := func(v tftypes.Value) *tfprotov6.DynamicValue {
		d, err := tfprotov6.NewDynamicValue(v.Type(), v)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
	proposed := config
	if !config.IsNull() {
		proposed = core.Proposed(schema.Block.Attributes, prior, config)
	}
	planned, err := p.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: dynamic(prior), PriorPrivate: private, Config: dynamic(config), ProposedNewState: dynamic(proposed)})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if hasErrors(planned.Diagnostics) {
		return // refused in words
	}
	after, err := planned.PlannedState.Unmarshal(config.Type())
	if err != nil {
		t.Fatal(err)
	}
	if !config.IsNull() {
		for _, fault := range core.InvalidPlan(schema.Block.Attributes, prior, config, after) {
			t.Errorf("%s: Terraform would refuse the plan: %s", what, fault)
		}
	}
	if len(planned.RequiresReplace) > 0 || after.IsNull() && prior.IsNull() {
		return
	}
	if _, err := p.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: dynamic(prior), Config: dynamic(config),
		PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A configuration in which a nested object is empty, or anything is missing or not known yet: of resources, data sources and the provider block
// itself (case 118).
func TestOddConfigurations(t *testing.T) {
	t.Parallel()
	p, e := configured(t)
	states := makeAll(t, e)
	dynamic := func(v tftypes.Value) *tfprotov6.DynamicValue {
		d, err := tfprotov6.NewDynamicValue(v.Type(), v)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
	for typeName, o := range states {
		if typeName != "resilientjob_execution" {
			continue // the others have tests of their own for every value of every attribute
		}
		schema := p.Schema.ResourceSchemas[typeName]
		none := tftypes.NewValue(o.Value.Type(), nil)
		for _, config := range odds(t, "config", configOf(t, schema, o.Value)) {
			if config.v.IsNull() || !config.v.IsKnown() {
				continue // there is always a block
			}
			what := typeName + ", " + config.what
			calm(t, what, func() {
				v, err := p.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: dynamic(config.v)})
				if err != nil {
					t.Fatal(err)
				}
				if hasErrors(v.Diagnostics) {
					return
				}
				for _, prior := range []tftypes.Value{none, o.Value} {
					planned, err := p.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: dynamic(prior), PriorPrivate: o.Private,
						Config: dynamic(config.v), ProposedNewState: dynamic(core.Proposed(schema.Block.Attributes, prior, config.v))})
					if err != nil || hasErrors(planned.Diagnostics) {
						continue
					}
					after, err := planned.PlannedState.Unmarshal(config.v.Type())
					if err != nil {
						t.Fatal(err)
					}
					for _, fault := range core.InvalidPlan(schema.Block.Attributes, prior, config.v, after) {
						t.Errorf("%s: Terraform would refuse the plan: %s", what, fault)
					}
				}
			})
		}
	}
	for typeName, schema := range p.Schema.DataSourceSchemas {
		typ, ok := schema.ValueType().(tftypes.Object)
		if !ok {
			t.Fatal("the schema is no object")
		}
		full := parts(t, filled(typ))
		for _, a := range schema.Block.Attributes {
			if !a.Optional && !a.Required {
				full[a.Name] = tftypes.NewValue(full[a.Name].Type(), nil)
			}
		}
		for _, config := range odds(t, "data", tftypes.NewValue(typ, full)) {
			if config.v.IsNull() || !config.v.IsKnown() {
				continue
			}
			calm(t, typeName+", "+config.what, func() {
				v, err := p.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: dynamic(config.v)})
				if err != nil {
					t.Fatal(err)
				}
				if hasErrors(v.Diagnostics) || !config.v.IsFullyKnown() {
					return
				}
				if _, err := p.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: dynamic(config.v)}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	block := p.Schema.Provider.ValueType()
	for _, config := range odds(t, "provider", filled(block)) {
		if config.v.IsNull() || !config.v.IsKnown() {
			continue
		}
		calm(t, config.what, func() {
			one := acctest.NewProtocol(t, provider.WithEnvironment(func(string) string { return "" }))
			if _, err := one.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: dynamic(config.v)}); err != nil {
				t.Error(err)
			}
			if _, err := one.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: dynamic(config.v)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A state in which a field has another type than now, as after a change of the schema, is refused in words that name the field, or taken
// where Terraform can convert it; what nobody knows any more is dropped (case 103).
func TestStatesOfAnotherType(t *testing.T) {
	t.Parallel()
	p, e := configured(t)
	for typeName, o := range makeAll(t, e) {
		schema := p.Schema.ResourceSchemas[typeName]
		values := o.Values()
		upgrade := func(what string, change map[string]any) (ok bool, said string) {
			all := maps.Clone(values)
			maps.Copy(all, change)
			raw, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			calm(t, what, func() {
				up, err := p.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: typeName, Version: schema.Version, RawState: &tfprotov6.RawState{JSON: raw}})
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				ok, said = !hasErrors(up.Diagnostics), errorsOf(up.Diagnostics)
			})
			return ok, said
		}
		if ok, said := upgrade("of tomorrow", map[string]any{"of_tomorrow": map[string]any{"a": []any{1.0, nil}}}); !ok {
			t.Errorf("%s: a field that is not known any more is no reason to refuse a state: %s", typeName, said)
		}
		for _, a := range schema.Block.Attributes {
			for _, v := range []any{604800.0, "604800", true, []any{"x"}, map[string]any{"x": "y"}} {
				what := fmt.Sprintf("%s, %s as %T", typeName, a.Name, v)
				if ok, said := upgrade(what, map[string]any{a.Name: v}); !ok && !strings.Contains(said, a.Name) {
					t.Errorf("%s: it is not said which field it is: %s", what, said)
				}
			}
		}
	}
}

func hasErrors(diags []*tfprotov6.Diagnostic) bool { return errorsOf(diags) != "" }

// errorsOf are the errors in words.
func errorsOf(diags []*tfprotov6.Diagnostic) string {
	var out []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			out = append(out, d.Summary+": "+d.Detail)
		}
	}
	return strings.Join(out, "\n")
}
