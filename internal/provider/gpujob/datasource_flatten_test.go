// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// fataler is what testing.TB and *rapid.T have in common.
type fataler interface{ Fatal(...any) }

// plainly is a value without its types, and without what only the resource knows.
func plainly(t fataler, v tftypes.Value) any {
	if v.IsNull() {
		return nil
	}
	var object map[string]tftypes.Value
	var list []tftypes.Value
	switch v.Type().(type) {
	case tftypes.Object, tftypes.Map:
		if err := v.As(&object); err != nil {
			t.Fatal(err)
		}
		out := map[string]any{}
		for name, a := range object {
			if _, isObject := v.Type().(tftypes.Object); isObject && slices.Contains(ownOnly, name) {
				continue
			}
			out[name] = plainly(t, a)
		}
		return out
	case tftypes.List, tftypes.Set:
		if err := v.As(&list); err != nil {
			t.Fatal(err)
		}
		out := []any{}
		for _, e := range list {
			out = append(out, plainly(t, e))
		}
		return out
	}
	return v.String()
}

func attributesOf(t fataler, v tftypes.Value) map[string]tftypes.Value {
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// dataState is the data source's state for a live job.
func dataState(ctx context.Context, t fataler, live *runpb.Job) map[string]tftypes.Value {
	var resp datasource.SchemaResponse
	NewDataSource().Schema(ctx, datasource.SchemaRequest{}, &resp)
	var diags diag.Diagnostics
	m := example()
	shown := flattenData(ctx, m.job(), live, types.StringValue(m.job().Name), &diags)
	state := tfsdk.State{Schema: resp.Schema, Raw: tftypes.NewValue(resp.Schema.Type().TerraformType(ctx), nil)}
	diags.Append(state.Set(ctx, shown)...)
	if diags.HasError() {
		t.Fatal(diags)
	}
	if !state.Raw.IsFullyKnown() {
		t.Fatal("something is not known")
	}
	return attributesOf(t, state.Raw)
}

// There is one way from a job to attributes: what the data source shows is what
// an import of the same job shows.
func TestDataShowsWhatAnImportShows(t *testing.T) {
	t.Parallel()
	s := schemaOf(t)
	// These the resource manages in part only, or keeps as they are configured.
	own := []string{"labels", "annotations", "launch_stage"}
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		var diags diag.Diagnostics
		model := drawModel(rt)
		live := expand(rt.Context(), &model, &diags)
		live.Uid = "00000000-0000-4000-8000-000000000000"
		if len(lost(live.GetTemplate().GetTemplate())) > 0 {
			return // an import is refused
		}
		job := example()
		m := blank(job.job())
		m = adopted(rt.Context(), live, &m, &diags)
		m.Timeouts = model.Timeouts
		state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(rt.Context()), nil)}
		diags.Append(state.Set(rt.Context(), m)...)
		if diags.HasError() {
			rt.Fatal(diags)
		}
		imported, shown := attributesOf(rt, state.Raw), dataState(rt.Context(), rt, live)
		for _, name := range slices.Sorted(maps.Keys(shown)) {
			was, both := imported[name]
			if !both || slices.Contains(own, name) {
				continue
			}
			compared++
			got, want := plainly(rt, shown[name]), plainly(rt, was)
			if all, ok := want.(map[string]any); ok && name == "checkpoint" {
				gotAll, ok := got.(map[string]any)
				if !ok {
					rt.Fatalf("%s: %v", name, got)
				}
				delete(gotAll, "volume")
				for _, only := range []string{"role", "per_task", "interval", "write_time", "restore_time", "work_time"} {
					delete(all, only)
				}
			}
			if !reflect.DeepEqual(got, want) {
				rt.Fatalf("%s: %s", name, cmp.Diff(want, got))
			}
		}
	})
	if compared < 1000 {
		t.Errorf("only %d attributes were compared", compared)
	}
}

