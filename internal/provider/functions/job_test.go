// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// planner plans jobs beside the functions. The provider's credentials are not
// known yet, so that it asks nobody.
func newPlanner(t testing.TB) *caller {
	t.Helper()
	c := newCaller(t)
	for _, d := range c.Configure(map[string]tftypes.Value{"project": value("my-project"), "region": value("us-central1"), "credentials": value(unknown{})}) {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			t.Fatalf("%s: %s", d.Summary, d.Detail)
		}
	}
	return c
}

// planJob plans a new job.
func (c *caller) planJob(t fails, attributes keys) (planned tftypes.Value, said []*tfprotov6.Diagnostic) {
	t.Helper()
	typ := c.Schema.ResourceSchemas["resilientjob_gpu_job"].ValueType()
	all := keys{"name": "train", "image": "us-docker.pkg.dev/my-project/ml/train:1"}
	maps.Copy(all, attributes)
	dynamic := func(v tftypes.Value) *tfprotov6.DynamicValue {
		d, err := tfprotov6.NewDynamicValue(typ, v)
		if err != nil {
			t.Fatalf("%v: %v", attributes, err)
		}
		return &d
	}
	config := dynamic(filled(t, typ, all))
	resp, err := c.PlanResourceChange(timeless{}, &tfprotov6.PlanResourceChangeRequest{
		TypeName: "resilientjob_gpu_job", PriorState: dynamic(tftypes.NewValue(typ, nil)), Config: config, ProposedNewState: config,
	})
	if err != nil {
		t.Fatalf("plan of %v: %v", attributes, err)
	}
	planned, err = resp.PlannedState.Unmarshal(typ)
	if err != nil {
		t.Fatalf("plan of %v: %v", attributes, err)
	}
	return planned, resp.Diagnostics
}

// filled makes a value of a type: what an object leaves out is null.
func filled(t fails, typ tftypes.Type, v any) tftypes.Value {
	t.Helper()
	object, ok := typ.(tftypes.Object)
	if !ok || v == nil {
		if v == nil {
			return tftypes.NewValue(typ, nil)
		}
		return value(v)
	}
	given, ok := v.(keys)
	if !ok {
		t.Fatalf("%v for an object", v)
	}
	all := map[string]tftypes.Value{}
	for name, a := range object.AttributeTypes {
		all[name] = filled(t, a, given[name])
	}
	return tftypes.NewValue(object, all)
}
