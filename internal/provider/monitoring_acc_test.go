// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	exampleProject = "my-project"
	exampleJob     = "projects/" + exampleProject + "/locations/us-central1/jobs/train"
)

// example puts files of examples/guides, as they are, into the folder of a
// command line.
func example(t *testing.T, e *emulator.Emulator, guide string, files ...string) *acctest.Terraform {
	t.Helper()
	tf := acctest.CLI(t, e)
	tf.Write("provider \"resilientjob\" {\n  project = \"" + exampleProject + "\"\n  region  = \"us-central1\"\n}\n")
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join("../../examples/guides", guide, file))
		if err != nil {
			t.Fatal(err)
		}
		tf.WriteFile(file, string(raw))
	}
	return tf
}

// The checks of the guide are green before the first run, while one saves, and
// after one that succeeded; they turn red when a run saves nothing, and when it
// failed or was cancelled. What an earlier run saved long ago does not make a run
// stale that has only begun.
func TestAccMonitoringChecks(t *testing.T) {
	t.Parallel()
	// Fake, so that a checkpoint can be old.
	clock := clockwork.NewFakeClockAt(time.Now().Add(-time.Hour))
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Clock = clock })
	tf := example(t, e, "monitoring-and-interruptions", "job.tf", "checks.tf")
	green := func() {
		t.Helper()
		tf.Apply().Succeeds().SaysNot("Check block assertion failed", "Error:")
	}
	red := func(text string) {
		t.Helper()
		tf.Apply().Succeeds().Says("Check block assertion failed", text)
	}
	green()
	green()

	run := &runpb.Execution{
		Name: exampleJob + "/executions/train-aaaaa", TaskCount: 1, RunningCount: 1, LogUri: "https://console.cloud.google.com/logs", CreateTime: timestamppb.Now(),
		Conditions: []*runpb.Condition{{Type: "Completed", State: runpb.Condition_CONDITION_RECONCILING}},
	}
	put := func(began time.Duration) {
		t.Helper()
		run.StartTime = timestamppb.New(time.Now().Add(-began))
		if err := e.Run().AddExecution(run); err != nil {
			t.Fatal(err)
		}
	}
	save := func() {
		t.Helper()
		callEmulator(t, e, "POST", "/upload/storage/v1/b/my-project-checkpoints/o?uploadType=media&name=task-0%2Fstep-00000001.ckpt", "x")
	}
	put(2 * time.Hour)
	red("Run train-aaaaa has saved nothing for 30 minutes; newest checkpoint: none.")
	save()
	red("Run train-aaaaa has saved nothing for 30 minutes; newest checkpoint: " + clock.Now().UTC().Format("2006-01-02T15:04:"))
	put(time.Minute)
	green()
	put(2 * time.Hour)
	clock.Advance(time.Hour)
	save()
	green()

	run.RunningCount, run.FailedCount, run.CompletionTime = 0, 1, timestamppb.Now()
	run.Conditions[0].State, run.Conditions[0].Message = runpb.Condition_CONDITION_FAILED, "Task train-aaaaa-task0 failed with exit code: 1."
	put(2 * time.Hour)
	red("Run train-aaaaa is failed: Task train-aaaaa-task0 failed with exit code: 1. https://console.cloud.google.com/logs")
	run.FailedCount, run.CancelledCount, run.Conditions[0].Message = 0, 1, ""
	put(2 * time.Hour)
	red("Run train-aaaaa is cancelled: without a message https://console.cloud.google.com/logs")
}

// The interruptions of the last week, of a task that was really preempted twice.
func TestAccMonitoringInterruptions(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	tf := example(t, e, "monitoring-and-interruptions", "job.tf", "interruptions.tf")
	tf.Apply().Succeeds().Says("interruptions = []")
	if _, err := e.Run().RunJob(t.Context(), &runpb.RunJobRequest{Name: exampleJob}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		attempt, err := tasks.Await(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range e.Run().Running("train") {
			if err := e.Run().Preempt(name, 0); err != nil {
				t.Fatal(err)
			}
		}
		attempt.Exit(143)
	}
	if _, err := tasks.Await(t.Context(), ""); err != nil { // the third begins after what the second has logged
		t.Fatal(err)
	}
	tf.Apply().Succeeds().Says("task 0, attempt 1: the platform preempted the task", "task 0, attempt 0: the platform preempted the task").SaysNot("Check block assertion failed")
}

// What was seen counts more than what is assumed, as soon as it is enough.
func TestAccMonitoringMeasured(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := example(t, e, "monitoring-and-interruptions", "job.tf", "measured.tf")
	tf.Needs(acctest.Functions)
	tf.Apply().Succeeds().Says("retries = 6")
	for i := range 12 {
		begin := time.Now().Add(-time.Duration(20*(i+1)) * time.Hour)
		name := fmt.Sprintf("%s/executions/train-%05d", exampleJob, i)
		if err := e.Run().AddExecution(&runpb.Execution{
			Name: name, TaskCount: 1, SucceededCount: 1, CreateTime: timestamppb.New(begin), StartTime: timestamppb.New(begin), CompletionTime: timestamppb.New(begin.Add(10 * time.Hour)),
		}); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			callEmulator(t, e, "POST", "/v2/entries:write", fmt.Sprintf(`{"entries": [{
				"logName": "projects/%s/logs/run.googleapis.com%%2Fvarlog%%2Fsystem", "timestamp": %q, "textPayload": "Container called exit(143).",
				"resource": {"type": "cloud_run_job", "labels": {"project_id": %q, "location": "us-central1", "job_name": "train"}},
				"labels": {"run.googleapis.com/execution_name": %q, "run.googleapis.com/task_index": "0", "run.googleapis.com/task_attempt": "0"}
			}]}`, exampleProject, begin.Add(time.Hour).UTC().Format(time.RFC3339), exampleProject, path.Base(name)))
		}
	}
	// 120 hours, 4 interruptions: one in 30 hours. At most 5 of them in 48 hours, with
	// 99 %, and 5 attempts of 12 hours for the rest.
	tf.Apply().Succeeds().Says("retries = 9")
}

// A job that may use too much is not run, and no job is made.
func TestAccMonitoringExposure(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	tf := example(t, e, "monitoring-and-interruptions", "job.tf", "exposure.tf")
	requests := acctest.Since(e)
	tf.Apply("-var=max_gpu_hours=50").Fails("One run of train may use 72 GPU-hours, and 50 are allowed.")
	if n := requests.Count(acctest.CreateJob) + requests.Count(acctest.RunJob); n != 0 {
		t.Errorf("%d jobs were made or run", n)
	}
	tf.Apply().Succeeds()
	if n := requests.Count(acctest.RunJob); n != 1 {
		t.Errorf("the job was run %d times", n)
	}
}

// Every file of the guides' examples is shown by a guide.
func TestGuidesShowTheirExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/guides/*/*.tf")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		guide := filepath.Base(filepath.Dir(file))
		raw, err := os.ReadFile(filepath.Join("../../templates/guides", guide+".md.tmpl"))
		if err != nil {
			t.Fatal(err)
		}
		if shown := "examples/guides/" + guide + "/" + filepath.Base(file); !strings.Contains(string(raw), shown) {
			t.Errorf("the guide %s does not show %s", guide, shown)
		}
	}
}
