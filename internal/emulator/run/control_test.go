// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// faulty is the context of a call whose operation ends as f says.
func (w *world) faulty(f faults.OperationFault) context.Context {
	w.t.Helper()
	script := faults.NewScript(w.clock)
	script.Add(faults.Fault{Operation: &f})
	ctx, _, err := script.Begin(w.ctx, faults.Call{Method: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	return ctx
}

// case 26, case 28, case 29: a create whose operation fails leaves the job there.
func TestFailedReconcile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		st     *status.Status
		reason runpb.Condition_CommonReason
	}{
		"image missing":      {status.New(codes.NotFound, "Image 'x' not found."), runpb.Condition_CONTAINER_MISSING},
		"image unreadable":   {status.New(codes.Internal, "Google Cloud Run Service Agent must have permission to read the image, x."), runpb.Condition_CONTAINER_PERMISSION_DENIED},
		"secret missing":     {status.New(codes.FailedPrecondition, "Secret projects/1/secrets/s/versions/latest was not found"), runpb.Condition_SECRETS_ACCESS_CHECK_FAILED},
		"GPU quota (case53)": {status.New(codes.ResourceExhausted, "Quota exceeded for total allowable count of GPUs per project per region."), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			op, err := w.CreateJob(w.faulty(faults.OperationFault{Status: tt.st}), &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
			if err != nil {
				t.Fatal(err)
			}
			w.wantEnd(op, tt.st.Code(), tt.st.Message())
			job := w.Job(jobFull)
			c := job.GetTerminalCondition()
			if c.GetType() != "Ready" || c.GetState() != failed || c.GetMessage() != tt.st.Message() || c.GetReason() != tt.reason {
				t.Errorf("Ready: %v", c)
			}
			if job.GetReconciling() || job.GetObservedGeneration() != 0 || job.GetGeneration() != 1 {
				t.Errorf("job: %v", job)
			}
			// The next update mends it.
			op, err = w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(retries(1), func(j *runpb.Job) { j.Name = jobFull })})
			if err != nil {
				t.Fatal(err)
			}
			w.response(op, &runpb.Job{})
			op, err = w.UpdateJob(w.faulty(faults.OperationFault{Status: tt.st}), &runpb.UpdateJobRequest{Job: aJob(retries(2), func(j *runpb.Job) { j.Name = jobFull })})
			if err != nil {
				t.Fatal(err)
			}
			w.wantEnd(op, tt.st.Code(), tt.st.Message())
			if j := w.Job(jobFull); j.GetGeneration() != 3 || j.GetObservedGeneration() != 2 {
				t.Errorf("observedGeneration keeps the last good one: %v", j)
			}
		})
	}
}

func TestOtherOperationFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op, err := w.CreateJob(w.faulty(faults.OperationFault{NoResponse: true}), &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.done(op); got.GetResult() != nil {
		t.Errorf("%v", got)
	}
	if w.Job(jobFull).GetReconciling() {
		t.Error("the job is not ready")
	}
	op, err = w.DeleteJob(w.faulty(faults.OperationFault{Status: status.New(codes.Internal, "x")}), &runpb.DeleteJobRequest{Name: jobFull})
	if err != nil {
		t.Fatal(err)
	}
	w.wantEnd(op, codes.Internal, "x")
	if j := w.Job(jobFull); j == nil || j.GetDeleteTime() != nil {
		t.Errorf("a delete that failed: %v", j)
	}

	w = newWorld(t)
	w.create()
	op, err = w.RunJob(w.faulty(faults.OperationFault{Never: true}), &runpb.RunJobRequest{Name: jobFull})
	if err != nil {
		t.Fatal(err)
	}
	name := executionOf(t, op).GetName()
	w.attempt(name, "0").Exit(0)
	w.finished(name)
	if w.isDone(op) {
		t.Error("an operation that never ends has ended")
	}
}

// A later write takes over from one whose operation is still open.
func TestOverlappingWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ops.SetDelay(time.Second)
	create, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(500 * time.Millisecond)
	update, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(retries(1), func(j *runpb.Job) { j.Name = jobFull })})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(500 * time.Millisecond)
	job := &runpb.Job{}
	w.response(create, job)
	if !job.GetReconciling() || job.GetGeneration() != 2 {
		t.Errorf("the first write settled the second: %v", job)
	}
	w.clock.Advance(500 * time.Millisecond)
	w.response(update, job)
	if job.GetReconciling() || job.GetObservedGeneration() != 2 {
		t.Errorf("%v", job)
	}
}

// Another client's edit.
func TestSetJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.create()
	if !w.SetJob(jobFull, func(j *runpb.Job) { j.Client, j.Labels = "gcloud", map[string]string{"commit-sha": "1"} }) {
		t.Fatal("no such job")
	}
	labelled := w.Job(jobFull)
	if labelled.GetEtag() == before.GetEtag() || labelled.GetGeneration() != 1 {
		t.Errorf("%v", labelled)
	}
	w.SetJob(jobFull, func(j *runpb.Job) { task(j).Containers[0].Image = "other" })
	if j := w.Job(jobFull); j.GetGeneration() != 2 || j.GetObservedGeneration() != 2 {
		t.Errorf("%v", j)
	}
	if w.SetJob(jobFull+"x", func(*runpb.Job) {}) {
		t.Error("a job that does not exist was changed")
	}
}

func TestSeededExecutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	name := jobFull + "/executions/train-seeded"
	e := &runpb.Execution{Name: name, Job: jobID, TaskCount: 1}
	one := &runpb.Task{Name: name + "/tasks/train-seeded-task0", Job: jobID, Execution: "train-seeded"}
	if err := w.AddExecution(e, one); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, w.Execution(name), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if list, err := w.ListTasks(w.ctx, &runpb.ListTasksRequest{Parent: name}); err != nil || len(list.GetTasks()) != 1 {
		t.Errorf("%v %v", list, err)
	}
	w.SetExecution(name, func(e *runpb.Execution) { e.FailedCount = 1 })
	if w.Execution(name).GetFailedCount() != 1 {
		t.Error("not changed")
	}
	if err := w.AddExecution(&runpb.Execution{Name: "x"}); err == nil {
		t.Error("a bad name was taken")
	}
	if err := w.AddExecution(e, &runpb.Task{Name: "x"}); err == nil {
		t.Error("a task of another execution was taken")
	}
	w.ForgetExecution(name)
	if w.Execution(name) != nil {
		t.Error("not forgotten")
	}

	running, op := w.run()
	a := w.attempt(running, "0")
	w.ForgetExecution(running)
	w.stopping(a)
	a.Exit(143)
	w.done(op)
	if w.Execution(running) != nil {
		t.Error("a forgotten execution came back")
	}
}

func TestAwaitSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.Await(ctx, jobFull+"/executions/none", run.Finished); err == nil {
		t.Error("no error")
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.GetIamPolicy(w.ctx, &iampb.GetIamPolicyRequest{Resource: jobFull})
	wantCode(t, err, codes.NotFound, "")
	w.create()
	empty, err := w.GetIamPolicy(w.ctx, &iampb.GetIamPolicyRequest{Resource: jobFull})
	if err != nil || len(empty.GetBindings()) != 0 || len(empty.GetEtag()) == 0 {
		t.Fatalf("%v %v", empty, err)
	}
	p := proto.CloneOf(empty)
	p.Bindings = []*iampb.Binding{{Role: "roles/run.invoker", Members: []string{"allUsers"}}}
	set, err := w.SetIamPolicy(w.ctx, &iampb.SetIamPolicyRequest{Resource: jobFull, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.GetIamPolicy(w.ctx, &iampb.GetIamPolicyRequest{Resource: jobFull})
	if err != nil || !proto.Equal(set, got) || string(got.GetEtag()) == string(empty.GetEtag()) || got.GetVersion() != 1 {
		t.Errorf("%v %v", got, err)
	}
	_, err = w.SetIamPolicy(w.ctx, &iampb.SetIamPolicyRequest{Resource: jobFull, Policy: p})
	wantCode(t, err, codes.Aborted, "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.")
	_, err = w.SetIamPolicy(w.ctx, &iampb.SetIamPolicyRequest{Resource: jobFull, Policy: &iampb.Policy{}})
	wantCode(t, err, codes.OK, "")
	_, err = w.SetIamPolicy(w.ctx, &iampb.SetIamPolicyRequest{Resource: jobFull})
	wantCode(t, err, codes.InvalidArgument, "")
	perms, err := w.TestIamPermissions(w.ctx, &iampb.TestIamPermissionsRequest{Resource: jobFull, Permissions: []string{"run.jobs.run", "storage.buckets.get"}})
	if err != nil || len(perms.GetPermissions()) != 1 {
		t.Errorf("%v %v", perms, err)
	}
}

// Many clients at once: for the race detector, and for names and counts.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *run.Options) { o.TaskOutput = func(string, string, string) {} })
	w.launcher.OnLaunch(func(a *runner.ScriptedAttempt) {
		a.Write(runner.Stdout, "hello")
		if envOf(a, "CLOUD_RUN_TASK_ATTEMPT") == "0" {
			a.Exit(1)
		} else {
			a.Exit(0)
		}
	})
	w.create(tasks(4, 2))
	const runs = 8
	var group sync.WaitGroup
	operations := make([]*longrunningpb.Operation, runs)
	for i := range runs {
		group.Go(func() {
			op, err := w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull})
			if err != nil {
				t.Error(err)
				return
			}
			operations[i] = op
			if _, err := w.ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: jobFull}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for _, op := range operations {
		e := &runpb.Execution{}
		w.response(op, e)
		if e.GetSucceededCount() != 4 || e.GetRetriedCount() != 4 {
			t.Errorf("counts: %v", e)
		}
	}
	if n := w.Job(jobFull).GetExecutionCount(); n != runs {
		t.Errorf("%d executions", n)
	}
	if n := len(w.logs.all(stdoutLog)); n != runs*4*2 {
		t.Errorf("%d lines", n)
	}
}
