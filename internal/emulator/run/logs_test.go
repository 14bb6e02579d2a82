// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"path"
	"testing"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	monitoredres "google.golang.org/genproto/googleapis/api/monitoredres"
	"google.golang.org/genproto/googleapis/cloud/audit"
	logtype "google.golang.org/genproto/googleapis/logging/type"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	stdoutLog   = "run.googleapis.com%2Fstdout"
	stderrLog   = "run.googleapis.com%2Fstderr"
	systemLog   = "run.googleapis.com%2Fvarlog%2Fsystem"
	eventLog    = "cloudaudit.googleapis.com%2Fsystem_event"
	activityLog = "cloudaudit.googleapis.com%2Factivity"
)

func (w *world) audit(e *loggingpb.LogEntry) *audit.AuditLog {
	w.t.Helper()
	record := &audit.AuditLog{}
	if err := e.GetProtoPayload().UnmarshalTo(record); err != nil {
		w.t.Fatal(err)
	}
	return record
}

// auditCode is the status code of the system event at the end of an execution.
func (w *world) auditCode(execution string) codes.Code {
	w.t.Helper()
	for _, e := range w.logs.all(eventLog) {
		if e.GetLabels()["run.googleapis.com/execution_name"] != path.Base(execution) {
			continue
		}
		if record := w.audit(e); record.GetMethodName() == "/Jobs.RunJob" && record.GetResponse() != nil {
			return codes.Code(record.GetStatus().GetCode())
		}
	}
	w.t.Errorf("no system event about %s", execution)
	return codes.Unknown
}

// payload is the text of an entry, or the message of a structured one.
func payload(e *loggingpb.LogEntry) string {
	if e.GetTextPayload() != "" {
		return e.GetTextPayload()
	}
	return e.GetJsonPayload().GetFields()["message"].GetStringValue()
}

func TestOutputEntries(t *testing.T) {
	t.Parallel()
	var lines []string
	w := newWorld(t, func(o *run.Options) {
		o.TaskOutput = func(task, stream, line string) { lines = append(lines, task+" "+stream+" "+line) }
	})
	w.create(tasks(2, 2))
	name, _ := w.run()
	a := w.attempt(name, "1")
	a.Write(runner.Stdout, "step 1")
	a.Write(runner.Stderr, "warning")
	a.Write(runner.Stdout, `{"severity":"error","message":"lost","step":7}`)
	a.Write(runner.Stdout, `{"severity":"LOUD","message":"x"}`)
	a.Write(runner.Stdout, `{not json`)
	w.attempt(name, "0").Exit(0)
	a.Exit(0)
	w.finished(name)
	id := path.Base(name)
	out, errs := w.logs.all(stdoutLog), w.logs.all(stderrLog)
	if len(out) != 4 || len(errs) != 1 || errs[0].GetTextPayload() != "warning" {
		t.Fatalf("stdout %v, stderr %v", out, errs)
	}
	first := out[0]
	want := &loggingpb.LogEntry{
		LogName: "projects/demo/logs/" + stdoutLog, InsertId: first.GetInsertId(), Timestamp: first.GetTimestamp(), ReceiveTimestamp: first.GetTimestamp(),
		Payload:  &loggingpb.LogEntry_TextPayload{TextPayload: "step 1"},
		Resource: &monitoredres.MonitoredResource{Type: "cloud_run_job", Labels: map[string]string{"project_id": project, "location": region, "job_name": jobID}},
		Labels: map[string]string{
			"instanceId": first.GetLabels()["instanceId"], "run.googleapis.com/execution_name": id,
			"run.googleapis.com/task_index": "1", "run.googleapis.com/task_attempt": "0",
		},
	}
	if diff := cmp.Diff(want, first, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	structured := out[1]
	if structured.GetSeverity() != logtype.LogSeverity_ERROR || payload(structured) != "lost" || structured.GetJsonPayload().GetFields()["severity"] != nil ||
		structured.GetJsonPayload().GetFields()["step"].GetNumberValue() != 7 {
		t.Errorf("structured entry: %v", structured)
	}
	if e := out[2]; e.GetSeverity() != 0 || e.GetJsonPayload().GetFields()["severity"].GetStringValue() != "LOUD" {
		t.Errorf("entry with an unknown severity: %v", e)
	}
	if out[3].GetTextPayload() != "{not json" {
		t.Errorf("%v", out[3])
	}
	if len(lines) != 5 || lines[0] != id+"-task1 stdout step 1" {
		t.Errorf("task output: %v", lines)
	}
}

func TestSystemEntries(t *testing.T) {
	t.Parallel()
	const info, warning, severe = logtype.LogSeverity_INFO, logtype.LogSeverity_WARNING, logtype.LogSeverity_ERROR
	type entry struct {
		text     string
		severity logtype.LogSeverity
	}
	for name, tt := range map[string]struct {
		do   func(w *world, name string, a *runner.ScriptedAttempt)
		want []entry
	}{
		"exit 0":   {func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Exit(0) }, []entry{{"Container called exit(0).", info}}},
		"exit 1":   {func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Exit(1) }, []entry{{"Container called exit(1).", warning}}},
		"signal 9": {func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Signal(9) }, []entry{{"Container terminated on signal 9.", warning}}},
		"timeout": {func(_ *world, _ string, a *runner.ScriptedAttempt) { a.TimeOut() }, []entry{
			{"Terminating task because it has reached the maximum timeout of 300 seconds. To change this limit, see https://cloud.google.com/run/docs/configuring/task-timeout", severe},
			{"Container terminated on signal 9.", warning},
		}},
		"memory": {func(w *world, name string, a *runner.ScriptedAttempt) {
			w.interrupt(name, run.MemoryLimit)
			a.Signal(9)
		}, []entry{{"Out-of-memory event detected in container", severe}}},
		"platform": {func(w *world, name string, a *runner.ScriptedAttempt) {
			w.interrupt(name, run.PlatformFailure)
			a.Signal(9)
		}, nil},
		"preemption": {func(w *world, name string, a *runner.ScriptedAttempt) { w.preempt(name, a); a.Exit(143) }, []entry{
			{preempted + " INSTANCE_PREEMPTED", warning}, {"Container called exit(143).", warning},
		}},
		"cancel": {func(w *world, name string, a *runner.ScriptedAttempt) { w.cancel(name, a); a.Exit(143) }, []entry{{"Container called exit(143).", warning}}},
		"no start": {func(_ *world, _ string, a *runner.ScriptedAttempt) { a.Fail("no such program") }, []entry{
			{"The container could not be started: no such program", severe},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(retries(0), timeout(300*time.Second))
			name, _ := w.run()
			tt.do(w, name, w.attempt(name, "0"))
			w.finished(name)
			got := w.logs.all(systemLog)
			if len(got) != len(tt.want) {
				t.Fatalf("entries: %v", got)
			}
			for i, e := range got {
				if e.GetTextPayload() != tt.want[i].text || e.GetSeverity() != tt.want[i].severity {
					t.Errorf("entry %d: %v, want %v", i, e, tt.want[i])
				}
				if l := e.GetLabels(); l["container_name"] != "train-1" || l["run.googleapis.com/task_index"] != "0" || l["instanceId"] == "" {
					t.Errorf("labels: %v", l)
				}
			}
		})
	}
}

