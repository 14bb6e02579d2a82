// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"maps"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func ptr[T any](v T) *T { return &v }

// The key must never change: a version that makes other keys would start the
// runs again whose executions an older version lost sight of.
func TestKeyIsPinned(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]run{
		"157733799a6e08fb587c0385e75962d1": {},
		"8cc7243eba484a0b495fed836d737cb0": {
			Args: &[]string{"--epochs", "3"}, Env: map[string]string{"B": "2", "A": "1"}, TaskCount: 4, Timeout: 90 * time.Minute,
			Triggers: map[string]*string{"data": ptr("v7"), "none": nil},
		},
	} {
		if got := r.key("00000000-0000-4000-8000-000000000000"); got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}

// Runs that differ in anything have different keys, and equal ones have the
// same, however they were written.
func TestKeyTellsRunsApart(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[A-Za-z0-9",:\[\]{} é]{0,4}`)
	runs := rapid.Custom(func(t *rapid.T) run {
		r := run{
			Env:       rapid.MapOfN(word, word, 0, 3).Draw(t, "env"),
			TaskCount: rapid.Int32Range(0, 3).Draw(t, "tasks"),
			Timeout:   time.Duration(rapid.IntRange(0, 2).Draw(t, "hours")) * time.Hour,
			Triggers:  rapid.MapOfN(word, rapid.Ptr(word, true), 0, 3).Draw(t, "triggers"),
		}
		if rapid.Bool().Draw(t, "has args") {
			r.Args = ptr(rapid.SliceOfN(word, 0, 2).Draw(t, "args"))
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := runs.Draw(t, "a"), runs.Draw(t, "b")
		same := (a.Args == nil) == (b.Args == nil) && (a.Args == nil || slices.Equal(*a.Args, *b.Args)) &&
			maps.Equal(a.Env, b.Env) && a.TaskCount == b.TaskCount && a.Timeout == b.Timeout &&
			maps.EqualFunc(a.Triggers, b.Triggers, func(x, y *string) bool { return (x == nil) == (y == nil) && (x == nil || *x == *y) })
		if (a.key("uid") == b.key("uid")) != same {
			t.Fatalf("%+v and %+v: the same is %t", a, b, same)
		}
		if a.key("uid") == a.key("other") {
			t.Fatal("the job does not count")
		}
	})
}

func TestExpandRun(t *testing.T) {
	t.Parallel()
	null := Model{Args: types.ListNull(types.StringType), Env: types.MapNull(types.StringType), Triggers: types.MapNull(types.StringType)}
	full := null
	full.Args = types.ListValueMust(types.StringType, []attr.Value{types.StringValue("a"), types.StringValue("")})
	full.Env = types.MapValueMust(types.StringType, map[string]attr.Value{"E": types.StringValue("")})
	full.Triggers = types.MapValueMust(types.StringType, map[string]attr.Value{"t": types.StringValue("1"), "n": types.StringNull()})
	full.TaskCount = value.NewWhole(3)
	full.TaskTimeout = value.NewDuration("720m")
	empty := null
	empty.Args = types.ListValueMust(types.StringType, nil)
	empty.Env = types.MapValueMust(types.StringType, nil)
	empty.Triggers = types.MapValueMust(types.StringType, nil)
	spelled := full
	spelled.TaskTimeout = value.NewDuration("12h")
	for name, c := range map[string]struct {
		model Model
		want  run
	}{
		"null":  {null, run{}},
		"empty": {empty, run{Args: &[]string{}, Env: map[string]string{}, Triggers: map[string]*string{}}},
		"full": {full, run{
			Args: &[]string{"a", ""}, Env: map[string]string{"E": ""}, TaskCount: 3, Timeout: 12 * time.Hour,
			Triggers: map[string]*string{"t": ptr("1"), "n": nil},
		}},
	} {
		got, diags := expandRun(t.Context(), c.model)
		if diags.HasError() {
			t.Errorf("%s: %v", name, diags)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	a, _ := expandRun(t.Context(), full)
	b, _ := expandRun(t.Context(), spelled)
	if a.key("uid") != b.key("uid") {
		t.Error("another spelling of the timeout is another run")
	}
	bad := null
	bad.TaskTimeout = value.NewDuration("10")
	if _, diags := expandRun(t.Context(), bad); !diags.HasError() {
		t.Error("a misspelt duration passes")
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	job := &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{Name: "main"}, {Name: "side"}}}}}
	name := func(c *runpb.RunJobRequest_Overrides_ContainerOverride) *runpb.RunJobRequest {
		return &runpb.RunJobRequest{Name: testJob.String(), Overrides: &runpb.RunJobRequest_Overrides{
			ContainerOverrides: []*runpb.RunJobRequest_Overrides_ContainerOverride{c},
		}}
	}
	full := name(&runpb.RunJobRequest_Overrides_ContainerOverride{
		Name: "main", Args: []string{"x"}, Env: []*runpb.EnvVar{envVar("A", "1"), envVar("B", ""), envVar("RESILIENTJOB_RUN_KEY", "k")},
	})
	full.Overrides.TaskCount, full.Overrides.Timeout = 2, durationpb.New(time.Hour)
	key := []*runpb.EnvVar{envVar("RESILIENTJOB_RUN_KEY", "k")}
	for what, c := range map[string]struct {
		run  run
		job  *runpb.Job
		want *runpb.RunJobRequest
	}{
		"nothing but the key": {run{}, job, name(&runpb.RunJobRequest_Overrides_ContainerOverride{Name: "main", Env: key})},
		"no containers":       {run{}, &runpb.Job{}, name(&runpb.RunJobRequest_Overrides_ContainerOverride{Env: key})},
		"no arguments":        {run{Args: &[]string{}}, job, name(&runpb.RunJobRequest_Overrides_ContainerOverride{Name: "main", Env: key, ClearArgs: true})},
		"everything":          {run{Args: &[]string{"x"}, Env: map[string]string{"B": "", "A": "1"}, TaskCount: 2, Timeout: time.Hour}, job, full},
	} {
		got := c.run.request(testJob, c.job, "k")
		if d := cmp.Diff(c.want, got, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		// What was sent is found again in the execution that it makes.
		e := &runpb.Execution{Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{Env: got.GetOverrides().GetContainerOverrides()[0].GetEnv()}}}}
		if keyOf(e) != "k" {
			t.Errorf("%s: the key is not found", what)
		}
	}
	if keyOf(&runpb.Execution{}) != "" {
		t.Error("an execution of somebody else has a key")
	}
}

