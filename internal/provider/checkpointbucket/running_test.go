// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"runtime"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	listJobs = "google.cloud.run.v2.Jobs/ListJobs"
	inRegion = "projects/" + acctest.EmulatorProject + "/locations/" + acctest.EmulatorRegion
)

// training is a job of somebody, with an execution that runs until the test ends it.
type training struct {
	t     *testing.T
	e     *emulator.Emulator
	tasks *runner.Scripted
	task  *runner.ScriptedAttempt
}

func mounting(bucket string) *runpb.Job {
	return &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/apps/train:1", VolumeMounts: []*runpb.VolumeMount{{Name: "checkpoint", MountPath: "/checkpoints"}}}},
		Volumes:    []*runpb.Volume{{Name: "checkpoint", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: bucket}}}},
	}}}
}

func (w *training) run(parent, bucket string) {
	w.t.Helper()
	if _, err := w.e.Run().CreateJob(w.t.Context(), &runpb.CreateJobRequest{Parent: parent, JobId: "train", Job: mounting(bucket)}); err != nil {
		w.t.Fatal(err)
	}
	w.start(parent)
}

func (w *training) start(parent string) {
	w.t.Helper()
	_, err := w.e.Run().RunJob(w.t.Context(), &runpb.RunJobRequest{Name: parent + "/jobs/train"})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.task, err = w.tasks.Await(w.t.Context(), ""); err != nil {
		w.t.Fatal(err)
	}
}

// A bucket is not taken away from what runs, also when it is empty or force_destroy is set: of jobs in its region and the provider's.
func TestDestroyWhileExecutionsRun(t *testing.T) {
	t.Parallel()
	const name = "ckpt-in-use"
	for kind, c := range map[string]struct {
		before  func(*training)
		refused string
		warns   string
	}{
		"no job": {before: func(*training) {}},
		"a job that runs": {
			before:  func(w *training) { w.run(inRegion, name) },
			refused: "Executions save to the bucket",
		},
		"a job that names the bucket in full": {
			before:  func(w *training) { w.run(inRegion, "projects/"+acctest.EmulatorProject+"/buckets/"+name) },
			refused: "Executions save to the bucket",
		},
		"a job that mounts another bucket since": {
			before: func(w *training) {
				w.run(inRegion, name)
				job := mounting("ckpt-other")
				job.Name = inRegion + "/jobs/train"
				if _, err := w.e.Run().UpdateJob(w.t.Context(), &runpb.UpdateJobRequest{Job: job}); err != nil {
					w.t.Fatal(err)
				}
			},
			refused: "Executions save to the bucket",
		},
		"a job that has ended": {before: func(w *training) {
			w.run(inRegion, name)
			w.task.Exit(0)
			if _, err := w.e.Run().DeleteJob(w.t.Context(), &runpb.DeleteJobRequest{Name: inRegion + "/jobs/train"}); err != nil {
				w.t.Fatal(err)
			}
		}},
		"a job with another bucket": {before: func(w *training) { w.run(inRegion, "ckpt-other") }},
		"a job elsewhere":           {before: func(w *training) { w.run("projects/"+acctest.EmulatorProject+"/locations/europe-west4", name) }},
		"jobs cannot be listed": {
			before: func(w *training) {
				w.run(inRegion, name)
				w.e.Faults().Add(faults.Fault{Method: listJobs, Times: -1, Status: status.New(codes.PermissionDenied, "Permission 'run.jobs.list' denied on resource (or it may not exist).")})
			},
			warns: "Running executions not looked for",
		},
		"an outage": {
			before: func(w *training) {
				w.e.Faults().Add(faults.Fault{Method: listJobs, Times: -1, Status: status.New(codes.Unavailable, "Service Unavailable")})
			},
			refused: "Cannot tell whether executions are running",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := &training{t: t, tasks: runner.NewScripted()}
			w.e = acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = w.tasks })
			s := newPatientServer(t, w.e)
			s.apply(s.none(), s.config(attrs{"name": "ckpt-other"}))
			l := s.apply(s.none(), s.config(attrs{"name": name, "force_destroy": true}))
			upload(t, w.e, name, "train/step-1", "x")
			c.before(w)
			calls := acctest.Since(w.e)
			errors, warnings := s.destroyed(l)
			if !strings.Contains(errors, c.refused) || (errors == "") != (c.refused == "") {
				t.Errorf("it says %q, want %q", errors, c.refused)
			}
			if !strings.Contains(warnings, c.warns) || (warnings == "") != (c.warns == "") {
				t.Errorf("it warns %q, want %q", warnings, c.warns)
			}
			if refused := c.refused != ""; refused != w.e.Storage().Exists(name) || refused && len(calls.Writes()) > 0 {
				t.Errorf("the bucket is there: %t; written was %v", !refused, calls.Writes())
			}
			if c.refused == "Executions save to the bucket" && !strings.Contains(errors, "gcloud run jobs executions cancel train-") {
				t.Errorf("no command to cancel: %s", errors)
			}
		})
	}
}

// destroyed destroys, and returns the errors and the warnings.
func (s *server) destroyed(l *life) (errors, warnings string) {
	s.t.Helper()
	null := s.dynamic(tftypes.NewValue(s.object, nil))
	a, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: null,
		PlannedState: null, PlannedPrivate: l.private, PlannedIdentity: l.identity})
	if err != nil {
		s.t.Fatal(err)
	}
	var of [2][]*tfprotov6.Diagnostic
	for _, d := range a.Diagnostics {
		i := 0
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			i, d.Severity = 1, tfprotov6.DiagnosticSeverityError
		}
		of[i] = append(of[i], d)
	}
	return messages(of[0]), messages(of[1])
}

// Another bucket for a job that runs: Terraform would destroy the old one before the job refuses its change.
func TestAnotherBucketWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	w := &training{t: t, tasks: runner.NewScripted()}
	w.e = acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = w.tasks })
	c := core.New(t, w.e, core.NewClock())
	config := func(bucket string) string {
		return `
resource "resilientjob_checkpoint_bucket" "b" {
  name          = "` + bucket + `"
  force_destroy = true
}
resource "resilientjob_gpu_job" "j" {
  name       = "train"
  image      = "us-docker.pkg.dev/p/apps/train:1"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.b.name }
}
`
	}
	if res := c.Apply(config("ckpt-first")); res.Failed() {
		t.Fatal(res)
	}
	upload(t, w.e, "ckpt-first", "step-1", "x")
	w.start(inRegion)
	calls := acctest.Since(w.e)
	res := c.Apply(config("ckpt-second"))
	if !res.Failed() || !strings.Contains(res.String(), "Executions save to the bucket") {
		t.Errorf("it says %s", res)
	}
	if writes := calls.Writes(); len(writes) > 0 || !w.e.Storage().Exists("ckpt-first") {
		t.Errorf("written was %v", writes)
	}
	w.task.Exit(0)
	for len(w.e.Run().Running("train")) > 0 {
		if t.Context().Err() != nil {
			t.Fatal("the execution does not end")
		}
		runtime.Gosched()
	}
	if res := c.Apply(config("ckpt-second")); res.Failed() || w.e.Storage().Exists("ckpt-first") {
		t.Errorf("after the end: %s", res)
	}
}