// The audit event at the end of an execution holds it in the v1 form.
func TestExecutionEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.create(retries(1))
	name, _ := w.run()
	w.attempt(name, "0").Exit(1)
	w.attempt(name, "0").Exit(1)
	w.finished(name)
	id := path.Base(name)
	var event *loggingpb.LogEntry
	for _, e := range w.logs.all(eventLog) {
		if e.GetLabels()["run.googleapis.com/execution_name"] == id {
			event = e
		}
	}
	if event.GetSeverity() != logtype.LogSeverity_ERROR || len(event.GetLabels()) != 1 {
		t.Errorf("entry: %v", event)
	}
	record := w.audit(event)
	if record.GetServiceName() != "run.googleapis.com" || record.GetMethodName() != "/Jobs.RunJob" || record.GetResourceName() != "namespaces/demo/executions/"+id {
		t.Errorf("record: %v", record)
	}
	if m := record.GetStatus().GetMessage(); m != "Execution "+id+" has failed to complete, 0/1 tasks were a success." {
		t.Errorf("message %q", m)
	}
	v1 := record.GetResponse().AsMap()
	if v1["apiVersion"] != "run.googleapis.com/v1" || v1["kind"] != "Execution" {
		t.Errorf("%v", v1)
	}
	labels := at(v1, "metadata", "labels")
	if labels["run.googleapis.com/job"] != jobID || labels["run.googleapis.com/jobUid"] != job.GetUid() || labels["run.googleapis.com/jobGeneration"] != "1" {
		t.Errorf("labels %v", labels)
	}
	if spec := at(v1, "spec", "template", "spec"); spec["maxRetries"] != 1.0 || spec["timeoutSeconds"] != "600" {
		t.Errorf("spec %v", spec)
	}
	status := at(v1, "status")
	if status["failedCount"] != 1.0 || status["retriedCount"] != 1.0 || status["succeededCount"] != nil {
		t.Errorf("status %v", status)
	}
	reasons := map[any]any{}
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		c, _ := c.(map[string]any)
		reasons[c["type"]] = [2]any{c["status"], c["reason"]}
	}
	want := map[any]any{
		"Completed": [2]any{"False", "NonZeroExitCode"}, "ResourcesAvailable": [2]any{"True", nil},
		"Started": [2]any{"True", nil}, "ContainerReady": [2]any{"True", nil}, "Retry": [2]any{"True", "ImmediateRetry"},
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}

func at(m map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		m, _ = m[k].(map[string]any)
	}
	return m
}

func TestJobEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	op, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(retries(1), func(j *runpb.Job) { j.Name = jobFull })})
	if err != nil {
		t.Fatal(err)
	}
	w.response(op, &runpb.Job{})
	op, err = w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull})
	if err != nil {
		t.Fatal(err)
	}
	w.response(op, &runpb.Job{})
	methods := func(log string) []string {
		var m []string
		for _, e := range w.logs.all(log) {
			m = append(m, w.audit(e).GetMethodName())
		}
		return m
	}
	if diff := cmp.Diff([]string{"/Jobs.CreateJob", "/Jobs.UpdateJob"}, methods(eventLog)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"google.cloud.run.v2.Jobs.CreateJob", "google.cloud.run.v2.Jobs.UpdateJob", "google.cloud.run.v2.Jobs.DeleteJob",
	}, methods(activityLog)); diff != "" {
		t.Error(diff)
	}
}

func TestSuccessEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	name, _ := w.run()
	w.attempt(name, "0").Exit(0)
	w.finished(name)
	events := w.logs.all(eventLog)
	last := events[len(events)-1]
	if m := w.audit(last).GetStatus().GetMessage(); !contains(m, "has completed successfully") || last.GetSeverity() != logtype.LogSeverity_INFO {
		t.Errorf("%v", last)
	}
}