// ceil(tasks ÷ parallelism) × (retries + 1) × timeout + 1 h.
func TestPatience(t *testing.T) {
	t.Parallel()
	job := func(tasks, parallelism int32, retries int32, timeout time.Duration) *runpb.Job {
		return &runpb.Job{Template: &runpb.ExecutionTemplate{
			TaskCount: tasks, Parallelism: parallelism,
			Template: &runpb.TaskTemplate{Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: retries}, Timeout: durationpb.New(timeout)},
		}}
	}
	for name, c := range map[string]struct {
		run  run
		job  *runpb.Job
		want time.Duration
	}{
		"one task, no retries":        {run{}, job(1, 0, 0, 12*time.Hour), 13 * time.Hour},
		"one task":                    {run{}, job(1, 1, 3, 12*time.Hour), 49 * time.Hour},
		"all at once":                 {run{}, job(100, 0, 0, time.Hour), 2 * time.Hour},
		"in rounds, the last is part": {run{}, job(10, 4, 1, time.Hour), 7 * time.Hour},
		"parallelism above the tasks": {run{}, job(2, 50, 0, time.Hour), 2 * time.Hour},
		"overrides count":             {run{TaskCount: 8, Timeout: 30 * time.Minute}, job(1, 4, 0, time.Hour), 2 * time.Hour},
		"the server's defaults":       {run{}, &runpb.Job{}, time.Hour + 40*time.Minute},
		"too long for a duration":     {run{}, job(10000, 1, 10, 168*time.Hour), 1<<63 - 1},
	} {
		if got := c.run.patience(c.job, waitCompleted); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		for _, w := range []string{waitCreated, waitStarted} {
			if got := c.run.patience(c.job, w); got != 20*time.Minute {
				t.Errorf("%s, %s: %s", name, w, got)
			}
		}
	}
}
