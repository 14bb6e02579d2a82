// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func flattened(t testing.TB, job *runpb.Job, prior Model) Model {
	t.Helper()
	var diags diag.Diagnostics
	m := flatten(t.Context(), job, &prior, &diags)
	noErrors(t, diags)
	return m
}

// asState shows a model as Terraform stores it.
func asState(t testing.TB, m Model) map[string]string {
	t.Helper()
	s := schemaOf(t)
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
	noErrors(t, state.Set(t.Context(), m))
	var attributes map[string]tftypes.Value
	if err := state.Raw.As(&attributes); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, v := range attributes {
		out[k] = v.String()
	}
	return out
}

func sameState(t testing.TB, what string, got, want Model) {
	t.Helper()
	if d := cmp.Diff(asState(t, want), asState(t, got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// cases 7, 10, 13, 19, 20, 23 and 58: what the server re-spells, lowers or leaves
// out, and what other clients add, changes nothing in the state.
func TestFlattenIsQuiet(t *testing.T) {
	t.Parallel()
	full := with(func(m *Model) {
		m.Command, m.Args = value.ListOf([]string{"python"}), value.ListOf([]string{"train.py"})
		m.Env = value.MapOf(map[string]string{"A": "1", "B": ""})
		m.CPU, m.Memory = value.NewQuantity("8"), value.NewQuantity("34359738368")
		m.TaskTimeout = value.NewDuration("720m")
		m.LaunchStage = types.StringValue("BETA")
		m.Labels = value.MapOf(map[string]string{"team": "ml", "empty": ""})
		m.TerraformLabels = value.MapOf(map[string]string{"team": "ml", "empty": "", "default": "x"})
		m.EffectiveLabels = m.TerraformLabels
		m.Checkpoint = checkpointOf(func(c *Checkpoint) {
			c.Prefix, c.MountOptions = types.StringValue("runs/42"), value.ListOf([]string{"implicit-dirs"})
			c.Interval, c.Grant = value.NewDuration("30m"), types.BoolValue(true)
		})
		m.CancelRunningExecutions = types.BoolValue(true)
		m.Exposure = m.exposure()
	})
	task := func(j *runpb.Job) *runpb.TaskTemplate { return j.GetTemplate().GetTemplate() }
	limits := func(j *runpb.Job) map[string]string { return task(j).GetContainers()[0].GetResources().GetLimits() }
	for name, c := range map[string]struct {
		state  Model
		server func(*runpb.Job)
	}{
		"as sent, plain":   {example(), func(*runpb.Job) {}},
		"as sent, all":     {full, func(*runpb.Job) {}},
		"millicores":       {full, func(j *runpb.Job) { limits(j)["cpu"] = "8" }},
		"bytes":            {full, func(j *runpb.Job) { limits(j)["memory"] = "32768Mi" }},
		"stage lowered":    {full, func(j *runpb.Job) { j.LaunchStage = api.LaunchStage_GA }},
		"stage unset":      {example(), func(j *runpb.Job) { j.LaunchStage = api.LaunchStage_BETA }},
		"no switch":        {full, func(j *runpb.Job) { task(j).GpuZonalRedundancyDisabled = nil }},
		"no selector":      {full, func(j *runpb.Job) { task(j).NodeSelector = nil }},
		"no switch, asked": {with(func(m *Model) { m.GPUZonalRedundancy = types.BoolValue(true) }), func(j *runpb.Job) { task(j).GpuZonalRedundancyDisabled = nil }},
		"env in another order": {full, func(j *runpb.Job) {
			env := task(j).Containers[0].Env
			env[0], env[1] = env[1], env[0]
		}},
		"an empty value left out": {full, func(j *runpb.Job) { task(j).Containers[0].Env[1].Values = nil }},
		"another client": {full, func(j *runpb.Job) {
			j.Client, j.ClientVersion, j.Template.Client = "gcloud", "500", "x"
			j.Annotations = map[string]string{"a": "b"}
			j.Template.Labels["commit-sha"] = "abc"
			j.Template.Annotations = map[string]string{"a": "b"}
		}},
		"after a run": {full, func(j *runpb.Job) {
			j.ExecutionCount = 3
			j.LatestCreatedExecution = &runpb.ExecutionReference{Name: "train-abcde"}
			j.Etag, j.Generation = "other", 9
		}},
		"bucket in full": {full, func(j *runpb.Job) { task(j).Volumes[0].GetGcs().Bucket = "projects/my-project/buckets/my-checkpoints" }},
		"parallelism filled in": {with(func(m *Model) { m.TaskCount = value.NewWhole(4); m.Exposure = m.exposure() }),
			func(j *runpb.Job) { j.Template.Parallelism = 4 }},
		"no count": {example(), func(j *runpb.Job) { j.Template.TaskCount = 0 }},
		"empty, not null": {with(func(m *Model) {
			m.Command, m.Args, m.Env, m.Labels = value.ListOf(nil), value.ListOf(nil), value.MapOf(nil), value.MapOf(nil)
		}), func(*runpb.Job) {}},
		"an old read of it": {example(), func(j *runpb.Job) { j.Uid = "" }},
	} {
		job := expanded(t, c.state)
		job.Uid = c.state.UID.ValueString()
		c.server(job)
		sameState(t, name, flattened(t, job, c.state), c.state)
	}
}

// case 3.5s: the server pads; the protocol has no spelling, so the value is what
// counts.
func TestFlattenSpellsShortest(t *testing.T) {
	t.Parallel()
	job := expanded(t, example())
	job.Template.Template.Timeout = &durationpb.Duration{Seconds: 3, Nanos: 500_000_000}
	job.Template.Template.Containers[0].Resources.Limits = map[string]string{"cpu": "8000m", "memory": "34359738368", "nvidia.com/gpu": "1"}
	got := flattened(t, job, example())
	if s := fmt.Sprint(got.TaskTimeout, got.CPU, got.Memory); s != `"3.5s" "8" "32Gi"` {
		t.Error(s)
	}
	padded := with(func(m *Model) { m.TaskTimeout = value.NewDuration("3.500s") })
	if got := flattened(t, job, padded); got.TaskTimeout.ValueString() != "3.500s" {
		t.Errorf("the user's spelling is lost: %s", got.TaskTimeout)
	}
}

// case 22: what another client changed on a managed attribute is seen.
func TestFlattenShowsDrift(t *testing.T) {
	t.Parallel()
	state := with(func(m *Model) {
		m.Labels = value.MapOf(map[string]string{"team": "ml", "kept": "1", "gone": "1"})
		m.TerraformLabels = m.Labels
		m.Env = value.MapOf(map[string]string{"A": "1"})
		m.Command = value.ListOf([]string{"python"})
		m.Parallelism = value.NewWhole(1)
		m.Checkpoint = checkpointOf(func(c *Checkpoint) { c.Role = types.StringValue("roles/storage.objectAdmin") })
	})
	job := expanded(t, state)
	task := job.Template.Template
	c := task.Containers[0]
	job.Uid = state.UID.ValueString()
	job.Labels = map[string]string{"team": "web", "kept": "1", "extra": "1"}
	job.Template.Labels = map[string]string{"team": "ml", "kept": "1", "gone": "1"}
	job.Template.TaskCount, job.Template.Parallelism = 4, 0
	c.Image, c.Command, c.Env = "other:1", nil, append(c.Env, &runpb.EnvVar{Name: "B", Values: &runpb.EnvVar_Value{Value: "2"}})
	c.Resources.Limits["cpu"] = "6"
	task.Retries, task.Timeout = nil, nil
	task.ServiceAccount = "other@my-project.iam.gserviceaccount.com"
	task.NodeSelector.Accelerator = "nvidia-rtx-pro-6000"
	off := false
	task.GpuZonalRedundancyDisabled = &off
	task.Volumes[0].GetGcs().Bucket, task.Volumes[0].GetGcs().MountOptions = "elsewhere", []string{"only-dir=x/", "ro"}
	c.VolumeMounts[0].MountPath = "/data"

	want := state
	want.Labels = value.MapOf(map[string]string{"team": "web", "kept": "1"})
	want.TerraformLabels = want.Labels
	want.EffectiveLabels = value.MapOf(job.Labels)
	want.TaskCount, want.Parallelism = value.NewWhole(4), value.NewWholeNull()
	want.Image, want.Command, want.Env = types.StringValue("other:1"), types.ListNull(types.StringType), value.MapOf(map[string]string{"A": "1", "B": "2"})
	want.CPU, want.TaskTimeout = value.NewQuantity("6"), value.NewDuration("10m")
	want.ServiceAccountEmail = types.StringValue("other@my-project.iam.gserviceaccount.com")
	want.GPUType, want.GPUZonalRedundancy = types.StringValue("nvidia-rtx-pro-6000"), types.BoolValue(true)
	want.Checkpoint = checkpointOf(func(c *Checkpoint) {
		c.Role = types.StringValue("roles/storage.objectAdmin")
		c.Bucket, c.MountPath, c.Prefix, c.MountOptions = types.StringValue("elsewhere"), types.StringValue("/data"), types.StringValue("x"), value.ListOf([]string{"ro"})
	})
	want.Exposure = want.exposure()
	sameState(t, "drift", flattened(t, job, state), want)

	// Other clients write labels of the job only; on the executions only another
	// value counts.
	job.Labels, job.Template.Labels = map[string]string{"team": "ml", "kept": "1", "gone": "1"}, map[string]string{"team": "ml", "kept": "2"}
	if got := flattened(t, job, state); !got.Labels.Equal(value.MapOf(map[string]string{"team": "ml", "kept": "2", "gone": "1"})) {
		t.Errorf("labels of the executions are not looked at: %s", got.Labels)
	}
	// A named account shows its own change, a raised stage too.
	named := with(func(m *Model) {
		m.ServiceAccount = types.StringValue("me@my-project.iam.gserviceaccount.com")
		m.LaunchStage = types.StringValue("GA")
	})
	job.LaunchStage = api.LaunchStage_BETA
	got := flattened(t, job, named)
	if got.ServiceAccount.ValueString() != "other@my-project.iam.gserviceaccount.com" || got.LaunchStage.ValueString() != "BETA" {
		t.Errorf("%s %s", got.ServiceAccount, got.LaunchStage)
	}
	// The volume is gone.
	task.Volumes = nil
	if got := flattened(t, job, state); !got.Checkpoint.IsNull() {
		t.Errorf("a checkpoint without volume: %s", got.Checkpoint)
	}
}

// A random valid model survives expand and flatten, and an overlay of it on a
// job that others have written to does too.
func TestModelsSurvive(t *testing.T) {
	t.Parallel()
	s := schemaOf(t)
	rapid.Check(t, func(rt *rapid.T) {
		show := func(m Model) string {
			state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(rt.Context()), nil)}
			if diags := state.Set(rt.Context(), m); diags.HasError() {
				rt.Fatal(diags)
			}
			return strings.ReplaceAll(state.Raw.String(), "tftypes.", "")
		}
		var diags diag.Diagnostics
		m := drawModel(rt)
		job := expand(rt.Context(), &m, &diags)
		job.Uid = m.UID.ValueString()
		if got := flatten(rt.Context(), job, &m, &diags); diags.HasError() || show(got) != show(m) {
			rt.Fatalf("%v\n got %s\nwant %s", diags, show(got), show(m))
		}
		other := drawModel(rt)
		live := foreign(t, other)
		back := flatten(rt.Context(), overlay(rt.Context(), live, &other, &m, &diags), &m, &diags)
		back.EffectiveLabels = m.EffectiveLabels
		if diags.HasError() || show(back) != show(m) {
			rt.Fatalf("%v\n got %s\nwant %s", diags, show(back), show(m))
		}
	})
}

// No answer of the API, whatever it holds or leaves out, makes flatten panic or
// give a value that the schema refuses.
func FuzzFlatten(f *testing.F) {
	seed, err := proto.Marshal(&runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Containers: []*runpb.Container{{Resources: &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "x"}}, Env: []*runpb.EnvVar{{}}, VolumeMounts: []*runpb.VolumeMount{{}}}},
		Volumes:    []*runpb.Volume{{Name: "checkpoint"}, {VolumeType: &runpb.Volume_Gcs{}}}, Timeout: durationpb.New(-time.Hour),
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	full := everyKind()
	if seed, err = proto.Marshal(expand(f.Context(), &full, &diag.Diagnostics{})); err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte{})
	s := schemaOf(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		job := &runpb.Job{}
		if proto.Unmarshal(raw, job) != nil {
			return
		}
		for _, prior := range []Model{example(), with(func(m *Model) { m.Checkpoint = checkpointOf(nil) }), everyKind()} {
			m := flattened(t, job, prior)
			state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
			noErrors(t, state.Set(t.Context(), m.settled()))
			var diags diag.Diagnostics
			overlay(t.Context(), job, &prior, &m, &diags)
		}
	})
}
