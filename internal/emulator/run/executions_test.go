// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"errors"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func executionOf(t *testing.T, op *longrunningpb.Operation) *runpb.Execution {
	t.Helper()
	e := &runpb.Execution{}
	if err := op.GetMetadata().UnmarshalTo(e); err != nil {
		t.Fatal(err)
	}
	return e
}

var executionForm = regexp.MustCompile(`^train-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

func TestRunFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.create(func(j *runpb.Job) { j.Template.Labels = map[string]string{"team": "ml"} })
	w.SetTiming(run.Timing{Import: -1})
	_, op := w.run()
	e := executionOf(t, op)
	id := path.Base(e.GetName())
	if !executionForm.MatchString(id) || e.GetName() != jobFull+"/executions/"+id {
		t.Errorf("name %q", e.GetName())
	}
	want := &runpb.Execution{
		Name: e.GetName(), Uid: e.GetUid(), Creator: "emulator@example.com", Generation: 1,
		Labels: map[string]string{"team": "ml"}, CreateTime: e.GetCreateTime(), UpdateTime: e.GetCreateTime(),
		LaunchStage: job.GetLaunchStage(), Job: jobID, Parallelism: 1, TaskCount: 1, Reconciling: true,
		Conditions: []*runpb.Condition{{Type: "Completed", State: runpb.Condition_CONDITION_PENDING}},
		LogUri: "https://console.cloud.google.com/logs/viewer?project=demo&advancedFilter=resource.type%3D%22cloud_run_job%22%0A" +
			"resource.labels.job_name%3D%22train%22%0Aresource.labels.location%3D%22us-central1%22%0A" +
			"labels.%22run.googleapis.com%2Fexecution_name%22%3D%22" + id + "%22",
		Etag:     e.GetEtag(),
		Template: proto.CloneOf(task(job)),
	}
	want.Template.Containers[0].Image = e.GetTemplate().GetContainers()[0].GetImage()
	if diff := cmp.Diff(want, e, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(want.Template.Containers[0].Image, "us-docker.pkg.dev/demo/apps/train@sha256:") {
		t.Errorf("image %q", want.Template.Containers[0].Image)
	}
	if got := task(w.Job(jobFull)).GetContainers()[0].GetImage(); got != anImage {
		t.Errorf("the job's image became %q", got)
	}
	now := w.Job(jobFull)
	if now.GetExecutionCount() != 1 || now.GetEtag() != job.GetEtag() {
		t.Errorf("job after the run: %v", now)
	}
	ref := &runpb.ExecutionReference{Name: id, CreateTime: e.GetCreateTime(), CompletionStatus: runpb.ExecutionReference_EXECUTION_PENDING}
	if diff := cmp.Diff(ref, now.GetLatestCreatedExecution(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if w.isDone(op) {
		t.Error("the operation is done before the execution")
	}
}

// at is what a condition of the tests' clock has.
func cond(kind string, state runpb.Condition_State, after time.Duration, message string, reason ...runpb.Condition_ExecutionReason) *runpb.Condition {
	c := &runpb.Condition{Type: kind, State: state, Message: message, LastTransitionTime: timestamppb.New(start.Add(after))}
	if len(reason) > 0 {
		c.Reasons = &runpb.Condition_ExecutionReason_{ExecutionReason: reason[0]}
	}
	return c
}

const (
	pending     = runpb.Condition_CONDITION_PENDING
	reconciling = runpb.Condition_CONDITION_RECONCILING
	succeeded   = runpb.Condition_CONDITION_SUCCEEDED
	failed      = runpb.Condition_CONDITION_FAILED
)

// sameConditions compares without the order, which nobody may rely on, and to the
// millisecond: change times differ by microseconds under a clock that stands.
func sameConditions(t *testing.T, want, got []*runpb.Condition) {
	t.Helper()
	round := func(list []*runpb.Condition) map[string]*runpb.Condition {
		m := map[string]*runpb.Condition{}
		for _, c := range list {
			c = proto.CloneOf(c)
			c.LastTransitionTime = timestamppb.New(c.GetLastTransitionTime().AsTime().Truncate(time.Millisecond))
			m[c.GetType()] = c
		}
		return m
	}
	if diff := cmp.Diff(round(want), round(got), protocmp.Transform()); diff != "" {
		t.Errorf("conditions: %s", diff)
	}
}

// The phases of an execution, with the times that its messages speak of.
func TestPhases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	w.SetTiming(run.Timing{Import: 63605 * time.Millisecond, Provision: 2 * time.Second, Start: 56030 * time.Millisecond})
	name, op := w.run()
	waits := "Waiting for execution to complete."
	e := w.await(name, func(e *runpb.Execution) bool { return len(e.GetConditions()) == 4 })
	sameConditions(t, []*runpb.Condition{
		cond("Completed", reconciling, 0, waits), cond("ResourcesAvailable", reconciling, 0, ""),
		cond("Started", reconciling, 0, ""), cond("ContainerReady", reconciling, 0, ""),
	}, e.GetConditions())
	if e.GetStartTime() != nil || e.GetRunningCount() != 0 || !e.GetReconciling() {
		t.Errorf("pending: %v", e)
	}

	w.advance(63605 * time.Millisecond)
	e = w.await(name, has("ContainerReady", succeeded))
	sameConditions(t, []*runpb.Condition{
		cond("Completed", reconciling, 0, waits), cond("ResourcesAvailable", reconciling, 0, ""),
		cond("Started", reconciling, 0, ""), cond("ContainerReady", succeeded, 63605*time.Millisecond, "Imported container image in 1m3.6s."),
	}, e.GetConditions())

	w.advance(2 * time.Second)
	e = w.await(name, has("ResourcesAvailable", succeeded))
	if got := e.GetStartTime().AsTime().Sub(start).Truncate(time.Millisecond); got != 65605*time.Millisecond {
		t.Errorf("startTime after %v: it is set when tasks are scheduled, before Started", got)
	}
	if e.GetRunningCount() != 0 {
		t.Errorf("%d tasks run", e.GetRunningCount())
	}
	if c := condition(w.task(name, "0").GetConditions(), "Completed"); c.GetState() != pending {
		t.Errorf("a scheduled task: %v", c)
	}

	w.advance(56030 * time.Millisecond)
	a := w.attempt(name, "0")
	e = w.await(name, has("Started", succeeded))
	running := []*runpb.Condition{
		cond("Completed", reconciling, 0, waits),
		cond("ResourcesAvailable", succeeded, 65605*time.Millisecond, "Provisioned imported containers."),
		cond("Started", succeeded, 121635*time.Millisecond, "Started deployed execution in 56.03s."),
		cond("ContainerReady", succeeded, 63605*time.Millisecond, "Imported container image in 1m3.6s."),
	}
	sameConditions(t, running, e.GetConditions())
	if e.GetRunningCount() != 1 || !e.GetReconciling() || e.GetCompletionTime() != nil || e.GetObservedGeneration() != 1 {
		t.Errorf("running: %v", e)
	}
	if s := w.Job(jobFull).GetLatestCreatedExecution().GetCompletionStatus(); s != runpb.ExecutionReference_EXECUTION_RUNNING {
		t.Errorf("the job says %v", s)
	}

	w.clock.Advance(38225 * time.Millisecond)
	a.Exit(0)
	e = w.finished(name)
	running[0] = cond("Completed", succeeded, 159860*time.Millisecond, "Execution completed successfully in 1m34.25s.")
	sameConditions(t, running, e.GetConditions())
	if e.GetReconciling() || e.GetSucceededCount() != 1 || e.GetRunningCount() != 0 || e.GetFailedCount() != 0 || e.GetCompletionTime() == nil {
		t.Errorf("succeeded: %v", e)
	}
	last := &runpb.Execution{}
	w.response(op, last)
	if diff := cmp.Diff(e, last, protocmp.Transform()); diff != "" {
		t.Errorf("the response is another execution: %s", diff)
	}
	ref := w.Job(jobFull).GetLatestCreatedExecution()
	if ref.GetCompletionStatus() != runpb.ExecutionReference_EXECUTION_SUCCEEDED || !proto.Equal(ref.GetCompletionTime(), e.GetCompletionTime()) {
		t.Errorf("the job says %v", ref)
	}

	// The image is in the cache now.
	w.SetTiming(run.Timing{})
	name, _ = w.run()
	w.attempt(name, "0").Exit(0)
	if m := condition(w.finished(name).GetConditions(), "ContainerReady").GetMessage(); m != "Imported container image." {
		t.Errorf("message of a cached image: %q", m)
	}
}

func has(kind string, state runpb.Condition_State) func(*runpb.Execution) bool {
	return func(e *runpb.Execution) bool { return condition(e.GetConditions(), kind).GetState() == state }
}

// advance waits until somebody waits for the clock, and moves it.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	if err := w.clock.BlockUntilContext(w.ctx, 1); err != nil {
		w.t.Fatal(err)
	}
	w.clock.Advance(d)
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(tasks(3, 2))
	name, runOp := w.run()
	a0, a1 := w.attempt(name, "0"), w.attempt(name, "1")
	w.await(name, has("Started", succeeded))
	op := w.cancel(name, a0)
	w.stopping(a1)
	e := w.Execution(name)
	c := condition(e.GetConditions(), "Completed")
	if c.GetState() != reconciling || c.GetExecutionReason() != runpb.Condition_CANCELLING || e.GetRunningCount() != 2 || !e.GetReconciling() {
		t.Errorf("cancelling: %v", e)
	}
	if w.isDone(op) || w.isDone(runOp) {
		t.Error("an operation is done before the tasks are gone")
	}
	// A second cancel is answered alike.
	again := w.cancel(name, a0)
	a0.Exit(143)
	a1.Signal(9)
	e = w.finished(name)
	if e.GetCancelledCount() != 3 || e.GetFailedCount() != 0 {
		t.Errorf("cancelled: %v", e)
	}
	for _, o := range []*longrunningpb.Operation{op, again, runOp} {
		w.wantEnd(o, codes.OK, "")
	}
	if r := w.task(name, "2").GetLastAttemptResult(); r.GetStatus().GetCode() != int32(codes.Canceled) {
		t.Errorf("the task that waited: %v", r)
	}
	_, err := w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: name})
	wantCode(t, err, codes.FailedPrecondition, "Execution '"+path.Base(name)+"' cannot be cancelled because it is not running.")
	_, err = w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: jobFull + "/executions/train-none"})
	wantCode(t, err, codes.NotFound, "Resource 'train-none' of kind 'EXECUTION' in region 'us-central1' in project 'demo' does not exist.")
}

func TestCancelBeforeTheStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timing   run.Timing
		complete bool
	}{
		"import":                 {run.Timing{Import: -1}, false},
		"provisioning":           {run.Timing{Provision: time.Hour}, false},
		"start":                  {run.Timing{Start: -1}, false},
		"with a completion time": {run.Timing{Import: -1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(run.Behaviour{CancelledPendingHasCompletionTime: tt.complete}))
			w.create(tasks(2, 0))
			w.SetTiming(tt.timing)
			name, runOp := w.run()
			w.await(name, func(e *runpb.Execution) bool { return len(e.GetConditions()) == 4 })
			op := w.cancel(name, nil)
			e := w.finished(name)
			if e.GetCancelledCount() != 2 || (e.GetCompletionTime() != nil) != tt.complete {
				t.Errorf("%v", e)
			}
			if s := condition(e.GetConditions(), "Started").GetState(); s != reconciling {
				t.Errorf("Started is %v", s)
			}
			w.wantEnd(op, codes.OK, "")
			w.wantEnd(runOp, codes.OK, "")
		})
	}
}

func TestCancelOperationForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, behaving(run.Behaviour{CancelOperation: run.CancelUnspecified}))
	w.create()
	name, runOp := w.run()
	a := w.attempt(name, "0")
	op := w.cancel(name, a)
	a.Exit(143)
	w.wantEnd(op, codes.Unknown, "Unspecified error.")
	w.wantEnd(runOp, codes.OK, "")
	if w.finished(name).GetCancelledCount() != 1 {
		t.Error("the cancel did not work")
	}

	// The task failed by itself before it got the signal.
	w = newWorld(t)
	w.create(retries(0))
	name, runOp = w.run()
	a = w.attempt(name, "0")
	op, err := w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	a.TimeOut() // the reason that came first
	text := condition(w.finished(name).GetConditions(), "Completed").GetMessage()
	w.wantEnd(op, codes.DeadlineExceeded, text)
	w.wantEnd(runOp, codes.DeadlineExceeded, text)
}

func TestCancelEtag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	stale := w.Job(jobFull).GetEtag()
	name, _ := w.run()
	_, err := w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: name, Etag: stale})
	wantCode(t, err, codes.Aborted, "")
	_, err = w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: name, Etag: w.Execution(name).GetEtag(), ValidateOnly: true})
	wantCode(t, err, codes.OK, "")
	if e := w.Execution(name); e.GetCancelledCount() != 0 || run.Finished(e) {
		t.Error("validate_only cancelled it")
	}
	_, err = w.CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: name, Etag: w.Execution(name).GetEtag()})
	wantCode(t, err, codes.OK, "")
}

func TestDeleteExecution(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	done, _ := w.run()
	w.attempt(done, "0").Exit(0)
	w.finished(done)
	op, err := w.DeleteExecution(w.ctx, &runpb.DeleteExecutionRequest{Name: done})
	if err != nil {
		t.Fatal(err)
	}
	if executionOf(t, op).GetDeleteTime() == nil {
		t.Error("no delete time")
	}
	w.response(op, &runpb.Execution{})
	if w.Execution(done) != nil {
		t.Error("it is still there")
	}
	_, err = w.GetTask(w.ctx, &runpb.GetTaskRequest{Name: done + "/tasks/" + path.Base(done) + "-task0"})
	wantCode(t, err, codes.NotFound, "")

	running, runOp := w.run()
	a := w.attempt(running, "0")
	op, err = w.DeleteExecution(w.ctx, &runpb.DeleteExecutionRequest{Name: running})
	if err != nil {
		t.Fatal(err)
	}
	w.stopping(a)
	if w.isDone(op) || w.Execution(running) == nil {
		t.Error("deleted before it was cancelled")
	}
	a.Exit(143)
	e := &runpb.Execution{}
	w.response(op, e)
	if e.GetCancelledCount() != 1 || condition(e.GetConditions(), "Completed").GetExecutionReason() != runpb.Condition_DELETED {
		t.Errorf("%v", e)
	}
	w.wantEnd(runOp, codes.OK, "")
	if w.Execution(running) != nil {
		t.Error("it is still there")
	}

	w = newWorld(t, behaving(run.Behaviour{DeleteRunningRefused: true}))
	w.create()
	running, _ = w.run()
	_, err = w.DeleteExecution(w.ctx, &runpb.DeleteExecutionRequest{Name: running})
	wantCode(t, err, codes.FailedPrecondition, "Precondition check failed.")
}

// Deleting a job kills its executions and takes them away.
func TestDeleteJobKillsExecutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(tasks(2, 1))
	old, _ := w.run()
	for _, i := range []string{"0", "1"} {
		w.attempt(old, i).Exit(0)
	}
	w.finished(old)
	name, runOp := w.run()
	a := w.attempt(name, "0")
	op, err := w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull})
	if err != nil {
		t.Fatal(err)
	}
	w.stopping(a)
	w.response(op, &runpb.Job{})
	for _, n := range []string{old, name} {
		if w.Execution(n) != nil {
			t.Errorf("%s is still there", n)
		}
	}
	fresh := w.create() // the tasks of the old one are still ending
	a.Exit(143)
	got := w.done(runOp)
	if got.GetError() != nil {
		t.Errorf("the run ended with %v", got.GetError())
	}
	if w.Execution(name) != nil || w.Job(jobFull).GetUid() != fresh.GetUid() || w.Job(jobFull).GetExecutionCount() != 0 {
		t.Error("the end of an old execution touched the new job")
	}
	if list, err := w.ListTasks(w.ctx, &runpb.ListTasksRequest{Parent: jobFull + "/executions/-"}); err != nil || len(list.GetTasks()) != 0 {
		t.Errorf("tasks left: %v %v", list, err)
	}
}

func TestListExecutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	if _, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: "other", Job: aJob()}); err != nil {
		t.Fatal(err)
	}
	first, _ := w.run()
	second, _ := w.run()
	op, err := w.RunJob(w.ctx, &runpb.RunJobRequest{Name: parent + "/jobs/other"})
	if err != nil {
		t.Fatal(err)
	}
	other := executionOf(t, op).GetName()
	list := func(parent string) []string {
		var names []string
		token := ""
		for {
			page, err := w.ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: parent, PageSize: 1, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.GetExecutions() {
				names = append(names, e.GetName())
			}
			if token = page.GetNextPageToken(); token == "" {
				return names
			}
		}
	}
	if diff := cmp.Diff([]string{second, first}, list(jobFull)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{other, second, first}, list(parent+"/jobs/-")); diff != "" {
		t.Error(diff)
	}
	if got := list(parent + "/jobs/none"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	w = newWorld(t, behaving(run.Behaviour{ListOfMissingJob: run.ListNotFound}))
	_, err = w.ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: parent + "/jobs/none"})
	wantCode(t, err, codes.NotFound, "")
	_, err = w.ListTasks(w.ctx, &runpb.ListTasksRequest{Parent: parent + "/jobs/none/executions/-"})
	wantCode(t, err, codes.NotFound, "")
}

func TestLaunchRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.launcher.Refuse(func(runner.Task) error { return errors.New("no command for the image") })
	w.create(retries(1))
	name, _ := w.run()
	e := w.finished(name)
	c := condition(e.GetConditions(), "Completed")
	if c.GetState() != failed || !strings.Contains(c.GetMessage(), "no command for the image") || c.GetReasons() != nil {
		t.Errorf("Completed: %v", c)
	}
	if s := condition(e.GetConditions(), "Started").GetState(); s != reconciling {
		t.Errorf("Started is %v although nothing ever started (case 110)", s)
	}
	if e.GetFailedCount() != 1 || e.GetRetriedCount() != 1 {
		t.Errorf("counts: %v", e)
	}
}

func TestRunUnreadyJob(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		w := newWorld(t, behaving(run.Behaviour{RunUnreadyJob: accepted}))
		w.SetImageMissing(anImage, true)
		op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
		if err != nil {
			t.Fatal(err)
		}
		w.wantEnd(op, codes.NotFound, "Image '"+anImage+"' not found.")
		_, err = w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull})
		if accepted {
			wantCode(t, err, codes.OK, "")
		} else {
			wantCode(t, err, codes.FailedPrecondition, "Precondition check failed.")
		}
	}
}

func TestRunForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, behaving(run.Behaviour{RunChangesEtag: true, SystemLabels: true, RunningCompleted: run.RunningPending, MaxParallelism: 2}))
	before := w.create(tasks(3, 0))
	name, _ := w.run()
	if w.Job(jobFull).GetEtag() == before.GetEtag() {
		t.Error("the run did not change the etag")
	}
	e := w.await(name, func(e *runpb.Execution) bool { return e.GetRunningCount() == 2 })
	if e.GetParallelism() != 2 || condition(e.GetConditions(), "Completed").GetState() != pending {
		t.Errorf("%v", e)
	}
	if e.GetLabels()["run.googleapis.com/job"] != jobID || e.GetLabels()["run.googleapis.com/jobUid"] != before.GetUid() {
		t.Errorf("labels %v", e.GetLabels())
	}
	if e.GetAnnotations()["run.googleapis.com/creator"] == "" {
		t.Errorf("annotations %v", e.GetAnnotations())
	}
	if l := w.task(name, "0").GetLabels(); l["run.googleapis.com/runningState"] != "Running" {
		t.Errorf("task labels %v", l)
	}
	w.attempt(name, "0").Exit(0)
	w.attempt(name, "2").Exit(0)
	w.attempt(name, "1").Exit(0)
	w.finished(name)
	if l := w.task(name, "0").GetLabels(); l["run.googleapis.com/runningState"] != "Succeeded" {
		t.Errorf("task labels %v", l)
	}
}
