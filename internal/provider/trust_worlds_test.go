// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

const everything = providerBlock + `
resource "resilientjob_checkpoint_bucket" "b" {
  name          = "our-checkpoints"
  force_destroy = true
}
resource "resilientjob_gpu_job" "j" {
  name       = "train"
  image      = "` + theImage + `1"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.b.name }
}
resource "resilientjob_execution" "x" {
  job               = resilientjob_gpu_job.j.id
  wait_for          = "started"
  cancel_on_destroy = true
}
`

// half is a job whose create has granted a role, and failed: no id in its state
// says where it was made.
func half() string {
	return jobBlock(`service_account = "` + theTrainer + `"
  checkpoint = { bucket = "others-checkpoints", grant = true }`)
}

// made returns the state of everything, and of half of a job.
func made(t *testing.T) (*permissionWorld, map[string]*core.Resource) {
	t.Helper()
	w := newPermissionWorld(t)
	w.endless()
	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Match: core.Sent, Status: status.New(codes.InvalidArgument, "No.")})
	if res := w.core.Apply(half()); !res.Failed() || w.core.State["resilientjob_gpu_job.j"] == nil {
		t.Fatalf("the create of half a job:%s", res)
	}
	state := map[string]*core.Resource{"half": w.core.State["resilientjob_gpu_job.j"]}
	o := state["half"].Current.Values()
	if grants, _ := o["grants"].([]any); o["uid"] != nil || o["service_account_unique_id"] != nil || len(grants) == 0 {
		t.Fatalf("half a job is %v", o)
	}
	w.core.State = map[string]*core.Resource{}
	if res := w.core.Apply(everything); res.Failed() {
		t.Fatal(res)
	}
	maps.Copy(state, w.core.State)
	return w, state
}

// Nothing that was made in one world is dropped, changed or looked for in the
// other: not by a read, nor by an apply of a change, a replacement or a destroy.
func TestWorldsAreKeptApart(t *testing.T) {
	t.Parallel()
	w, state := made(t)
	const refused = "https://127.0.0.1:1"
	cloud := acctest.NewProtocol(t, env("GOOGLE_OAUTH_ACCESS_TOKEN", "none", "GOOGLE_PROJECT", theProject, "GOOGLE_REGION", acctest.EmulatorRegion))
	endpoint := map[string]tftypes.Value{}
	types := map[string]tftypes.Type{}
	for _, api := range []string{"run", "iam", "storage", "secretmanager", "logging"} {
		endpoint[api], types[api] = str(refused), tftypes.String
	}
	cloud.Configure(map[string]tftypes.Value{"endpoints": tftypes.NewValue(tftypes.Object{AttributeTypes: types}, endpoint)})
	local := acctest.NewProtocol(t, env("RESILIENTJOB_EMULATOR_HOST", w.e.Addr(), "GOOGLE_PROJECT", theProject, "GOOGLE_REGION", acctest.EmulatorRegion))
	local.Configure(nil)
	for _, direction := range []struct {
		name string
		in   *acctest.Protocol
		as   func(*testing.T, *core.Object) *core.Object
	}{
		{"of the emulator, in Google Cloud", cloud, func(_ *testing.T, o *core.Object) *core.Object { return o }},
		{"of Google Cloud, on the emulator", local, ofCloud},
	} {
		since := acctest.Since(w.e)
		for _, name := range slices.Sorted(maps.Keys(state)) {
			o := direction.as(t, state[name].Current)
			unchanged(t, direction.name+": "+name, direction.in, state[name].Type, o)
		}
		if calls := since.Methods(); len(calls) > 0 {
			t.Errorf("%s: calls were made: %v", direction.name, calls)
		}
	}
}

