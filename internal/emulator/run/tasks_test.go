// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"path"
	"slices"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func TestTaskFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	off := true
	w.create(retries(0), accelerator("nvidia-l4"), timeout(2*time.Hour), stage(api.LaunchStage_BETA), tasks(2, 0), func(j *runpb.Job) {
		task(j).GpuZonalRedundancyDisabled = &off
		task(j).EncryptionKey = "k"
		task(j).Volumes = []*runpb.Volume{emptyVolume("v")}
		j.Template.Labels = map[string]string{"team": "ml"}
	})
	name, _ := w.run()
	got, err := w.AwaitTask(w.ctx, name+"/tasks/"+path.Base(name)+"-task1", func(t *runpb.Task) bool { return t.GetStartTime() != nil })
	if err != nil {
		t.Fatal(err)
	}
	id := path.Base(name)
	e := w.Execution(name)
	want := &runpb.Task{
		Name: name + "/tasks/" + id + "-task1", Uid: got.GetUid(), Generation: 1, ObservedGeneration: 1,
		Labels: map[string]string{"team": "ml"}, CreateTime: got.GetCreateTime(), UpdateTime: got.GetCreateTime(),
		ScheduledTime: got.GetCreateTime(), StartTime: got.GetStartTime(), Job: jobID, Execution: id,
		Containers: e.GetTemplate().GetContainers(), Volumes: e.GetTemplate().GetVolumes(), MaxRetries: 0,
		Timeout: durationpb.New(2 * time.Hour), ServiceAccount: e.GetTemplate().GetServiceAccount(),
		ExecutionEnvironment: runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2, Reconciling: true, Index: 1,
		EncryptionKey: "k", LogUri: e.GetLogUri() + "%0Alabels.%22run.googleapis.com%2Ftask_index%22%3D%221%22",
		NodeSelector: &runpb.NodeSelector{Accelerator: "nvidia-l4"}, GpuZonalRedundancyDisabled: &off, Etag: got.GetEtag(),
		Conditions: got.GetConditions(),
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	sameConditions(t, []*runpb.Condition{cond("Started", succeeded, 0, ""), cond("Completed", reconciling, 0, "")}, got.GetConditions())
	text, err := protojson.Marshal(w.task(name, "0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{`"index"`, `"retried"`, `"lastAttemptResult"`, `"maxRetries"`} {
		if contains(string(text), absent) {
			t.Errorf("%s is in %s: zero values are left out", absent, text)
		}
	}
	_, err = w.GetTask(w.ctx, &runpb.GetTaskRequest{Name: name + "/tasks/none"})
	wantCode(t, err, codes.NotFound, "Resource 'none' of kind 'TASK' in region 'us-central1' in project 'demo' does not exist.")
}

// Retries: the next attempt starts at once, retried counts attempts on the task
// and tasks on the execution (case 47).
func TestRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(retries(2), tasks(2, 0))
	name, op := w.run()
	other := w.attempt(name, "1")
	for i, end := range []func(*runner.ScriptedAttempt){
		func(a *runner.ScriptedAttempt) { a.Exit(1) },
		func(a *runner.ScriptedAttempt) { a.TimeOut() },
	} {
		a := w.attempt(name, "0")
		if got := envOf(a, "CLOUD_RUN_TASK_ATTEMPT"); got != strconv.Itoa(i) {
			t.Errorf("attempt %q, want %d", got, i)
		}
		end(a)
	}
	a := w.attempt(name, "0")
	got := w.task(name, "0")
	if got.GetRetried() != 2 || got.GetLastAttemptResult().GetStatus().GetCode() != int32(codes.DeadlineExceeded) || got.GetCompletionTime() != nil {
		t.Errorf("between attempts: %v", got)
	}
	if e := w.Execution(name); e.GetRetriedCount() != 1 || e.GetRunningCount() != 2 || e.GetFailedCount() != 0 {
		t.Errorf("counts: %v", e)
	}
	c := condition(w.Execution(name).GetConditions(), "Retry")
	if c.GetState() != succeeded || c.GetSeverity() != runpb.Condition_INFO || c.GetReason() != runpb.Condition_IMMEDIATE_RETRY ||
		c.GetMessage() != "System will retry after 0:00:00 from lastTransitionTime for attempt 1." {
		t.Errorf("Retry: %v", c)
	}
	other.Exit(1)
	w.attempt(name, "1").Exit(0)
	a.Exit(7)
	e := w.finished(name)
	if e.GetRetriedCount() != 2 || e.GetFailedCount() != 1 || e.GetSucceededCount() != 1 {
		t.Errorf("counts: %v", e)
	}
	text := "Task " + path.Base(name) + "-task0 failed with exit code: 7 and message: The container exited with an error."
	if m := condition(e.GetConditions(), "Completed").GetMessage(); m != text {
		t.Errorf("message %q", m)
	}
	w.wantEnd(op, codes.Aborted, text)
	if n := len(w.launcher.Attempts()); n != 5 {
		t.Errorf("%d attempts", n)
	}
}