// Whatever a job lacks, there is an answer.
func TestDataOfAnythingHasAnAnswer(t *testing.T) {
	t.Parallel()
	task := func(t *runpb.TaskTemplate) *runpb.Job {
		return &runpb.Job{Template: &runpb.ExecutionTemplate{Template: t}}
	}
	mounted := func(names ...string) *runpb.Container {
		c := &runpb.Container{Name: "main", Image: "train:1"}
		for _, n := range names {
			c.VolumeMounts = append(c.VolumeMounts, &runpb.VolumeMount{Name: n, MountPath: "/" + n})
		}
		return c
	}
	gcs := func(name string) *runpb.Volume {
		return &runpb.Volume{Name: name, VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: "b-" + name}}}
	}
	for name, c := range map[string]struct {
		live       *runpb.Job
		checkpoint string
		notShown   []any
	}{
		"nothing":      {live: &runpb.Job{}, notShown: []any{}},
		"no task":      {live: &runpb.Job{Template: &runpb.ExecutionTemplate{}}, notShown: []any{}},
		"no container": {live: task(&runpb.TaskTemplate{Volumes: []*runpb.Volume{gcs("a")}}), notShown: []any{`volume "a", which is not mounted`}},
		"sidecars": {live: task(&runpb.TaskTemplate{Containers: []*runpb.Container{mounted(), {Name: "proxy"}, {Name: "logs", Ports: []*runpb.ContainerPort{{}}}}}),
			notShown: []any{`container "logs"`, `container "proxy"`, "ports"}},
		"a checkpoint that is mounted twice": {live: task(&runpb.TaskTemplate{Containers: []*runpb.Container{mounted("checkpoint", "checkpoint")}, Volumes: []*runpb.Volume{gcs("checkpoint")}}),
			checkpoint: "checkpoint", notShown: []any{`volume "checkpoint", which is mounted 2 times`}},
		"a volume that is mounted twice": {live: task(&runpb.TaskTemplate{Containers: []*runpb.Container{mounted("a", "a", "b")}, Volumes: []*runpb.Volume{gcs("a"), gcs("b")}}),
			notShown: []any{`volume "a", which is mounted 2 times`}},
		"the only bucket, by another name": {live: task(&runpb.TaskTemplate{Containers: []*runpb.Container{mounted("ckpt")}, Volumes: []*runpb.Volume{gcs("ckpt")}}),
			checkpoint: "ckpt", notShown: []any{}},
		"no bucket called checkpoint": {live: task(&runpb.TaskTemplate{Containers: []*runpb.Container{mounted("checkpoint", "ckpt")}, Volumes: []*runpb.Volume{
			{Name: "checkpoint", VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{}}}, gcs("ckpt")}}),
			notShown: []any{`volume "checkpoint", which has the name of the attribute checkpoint and is no bucket`}},
		"a kind of volume of later": {live: task(&runpb.TaskTemplate{Containers: []*runpb.Container{mounted("new")}, Volumes: []*runpb.Volume{{Name: "new"}}}),
			notShown: []any{`volume "new", which is of a kind that this version does not know`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := dataState(t.Context(), t, c.live)
			texts := []any{}
			for _, s := range c.notShown {
				texts = append(texts, tftypes.NewValue(tftypes.String, s).String())
			}
			if got := plainly(t, shown["not_shown"]); !reflect.DeepEqual(got, texts) {
				t.Errorf("not shown: %v, want %v", got, texts)
			}
			checkpoint, _ := plainly(t, shown["checkpoint"]).(map[string]any)
			want := any(nil)
			if c.checkpoint != "" {
				want = tftypes.NewValue(tftypes.String, c.checkpoint).String()
			}
			if checkpoint["volume"] != want {
				t.Errorf("checkpoint: %v, want %v", checkpoint, want)
			}
		})
	}
}

// Every form in which the API says that a job is ready, or not, and what its
// latest run does.
func TestDataReadinessAndLatest(t *testing.T) {
	t.Parallel()
	epoch, then := &timestamppb.Timestamp{}, &timestamppb.Timestamp{Seconds: 1_700_000_000}
	failed := &runpb.Condition{State: runpb.Condition_CONDITION_FAILED, Message: "Image 'x' not found.", Reasons: &runpb.Condition_Reason{Reason: runpb.Condition_CONTAINER_MISSING}}
	for name, c := range map[string]struct {
		live *runpb.Job
		want []any // ready, reason, message
	}{
		"says nothing":     {&runpb.Job{}, []any{nil, nil, nil}},
		"ready":            {&runpb.Job{TerminalCondition: &runpb.Condition{State: runpb.Condition_CONDITION_SUCCEEDED}}, []any{"true", nil, nil}},
		"failed":           {&runpb.Job{TerminalCondition: failed}, []any{"false", "CONTAINER_MISSING", "Image 'x' not found."}},
		"set up anew":      {&runpb.Job{Reconciling: true, TerminalCondition: &runpb.Condition{State: runpb.Condition_CONDITION_SUCCEEDED}}, []any{"false", nil, nil}},
		"pending":          {&runpb.Job{TerminalCondition: &runpb.Condition{State: runpb.Condition_CONDITION_PENDING}}, []any{"false", nil, nil}},
		"a state of later": {&runpb.Job{TerminalCondition: &runpb.Condition{State: 99}}, []any{"false", nil, nil}},
	} {
		ready, reason, message := readiness(c.live)
		var got []any
		if got = append(got, nil, nil, nil); !ready.IsNull() {
			got[0] = ready.String()
		}
		for i, s := range []types.String{reason, message} {
			if !s.IsNull() {
				got[i+1] = s.ValueString()
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		ref  *runpb.ExecutionReference
		want string // "" for none
	}{
		"none":            {nil, ""},
		"empty":           {&runpb.ExecutionReference{}, ""},
		"empty, of 1970":  {&runpb.ExecutionReference{CreateTime: epoch, CompletionTime: epoch}, ""},
		"runs":            {&runpb.ExecutionReference{Name: "train-x", CompletionStatus: runpb.ExecutionReference_EXECUTION_RUNNING, CreateTime: then, CompletionTime: epoch}, `train-x "running" "2023-11-14T22:13:20Z" <null>`},
		"in full":         {&runpb.ExecutionReference{Name: "projects/p/locations/l/jobs/train/executions/train-x", CompletionStatus: runpb.ExecutionReference_EXECUTION_CANCELLED}, `train-x "cancelled" <null> <null>`},
		"ended":           {&runpb.ExecutionReference{Name: "train-x", CompletionStatus: runpb.ExecutionReference_EXECUTION_FAILED, CompletionTime: then}, `train-x "failed" <null> "2023-11-14T22:13:20Z"`},
		"without a state": {&runpb.ExecutionReference{Name: "train-x"}, `train-x <null> <null> <null>`},
		"one of later":    {&runpb.ExecutionReference{Name: "train-x", CompletionStatus: 99}, `train-x "99" <null> <null>`},
	} {
		got := ""
		if e := flattenLatest(c.ref); e != nil {
			got = e.Name.ValueString() + " " + e.State.String() + " " + e.CreateTime.String() + " " + e.CompletionTime.String()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
