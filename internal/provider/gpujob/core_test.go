// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// attrs is an object or a map as a configuration writes it; what an object leaves out is null.
type attrs = map[string]any

// unknown stands for a value that is known only after other things were made.
type unknown struct{}

// core plays the part of Terraform's core in process: it proposes what a plan starts from, and holds plan and apply to the rules by which
// Terraform calls a provider inconsistent.
type core struct {
	*spoken
	w *world
}

// newCore is a provider beside an emulator of its own, with buckets and secrets for jobs to use.
func newCore(t testing.TB, options ...func(*emulator.Options)) *core {
	t.Helper()
	w := &world{t: t, e: acctest.Emulator(t, options...)}
	client, err := gcp.New(t.Context(), gcp.Options{EmulatorHost: w.e.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	w.client = client
	w.job = resourcename.Job{Project: acctest.EmulatorProject, Location: acctest.EmulatorRegion, Name: acctest.Name("job")}
	w.provision()
	return &core{speak(t, w), w}
}

// The buckets and secrets that jobs of these tests use.
var (
	testBuckets = []string{"ckpt-one", "ckpt-two", "data-one", "data-two"}
	testSecrets = []string{"token", "key"}
)

func (w *world) provision() {
	w.t.Helper()
	for _, name := range testBuckets {
		_, err := w.client.CreateBucket(w.t.Context(), w.job.Project, &storage.Bucket{Name: name, Location: w.job.Location,
			IamConfiguration: &storage.BucketIamConfiguration{UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}}})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for _, id := range []string{"trainer", "another"} {
		w.addAccount(id, "")
	}
	for _, name := range testSecrets {
		for _, payload := range []string{"one", "two", "three"} {
			if _, err := w.e.Secrets().AddSecret(w.job.Project, name, []byte(name+" "+payload)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// toValue makes a value of Go values.
func toValue(t testing.TB, typ tftypes.Type, v any) tftypes.Value {
	t.Helper()
	each := func(element tftypes.Type, all []string) []tftypes.Value {
		out := []tftypes.Value{}
		for _, s := range all {
			out = append(out, toValue(t, element, s))
		}
		return out
	}
	switch v := v.(type) {
	case tftypes.Value:
		return v
	case unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case []string:
		switch typ := typ.(type) {
		case tftypes.List:
			return tftypes.NewValue(typ, each(typ.ElementType, v))
		case tftypes.Set:
			return tftypes.NewValue(typ, each(typ.ElementType, v))
		}
		t.Fatalf("a list for %s", typ)
	case []any:
		out := []tftypes.Value{}
		switch typ := typ.(type) {
		case tftypes.List:
			for _, e := range v {
				out = append(out, toValue(t, typ.ElementType, e))
			}
		case tftypes.Set:
			for _, e := range v {
				out = append(out, toValue(t, typ.ElementType, e))
			}
		default:
			t.Fatalf("a list for %s", typ)
		}
		return tftypes.NewValue(typ, out)
	case map[string]string:
		all := attrs{}
		for k, s := range v {
			all[k] = s
		}
		return toValue(t, typ, all)
	case attrs:
		out := map[string]tftypes.Value{}
		switch typ := typ.(type) {
		case tftypes.Object:
			for name, at := range typ.AttributeTypes {
				out[name] = toValue(t, at, v[name])
			}
			for name := range v {
				if _, ok := typ.AttributeTypes[name]; !ok {
					t.Fatalf("no attribute %s", name)
				}
			}
		case tftypes.Map:
			for name, e := range v {
				out[name] = toValue(t, typ.ElementType, e)
			}
		default:
			t.Fatalf("an object for %s", typ)
		}
		return tftypes.NewValue(typ, out)
	}
	return tftypes.NewValue(typ, v)
}

// elements are the attributes of an object or the elements of a map.
func elements(t testing.TB, v tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(out) // As gives out the value's own map
}

// job is the configuration of the world's job.
func (c *core) job(set attrs) tftypes.Value {
	c.t.Helper()
	all := attrs{"name": c.w.job.Name, "image": "train:1"}
	maps.Copy(all, set)
	return toValue(c.t, c.typ, all)
}

// life is a resource in Terraform's hands.
type life struct {
	state    tftypes.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData
}

func (c *core) none() *life { return &life{state: tftypes.NewValue(c.typ, nil)} }

func (c *core) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	c.t.Helper()
	d, err := tfprotov6.NewDynamicValue(c.typ, v)
	if err != nil {
		c.t.Fatal(err)
	}
	return &d
}

func (c *core) read6(d *tfprotov6.DynamicValue) tftypes.Value {
	c.t.Helper()
	v, err := d.Unmarshal(c.typ)
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// planning is what a plan says.
type planning struct {
	prior            *life
	config           tftypes.Value
	state            tftypes.Value
	private          []byte
	identity         *tfprotov6.ResourceIdentityData
	replaces         []string
	errors, warnings []string
}

// validate returns the errors of validation.
func (c *core) validate(config tftypes.Value) []string {
	c.t.Helper()
	v, err := c.ValidateResourceConfig(c.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: jobType, Config: c.dynamic(config)})
	if err != nil {
		c.t.Fatal(err)
	}
	errs, _ := said(v.Diagnostics)
	return errs
}

// plan validates and plans, and checks the plan as Terraform does.
func (c *core) plan(l *life, config tftypes.Value) *planning {
	c.t.Helper()
	p := &planning{prior: l, config: config, state: l.state, errors: c.validate(config)}
	if len(p.errors) > 0 {
		return p
	}
	resp, err := c.PlanResourceChange(c.t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: jobType, PriorState: c.dynamic(l.state), PriorPrivate: l.private,
		PriorIdentity: l.identity, Config: c.dynamic(config), ProposedNewState: c.dynamic(terraform.Proposed(c.schema.Block.Attributes, l.state, config))})
	if err != nil {
		c.t.Fatal(err)
	}
	p.errors, p.warnings = said(resp.Diagnostics)
	if len(p.errors) > 0 {
		return p
	}
	p.state, p.private, p.identity = c.read6(resp.PlannedState), resp.PlannedPrivate, resp.PlannedIdentity
	for _, r := range resp.RequiresReplace {
		p.replaces = append(p.replaces, terraform.Dotted(r))
	}
	for _, fault := range terraform.InvalidPlan(c.schema.Block.Attributes, l.state, config, p.state) {
		c.t.Errorf("Terraform would refuse the plan: %s", fault)
	}
	return p
}

// action is what a plan does: "no-op", "update", "create", "replace" or "refused".
func (p *planning) action(t testing.TB) string {
	t.Helper()
	switch {
	case len(p.errors) > 0:
		return "refused"
	case len(p.replaces) > 0:
		return "replace"
	case p.prior.state.IsNull():
		return "create"
	case p.prior.state.Equal(p.state):
		return "no-op"
	}
	return "update"
}

// carryOut applies a plan, and checks the result as Terraform does. The errors are the apply's.
func (c *core) carryOut(p *planning) (l *life, errors, warnings []string) {
	c.t.Helper()
	a, err := c.ApplyResourceChange(c.t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: jobType, PriorState: c.dynamic(p.prior.state), Config: c.dynamic(p.config),
		PlannedState: c.dynamic(p.state), PlannedPrivate: p.private, PlannedIdentity: p.identity})
	if err != nil {
		c.t.Fatal(err)
	}
	l = &life{state: c.read6(a.NewState), private: a.Private, identity: a.NewIdentity}
	errors, warnings = said(a.Diagnostics)
	if len(errors) > 0 {
		return l, errors, warnings
	}
	for _, fault := range terraform.Incompatible(p.state, l.state) {
		c.t.Errorf("Terraform would say that the apply is inconsistent: %s", fault)
	}
	if !l.state.IsFullyKnown() {
		c.t.Errorf("unknown after the apply: %s", l.state)
	}
	return l, nil, warnings
}

// apply plans and applies what is to succeed.
func (c *core) apply(l *life, config tftypes.Value) *life {
	c.t.Helper()
	p := c.plan(l, config)
	if len(p.errors) > 0 {
		c.t.Fatalf("the plan is refused: %q", p.errors)
	}
	next, errs, warnings := c.carryOut(p)
	if len(errs)+len(warnings) > 0 {
		c.t.Fatalf("the apply says %q %q", errs, warnings)
	}
	return next
}

// read refreshes.
func (c *core) read(l *life) *life {
	c.t.Helper()
	r, err := c.ReadResource(c.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: jobType, CurrentState: c.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
	c.ok(r.Diagnostics, err)
	return &life{state: c.read6(r.NewState), private: r.Private, identity: r.NewIdentity}
}

// destroy destroys.
func (c *core) destroy(l *life) {
	c.t.Helper()
	null := c.none()
	a, err := c.ApplyResourceChange(c.t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: jobType, PriorState: c.dynamic(l.state), Config: c.dynamic(null.state),
		PlannedState: c.dynamic(null.state), PlannedPrivate: l.private, PlannedIdentity: l.identity})
	c.ok(a.Diagnostics, err)
}

// unchanged fails the test unless a refresh and a plan change nothing, and returns what was read.
func (c *core) unchanged(what string, l *life, config tftypes.Value) *life {
	c.t.Helper()
	l = c.read(l)
	p := c.plan(l, config)
	if len(p.errors)+len(p.warnings) > 0 {
		c.t.Errorf("%s: the plan says %q %q", what, p.errors, p.warnings)
	}
	if action := p.action(c.t); action != "no-op" {
		c.t.Errorf("%s: the plan is %s and changes %v", what, action, changed(c.t, "", l.state, p.state))
	}
	return l
}

// said returns errors and warnings, each as path, summary and detail.
func said(diags []*tfprotov6.Diagnostic) (errors, warnings []string) {
	for _, d := range diags {
		line := fmt.Sprintf("%s: %s: %s", terraform.Dotted(d.Attribute), d.Summary, d.Detail)
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			errors = append(errors, line)
		} else {
			warnings = append(warnings, line)
		}
	}
	return errors, warnings
}

func join(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }

// sortedNames are the keys of both maps in order.
func sortedNames[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// keyed tells whether a value is a known object or map.
func keyed(v tftypes.Value) bool {
	return (v.Type().Is(tftypes.Object{}) || v.Type().Is(tftypes.Map{})) && v.IsKnown() && !v.IsNull()
}

// changed returns the deepest attributes and elements in which two values differ.
func changed(t testing.TB, at string, a, b tftypes.Value) []string {
	t.Helper()
	if a.Equal(b) {
		return nil
	}
	if !keyed(a) || !keyed(b) {
		return []string{at}
	}
	var out []string
	ea, eb := elements(t, a), elements(t, b)
	for _, name := range sortedNames(ea, eb) {
		x, inA := ea[name]
		y, inB := eb[name]
		if !inA || !inB {
			out = append(out, join(at, name))
			continue
		}
		out = append(out, changed(t, join(at, name), x, y)...)
	}
	return out
}

// shortMethods are the names of methods without their service.
func shortMethods(methods []string) string {
	var out []string
	for _, m := range methods {
		out = append(out, m[strings.LastIndexAny(m, "./")+1:])
	}
	return strings.Join(out, " ")
}

// writes are the calls since a moment that change something.
func writes(r *acctest.Requests) string { return shortMethods(r.Writes()) }