// A task that fails for good leaves the others alone, and the message is about
// the first.
func TestOthersGoOnAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(retries(0), tasks(3, 2))
	name, _ := w.run()
	w.attempt(name, "1").Exit(2)
	w.attempt(name, "2").Exit(3)
	w.await(name, func(e *runpb.Execution) bool { return e.GetFailedCount() == 2 })
	w.attempt(name, "0").Exit(0)
	e := w.finished(name)
	if e.GetFailedCount() != 2 || e.GetSucceededCount() != 1 {
		t.Errorf("counts: %v", e)
	}
	if m := condition(e.GetConditions(), "Completed").GetMessage(); !contains(m, "-task1 failed with exit code: 2") {
		t.Errorf("message %q", m)
	}
}

func TestParallelism(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks, parallelism, limit, want int32
	}{
		"unset":               {tasks: 5, want: 5},
		"unset, limited":      {tasks: 5, limit: 3, want: 3},
		"two":                 {tasks: 5, parallelism: 2, want: 2},
		"set above the limit": {tasks: 5, parallelism: 4, limit: 3, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(run.Behaviour{MaxParallelism: tt.limit}))
			w.create(tasks(tt.tasks, tt.parallelism))
			name, _ := w.run()
			e := w.await(name, func(e *runpb.Execution) bool { return e.GetRunningCount() == tt.want })
			if e.GetParallelism() != tt.want {
				t.Errorf("parallelism %d, want %d", e.GetParallelism(), tt.want)
			}
			var order []int
			for range tt.tasks {
				a, err := w.launcher.Await(w.ctx, "")
				if err != nil {
					t.Fatal(err)
				}
				if n := w.Execution(name).GetRunningCount(); n > tt.want {
					t.Errorf("%d tasks run at a time, want at most %d", n, tt.want)
				}
				i, err := strconv.Atoi(envOf(a, "CLOUD_RUN_TASK_INDEX"))
				if err != nil {
					t.Fatal(err)
				}
				order = append(order, i)
				a.Exit(0)
			}
			slices.Sort(order)
			if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, order); diff != "" {
				t.Error(diff)
			}
			if got := w.finished(name).GetSucceededCount(); got != tt.tasks {
				t.Errorf("%d succeeded", got)
			}
		})
	}
}

func TestListTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(tasks(12, 0))
	first, _ := w.run()
	w.await(first, func(e *runpb.Execution) bool { return e.GetRunningCount() == 12 })
	second, _ := w.run(&runpb.RunJobRequest_Overrides{TaskCount: 1})
	w.await(second, func(e *runpb.Execution) bool { return e.GetRunningCount() == 1 })
	list := func(parent string) []string {
		var names []string
		token := ""
		for {
			page, err := w.ListTasks(w.ctx, &runpb.ListTasksRequest{Parent: parent, PageSize: 5, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page.GetTasks() {
				names = append(names, path.Base(task.GetName()))
			}
			if token = page.GetNextPageToken(); token == "" {
				return names
			}
		}
	}
	var want []string
	for i := range 12 {
		want = append(want, path.Base(first)+"-task"+strconv.Itoa(i))
	}
	if diff := cmp.Diff(want, list(first)); diff != "" {
		t.Error(diff)
	}
	want = append([]string{path.Base(second) + "-task0"}, want...)
	if diff := cmp.Diff(want, list(jobFull+"/executions/-")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, list(parent+"/jobs/-/executions/-")); diff != "" {
		t.Error(diff)
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	type override = runpb.RunJobRequest_Overrides_ContainerOverride
	base := func(j *runpb.Job) {
		tasks(2, 2)(j)
		c := task(j).Containers[0]
		c.Name, c.Command, c.Args = "main", []string{"python3", "train.py"}, []string{"--steps", "10"}
		c.Env = []*runpb.EnvVar{plain("A", "1"), plain("B", "2")}
	}
	for name, tt := range map[string]struct {
		o       *runpb.RunJobRequest_Overrides
		args    []string
		env     []string
		tasks   int32
		par     int32
		timeout time.Duration
	}{
		"none":         {o: &runpb.RunJobRequest_Overrides{}, args: []string{"--steps", "10"}, env: []string{"A=1", "B=2"}, tasks: 2, par: 2, timeout: 600 * time.Second},
		"args replace": {o: overrides(&override{Args: []string{"--fast"}}), args: []string{"--fast"}, env: []string{"A=1", "B=2"}, tasks: 2, par: 2, timeout: 600 * time.Second},
		"clear args":   {o: overrides(&override{Name: "main", ClearArgs: true}), env: []string{"A=1", "B=2"}, tasks: 2, par: 2, timeout: 600 * time.Second},
		"env is merged": {
			o:    overrides(&override{Env: []*runpb.EnvVar{plain("B", "3"), plain("C", "4")}}),
			args: []string{"--steps", "10"}, env: []string{"A=1", "B=3", "C=4"}, tasks: 2, par: 2, timeout: 600 * time.Second,
		},
		"tasks and timeout": {
			o:    &runpb.RunJobRequest_Overrides{TaskCount: 1, Timeout: durationpb.New(time.Hour)},
			args: []string{"--steps", "10"}, env: []string{"A=1", "B=2"}, tasks: 1, par: 1, timeout: time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			job := w.create(base)
			name, op := w.run(tt.o)
			e := executionOf(t, op)
			c := e.GetTemplate().GetContainers()[0]
			if e.GetTaskCount() != tt.tasks || e.GetParallelism() != tt.par || e.GetTemplate().GetTimeout().AsDuration() != tt.timeout {
				t.Errorf("%v", e)
			}
			if diff := cmp.Diff(tt.args, c.GetArgs()); diff != "" {
				t.Errorf("args: %s", diff)
			}
			var env []string
			for _, v := range c.GetEnv() {
				env = append(env, v.GetName()+"="+v.GetValue())
			}
			if diff := cmp.Diff(tt.env, env); diff != "" {
				t.Errorf("env: %s", diff)
			}
			if !proto.Equal(job.GetTemplate(), w.Job(jobFull).GetTemplate()) {
				t.Error("the overrides changed the job")
			}
			a := w.attempt(name, "0")
			id := path.Base(name)
			want := runner.Task{
				Name: id + "-task0", Image: anImage, Command: []string{"python3", "train.py"}, Args: tt.args, Timeout: tt.timeout,
				Env: append(slices.Clone(tt.env), "CLOUD_RUN_JOB=train", "CLOUD_RUN_EXECUTION="+id, "CLOUD_RUN_TASK_INDEX=0",
					"CLOUD_RUN_TASK_ATTEMPT=0", "CLOUD_RUN_TASK_COUNT="+strconv.Itoa(int(tt.tasks))),
			}
			got := a.Task
			got.Clock = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("launched: %s", diff)
			}
		})
	}
}

