// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	logtype "google.golang.org/genproto/googleapis/logging/type"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const preempted = "Container instance preemption initiated by the platform due to underlying hardware maintenance."

// A preempted task is tried again, which uses up a retry.
func TestPreemptThenSucceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(retries(3))
	name, op := w.run()
	a := w.attempt(name, "0")
	w.preempt(name, a)
	a.Exit(143)
	w.attempt(name, "0").Exit(0)
	e := w.finished(name)
	if e.GetSucceededCount() != 1 || e.GetRetriedCount() != 1 {
		t.Errorf("counts: %v", e)
	}
	if got := w.task(name, "0"); got.GetRetried() != 1 || got.GetLastAttemptResult().GetExitCode() != 0 {
		t.Errorf("task: %v", got)
	}
	w.wantEnd(op, codes.OK, "")
}

func TestPreemptErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	name, _ := w.run()
	w.attempt(name, "0")
	for _, tt := range []struct {
		execution string
		task      int
	}{{"train-none", 0}, {name, 1}, {"", 0}} {
		if err := w.Preempt(tt.execution, tt.task); err == nil {
			t.Errorf("Preempt(%q, %d) did nothing and said nothing", tt.execution, tt.task)
		}
	}
	// The same short name in another region is ambiguous.
	other := "projects/demo/locations/europe-west1"
	op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: other, JobId: jobID, Job: aJob(startToken("one"))})
	if err != nil {
		t.Fatal(err)
	}
	w.response(op, &runpb.Job{})
	op, err = w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(startToken("one"), func(j *runpb.Job) { j.Name = jobFull })})
	if err != nil {
		t.Fatal(err)
	}
	w.response(op, &runpb.Job{})
	if err := w.Preempt("train-one", 0); err == nil {
		t.Error("an ambiguous name was taken")
	}
	if err := w.Preempt(other+"/jobs/train/executions/train-one", 0); err != nil {
		t.Error(err)
	}
	if got := w.Running(other + "/jobs/train"); len(got) != 1 {
		t.Errorf("running: %v", got)
	}
	if got := w.Running(""); len(got) != 3 {
		t.Errorf("running: %v", got)
	}
}

// The schedule: the first attempt after PreemptAfter, later ones after
// PreemptEvery, and an attempt that ends before is left alone.
func TestPreemptionSchedule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after, every time.Duration
		runs         []time.Duration // how long attempts run until SIGTERM; 0: never
	}{
		"after": {after: 5 * time.Second, runs: []time.Duration{5 * time.Second, 0}},
		"every": {every: 7 * time.Second, runs: []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}},
		"both":  {after: 5 * time.Second, every: 9 * time.Second, runs: []time.Duration{5 * time.Second, 9 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *run.Options) { o.PreemptAfter, o.PreemptEvery = tt.after, tt.every })
			w.create(retries(10))
			name, _ := w.run()
			for _, d := range tt.runs {
				a := w.attempt(name, "0")
				if d == 0 {
					w.await(name, func(e *runpb.Execution) bool { return e.GetRunningCount() == 1 })
					w.clock.Advance(time.Hour)
					a.Exit(0)
					w.finished(name)
					break
				}
				w.advance(d - time.Millisecond)
				select {
				case <-a.Stopping():
					t.Fatalf("preempted before %v", d)
				default:
				}
				w.clock.Advance(time.Millisecond)
				w.stopping(a)
				a.Exit(143)
			}
			if n := len(w.logs.all(systemLog)); n == 0 {
				t.Error("no log entries")
			}
		})
	}
}

func TestPreemptionLogForms(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]run.PreemptionLog{
		"text": run.PreemptionText, "json": run.PreemptionJSON, "audit": run.PreemptionAudit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(run.Behaviour{PreemptionLog: form}))
			w.create()
			name, _ := w.run()
			a := w.attempt(name, "0")
			w.preempt(name, a)
			a.Write(runner.Stdout, "saving")
			a.Exit(143)
			w.attempt(name, "0")
			log := systemLog
			if form == run.PreemptionAudit {
				log = eventLog
			}
			found := 0
			for _, e := range w.logs.all(log) {
				text := e.GetTextPayload() + e.GetJsonPayload().GetFields()["message"].GetStringValue() +
					e.GetJsonPayload().GetFields()["reason"].GetStringValue()
				if e.GetProtoPayload() != nil {
					text += w.audit(e).GetStatus().GetMessage()
				}
				if !contains(text, preempted) {
					continue
				}
				found++
				if !contains(text, "INSTANCE_PREEMPTED") || e.GetSeverity() != logtype.LogSeverity_WARNING {
					t.Errorf("entry: %v", e)
				}
				if e.GetLabels()["run.googleapis.com/task_attempt"] != "0" {
					t.Errorf("labels: %v", e.GetLabels())
				}
			}
			if found != 1 {
				t.Errorf("%d entries of the preemption", found)
			}
		})
	}
}
