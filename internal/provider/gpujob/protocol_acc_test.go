// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

const jobType = "resilientjob_gpu_job"

// spoken is the provider spoken to by the protocol, bound to an emulator. What
// the installed command line cannot do is tested with it.
type spoken struct {
	*acctest.Protocol
	t      testing.TB
	schema *tfprotov6.Schema
	typ    tftypes.Object
}

func speak(t testing.TB, w *world, options ...provider.Option) *spoken {
	t.Helper()
	env := map[string]string{"RESILIENTJOB_EMULATOR_HOST": w.e.Addr(), "GOOGLE_PROJECT": w.job.Project, "GOOGLE_REGION": w.job.Location}
	options = append(options, provider.WithEnvironment(func(name string) string { return env[name] }))
	s := &spoken{Protocol: acctest.NewProtocol(t, options...), t: t}
	s.silent(s.Configure(nil))
	s.schema = s.Schema.ResourceSchemas[jobType]
	typ, ok := s.schema.ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("the schema is no object")
	}
	s.typ = typ
	return s
}

func (s *spoken) silent(diags []*tfprotov6.Diagnostic) {
	s.t.Helper()
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			s.t.Fatalf("%s: %s (%s)", d.Summary, d.Detail, d.Attribute)
		}
	}
}

func (s *spoken) ok(diags []*tfprotov6.Diagnostic, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.silent(diags)
}

// identityOf reads an identity.
func (s *spoken) identityOf(raw *tfprotov6.ResourceIdentityData) string {
	s.t.Helper()
	if raw == nil || raw.IdentityData == nil {
		return "none"
	}
	v, err := raw.IdentityData.Unmarshal(identityType)
	if err != nil {
		s.t.Fatal(err)
	}
	var parts map[string]tftypes.Value
	if err := v.As(&parts); err != nil {
		s.t.Fatal(err)
	}
	var out [3]string
	for i, name := range []string{"project", "location", "name"} {
		if err := parts[name].As(&out[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	return out[0] + "/" + out[1] + "/" + out[2]
}

var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"project": tftypes.String, "location": tftypes.String, "name": tftypes.String}}

// case 104: the identity is there, whole, after create, read, update and import;
// an import by identity takes what it leaves out from the provider.
func TestAccIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := speak(t, w)
	ctx := t.Context()
	want := w.job.Project + "/" + w.job.Location + "/" + w.job.Name
	null, err := tfprotov6.NewDynamicValue(s.typ, tftypes.NewValue(s.typ, nil))
	if err != nil {
		t.Fatal(err)
	}
	config := func(retries int) *tfprotov6.DynamicValue {
		return s.Object(s.schema, map[string]tftypes.Value{
			"name": tftypes.NewValue(tftypes.String, w.job.Name), "image": tftypes.NewValue(tftypes.String, "train:1"),
			"max_retries": tftypes.NewValue(tftypes.Number, retries),
		})
	}
	apply := func(retries int, prior *tfprotov6.DynamicValue, proposed *tfprotov6.DynamicValue, identity *tfprotov6.ResourceIdentityData) *tfprotov6.ApplyResourceChangeResponse {
		planned, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
			TypeName: jobType, PriorState: prior, ProposedNewState: proposed, Config: config(retries), PriorIdentity: identity})
		s.ok(planned.Diagnostics, err)
		applied, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
			TypeName: jobType, PriorState: prior, PlannedState: planned.PlannedState, Config: config(retries), PlannedPrivate: planned.PlannedPrivate, PlannedIdentity: planned.PlannedIdentity})
		s.ok(applied.Diagnostics, err)
		return applied
	}
	created := apply(1, &null, config(1), nil)
	equal(t, "after create", s.identityOf(created.NewIdentity), want)

	read, err := s.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: jobType, CurrentState: created.NewState, Private: created.Private, CurrentIdentity: created.NewIdentity})
	s.ok(read.Diagnostics, err)
	equal(t, "after read", s.identityOf(read.NewIdentity), want)

	state, err := read.NewState.Unmarshal(s.typ)
	if err != nil {
		t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := state.As(&attributes); err != nil {
		t.Fatal(err)
	}
	attributes["max_retries"] = tftypes.NewValue(tftypes.Number, 2)
	updated := apply(2, read.NewState, s.Object(s.schema, attributes), read.NewIdentity)
	equal(t, "after update", s.identityOf(updated.NewIdentity), want)

	for given, parts := range map[string][2]any{"name alone": {nil, nil}, "everything": {w.job.Project, w.job.Location}} {
		id, err := tfprotov6.NewDynamicValue(identityType, tftypes.NewValue(identityType, map[string]tftypes.Value{
			"project": tftypes.NewValue(tftypes.String, parts[0]), "location": tftypes.NewValue(tftypes.String, parts[1]), "name": tftypes.NewValue(tftypes.String, w.job.Name),
		}))
		if err != nil {
			t.Fatal(err)
		}
		imported, err := s.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: jobType, Identity: &tfprotov6.ResourceIdentityData{IdentityData: &id}})
		s.ok(imported.Diagnostics, err)
		equal(t, "imported by "+given, s.identityOf(imported.ImportedResources[0].Identity), want)
		got, err := imported.ImportedResources[0].State.Unmarshal(s.typ)
		if err != nil {
			t.Fatal(err)
		}
		after, err := updated.NewState.Unmarshal(s.typ)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "state imported by "+given, got, after)
	}
}