func overrides(c *runpb.RunJobRequest_Overrides_ContainerOverride) *runpb.RunJobRequest_Overrides {
	return &runpb.RunJobRequest_Overrides{ContainerOverrides: []*runpb.RunJobRequest_Overrides_ContainerOverride{c}}
}

func envOf(a *runner.ScriptedAttempt, name string) string {
	for _, e := range a.Task.Env {
		if len(e) > len(name) && e[:len(name)+1] == name+"=" {
			return e[len(name)+1:]
		}
	}
	return ""
}

func TestDelayedExecution(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	w.SetTiming(run.Timing{Import: -1})
	yes := true
	name, op := w.run(&runpb.RunJobRequest_Overrides{DelayExecution: &yes})
	if r := condition(executionOf(t, op).GetConditions(), "Completed").GetExecutionReason(); r != runpb.Condition_DELAYED_START_PENDING {
		t.Errorf("reason %v", r)
	}
	e := w.await(name, func(e *runpb.Execution) bool { return len(e.GetConditions()) == 4 })
	if r := condition(e.GetConditions(), "Completed").GetExecutionReason(); r != runpb.Condition_DELAYED_START_PENDING {
		t.Errorf("reason %v", r)
	}
	w.SetTiming(run.Timing{})
	w.attempt(name, "0")
	e = w.await(name, has("Started", succeeded))
	if c := condition(e.GetConditions(), "Completed"); c.GetReasons() != nil {
		t.Errorf("%v", c)
	}
}

func TestImageTags(t *testing.T) {
	t.Parallel()
	digest := "sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for image, want := range map[string]string{
		"busybox":                               "busybox@sha256:",
		"busybox:1":                             "busybox@sha256:",
		"localhost:5000/app":                    "localhost:5000/app@sha256:",
		"us-docker.pkg.dev/p/r/i:tag":           "us-docker.pkg.dev/p/r/i@sha256:",
		"us-docker.pkg.dev/p/r/i@" + digest:     "us-docker.pkg.dev/p/r/i@" + digest,
		"us-docker.pkg.dev/p/r/i:tag@" + digest: "us-docker.pkg.dev/p/r/i:tag@" + digest,
	} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(func(j *runpb.Job) { task(j).Containers[0].Image = image })
			var got []string
			for range 2 {
				_, op := w.run()
				got = append(got, executionOf(t, op).GetTemplate().GetContainers()[0].GetImage())
			}
			if len(got[0]) < len(want) || got[0][:len(want)] != want || got[0] != got[1] {
				t.Errorf("%v, want %s…", got, want)
			}
		})
	}
}

// An image that went missing between create and run.
func TestImagePullFailure(t *testing.T) {
	t.Parallel()
	text := "Image '" + anImage + "' not found."
	w := newWorld(t)
	w.create()
	w.SetImageMissing(anImage, true)
	name, op := w.run()
	e := w.finished(name)
	if c := condition(e.GetConditions(), "ContainerReady"); c.GetState() != failed || c.GetReason() != runpb.Condition_CONTAINER_MISSING {
		t.Errorf("ContainerReady: %v", c)
	}
	if c := condition(e.GetConditions(), "Completed"); c.GetState() != failed || c.GetMessage() != text {
		t.Errorf("Completed: %v", c)
	}
	w.wantEnd(op, codes.NotFound, text)

	w = newWorld(t, behaving(run.Behaviour{ImagePullFailure: run.ImagePullTasks}))
	w.create(retries(0))
	w.SetImageMissing(anImage, true)
	name, _ = w.run()
	w.finished(name)
	if diff := cmp.Diff(result(codes.NotFound, text, 0, 0), w.task(name, "0").GetLastAttemptResult(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if n := len(w.launcher.Attempts()); n != 0 {
		t.Errorf("%d attempts were launched", n)
	}
}
