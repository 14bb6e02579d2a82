// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

var testJob = resourcename.Job{Project: "my-project", Location: "us-central1", Name: "train"}

// example is the state of a plain job with the documented defaults.
func example() Model {
	m := blank(testJob)
	m.identify()
	m.UID = types.StringValue("00e30000-0000-4000-8000-000000000001")
	m.Image = types.StringValue("us-docker.pkg.dev/my-project/repo/train:1")
	m.GPUType, m.GPUZonalRedundancy = types.StringValue("nvidia-l4"), types.BoolValue(false)
	m.CPU, m.Memory = value.NewQuantity("4"), value.NewQuantity("16Gi")
	m.TaskCount, m.TaskTimeout, m.MaxRetries = value.NewWhole(1), value.NewDuration("1h"), value.NewWhole(3)
	m.ServiceAccountID = types.StringValue("train-1a2b3c4d")
	m.ServiceAccountEmail = types.StringValue("train-1a2b3c4d@my-project.iam.gserviceaccount.com")
	m.ServiceAccountUniqueID = types.StringValue("999000000000000000001")
	m.TerraformLabels, m.EffectiveLabels = value.MapOf(nil), value.MapOf(nil)
	m.Exposure = m.exposure()
	m.Timeouts = timelimits.Null(context.Background())
	return m
}

// with is example with changes.
func with(change func(*Model)) Model {
	m := example()
	change(&m)
	return m
}

func checkpointOf(change func(*Checkpoint)) types.Object {
	c := newCheckpoint()
	c.Bucket = types.StringValue("my-checkpoints")
	if change != nil {
		change(c)
	}
	var diags diag.Diagnostics
	o := c.object(context.Background(), &diags)
	if diags.HasError() {
		panic(diags)
	}
	return o
}

func schemaOf(t testing.TB) schema.Schema {
	t.Helper()
	var resp resource.SchemaResponse
	(&Resource{}).Schema(t.Context(), resource.SchemaRequest{}, &resp)
	if resp.Diagnostics.HasError() {
		t.Fatal(resp.Diagnostics)
	}
	return resp.Schema
}

func noErrors(t testing.TB, diags diag.Diagnostics) {
	t.Helper()
	for _, d := range diags.Errors() {
		t.Fatalf("%s: %s", d.Summary(), d.Detail())
	}
}

func TestSchemaIsSound(t *testing.T) {
	t.Parallel()
	s := schemaOf(t)
	noErrors(t, s.ValidateImplementation(t.Context()))
	// The model and the schema have the same attributes with the same types.
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
	want := example()
	noErrors(t, state.Set(t.Context(), want))
	var got Model
	noErrors(t, state.Get(t.Context(), &got))
	if got.Exposure.String() != want.Exposure.String() || !got.Grants.Equal(want.Grants) || !got.Checkpoint.IsNull() {
		t.Errorf("the state gives back %v, want %v", got, want)
	}
	for name, a := range s.Attributes {
		if a.GetMarkdownDescription() == "" && name != "timeouts" {
			t.Errorf("%s has no description", name)
		}
	}
}

func TestDesiredGrants(t *testing.T) {
	t.Parallel()
	owned := gcp.Grant{Resource: "projects/_/buckets/my-checkpoints", Role: "roles/storage.objectUser", Member: "serviceAccount:train-1a2b3c4d@my-project.iam.gserviceaccount.com"}
	shared := owned
	shared.Member = "serviceAccount:shared@my-project.iam.gserviceaccount.com"
	name := func(m *Model) {
		m.ServiceAccount = types.StringValue("shared@my-project.iam.gserviceaccount.com")
		m.ServiceAccountEmail = m.ServiceAccount
	}
	for label, c := range map[string]struct {
		m    Model
		want []gcp.Grant
		ok   bool
	}{
		"no checkpoint":        {example(), nil, true},
		"own account":          {with(func(m *Model) { m.Checkpoint = checkpointOf(nil) }), []gcp.Grant{owned}, true},
		"own account, refused": {with(func(m *Model) { m.Checkpoint = checkpointOf(func(c *Checkpoint) { c.Grant = types.BoolValue(false) }) }), nil, true},
		"named account":        {with(func(m *Model) { name(m); m.Checkpoint = checkpointOf(nil) }), nil, true},
		"named account, asked for": {with(func(m *Model) {
			name(m)
			m.Checkpoint = checkpointOf(func(c *Checkpoint) { c.Grant = types.BoolValue(true) })
		}), []gcp.Grant{shared}, true},
		"unknown checkpoint": {with(func(m *Model) { m.Checkpoint = types.ObjectUnknown(checkpointTypes) }), nil, false},
		"unknown bucket":     {with(func(m *Model) { m.Checkpoint = checkpointOf(func(c *Checkpoint) { c.Bucket = types.StringUnknown() }) }), nil, false},
		"unknown grant":      {with(func(m *Model) { m.Checkpoint = checkpointOf(func(c *Checkpoint) { c.Grant = types.BoolUnknown() }) }), nil, false},
		"unknown account":    {with(func(m *Model) { m.ServiceAccount = types.StringUnknown(); m.Checkpoint = checkpointOf(nil) }), nil, false},
		"unknown e-mail":     {with(func(m *Model) { m.ServiceAccountEmail = types.StringUnknown(); m.Checkpoint = checkpointOf(nil) }), nil, false},
	} {
		var diags diag.Diagnostics
		got, ok := c.m.desiredGrants(t.Context(), &diags)
		noErrors(t, diags)
		if ok != c.ok || len(got) != len(c.want) || len(gcp.WithoutGrants(got, c.want)) > 0 {
			t.Errorf("%s: %v %t, want %v %t", label, got, ok, c.want, c.ok)
		}
	}
}

func TestSettledHasNothingUnknown(t *testing.T) {
	t.Parallel()
	m := example()
	m.ID, m.UID, m.Project, m.Location = types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), value.NewLocationUnknown()
	m.CPU, m.Memory = value.NewQuantityUnknown(), value.NewQuantityUnknown()
	m.ServiceAccountID, m.ServiceAccountEmail, m.ServiceAccountUniqueID, m.ConsoleURL = types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.TerraformLabels, m.EffectiveLabels = types.MapUnknown(types.StringType), types.MapUnknown(types.StringType)
	m.Grants, m.Exposure = types.SetUnknown(grantType), types.ObjectUnknown(exposureTypes)
	s := schemaOf(t)
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
	noErrors(t, state.Set(t.Context(), m.settled()))
	if !state.Raw.IsFullyKnown() {
		t.Errorf("unknown values are left: %s", state.Raw)
	}
}