// unchanged asserts that a state stays as it is, whatever is tried in the other
// world.
func unchanged(t *testing.T, what string, p *acctest.Protocol, typeName string, o *core.Object) {
	t.Helper()
	typ := o.Value.Type()
	dynamic := func(v tftypes.Value) *tfprotov6.DynamicValue {
		d, err := tfprotov6.NewDynamicValue(typ, v)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
	check := func(step string, got *tfprotov6.DynamicValue, diags []*tfprotov6.Diagnostic) {
		t.Helper()
		said := false
		for _, d := range diags {
			said = said || d.Severity == tfprotov6.DiagnosticSeverityError && d.Summary == "Emulator and Google Cloud mixed up"
		}
		v, err := got.Unmarshal(typ)
		if err != nil || !said || !v.Equal(o.Value) {
			t.Errorf("%s: %s: %v, %v; the state is %v", what, step, err, diags, v)
		}
	}
	prior, nothing := dynamic(o.Value), dynamic(tftypes.NewValue(typ, nil))
	read, err := p.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: prior, Private: o.Private})
	if err != nil {
		t.Fatal(err)
	}
	check("read", read.NewState, read.Diagnostics)
	destroyed, err := p.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: prior, PriorPrivate: o.Private, ProposedNewState: nothing, Config: nothing})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := p.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: prior, PlannedState: nothing, Config: nothing, PlannedPrivate: destroyed.PlannedPrivate})
	if err != nil {
		t.Fatal(err)
	}
	check("destroy", gone.NewState, gone.Diagnostics)
	if typeName == "resilientjob_execution" {
		return // its update records settings, and makes no call in either world
	}
	changed, err := p.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: prior, PlannedState: prior, Config: prior, PlannedPrivate: o.Private})
	if err != nil {
		t.Fatal(err)
	}
	check("update", changed.NewState, changed.Diagnostics)
}

// ofCloud is a state as it would be if Google had given out the ids.
func ofCloud(t *testing.T, o *core.Object) *core.Object {
	t.Helper()
	v, err := tftypes.Transform(o.Value, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsNull() || !v.IsKnown() {
			return v, nil
		}
		switch at.String() {
		case `AttributeName("uid")`:
			return str("7d9b1f0e-3c51-4f0a-9f51-0a2b7a1c9e11"), nil
		case `AttributeName("service_account_unique_id")`:
			return str("104857123456789012345"), nil
		}
		return v, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if len(o.Private) > 0 {
		if err := json.Unmarshal(o.Private, &all); err != nil {
			t.Fatal(err)
		}
	}
	for name, encoded := range all {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue // Terraform's own
		}
		all[name] = base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(raw), `"emulator"`, `"google cloud"`)))
	}
	private, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return &core.Object{Value: v, Private: private}
}

// An emulator that has lost its memory is the same world, in which everything is
// gone: bucket, account, role and job are made again. What ran is not run again.
func TestEmulatorWithoutItsMemory(t *testing.T) {
	t.Parallel()
	_, state := made(t)
	delete(state, "half")
	w := newPermissionWorld(t)
	before := w.stock()
	w.core.State = state
	res := w.core.Apply(everything)
	if res.Failed() || res.Actions["resilientjob_checkpoint_bucket.b"] != "create" || res.Actions["resilientjob_gpu_job.j"] != "create" || res.Actions["resilientjob_execution.x"] != "" {
		t.Fatalf("the apply:%s", res)
	}
	if !slices.ContainsFunc(res.Warnings, func(d core.Diagnostic) bool { return d.Summary == "Execution is forgotten" }) {
		t.Errorf("nothing is said of the execution:%s", res)
	}
	if n := w.e.Faults().Count(acctest.RunJob); n != 0 {
		t.Errorf("the job was run %d times", n)
	}
	if res := w.core.Plan(everything); !res.Empty() {
		t.Errorf("the plan after it:%s", res)
	}
	if res := w.core.Destroy(everything); res.Failed() || len(w.core.State) > 0 {
		t.Errorf("the destroy:%s", res)
	}
	if after := w.stock(); !slices.Equal(before, after) {
		t.Errorf("left: %v", after)
	}
}

// On another emulator the job of that name has another uid, and is somebody
// else's: it is neither changed nor deleted, and the state is not dropped.
func TestAnotherEmulator(t *testing.T) {
	t.Parallel()
	_, state := made(t)
	w := newPermissionWorld(t)
	if _, err := w.e.Run().CreateJob(t.Context(), &runpb.CreateJobRequest{Parent: theLocation, JobId: "train", Job: &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		ServiceAccount: theTrainer, Containers: []*runpb.Container{{Image: theImage + "other"}}}}}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"half", "resilientjob_gpu_job.j"} {
		w.core.State = map[string]*core.Resource{"resilientjob_gpu_job.j": state[name]}
		config := jobBlock("checkpoint = { bucket = \"others-checkpoints\" }")
		if name == "half" {
			config = half()
		}
		since := acctest.Since(w.e)
		if res := w.core.Apply(config); !res.Failed() || res.Errors[0].Summary != "Job exists already" {
			t.Errorf("%s: the apply:%s", name, res)
		}
		if res := w.core.Destroy(config); res.Failed() {
			t.Errorf("%s: the destroy:%s", name, res)
		}
		for _, method := range []string{acctest.UpdateJob, acctest.DeleteJob} {
			if n := since.Count(method); n != 0 {
				t.Errorf("%s: %s was called %d times", name, method, n)
			}
		}
	}
}
