// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"testing"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

func startToken(token string) func(*runpb.Job) {
	return func(j *runpb.Job) { j.CreateExecution = &runpb.Job_StartExecutionToken{StartExecutionToken: token} }
}

func runToken(token string) func(*runpb.Job) {
	return func(j *runpb.Job) { j.CreateExecution = &runpb.Job_RunExecutionToken{RunExecutionToken: token} }
}

func (w *world) isDone(op *longrunningpb.Operation) bool {
	w.t.Helper()
	got, err := w.ops.GetOperation(w.ctx, &longrunningpb.GetOperationRequest{Name: op.GetName()})
	if err != nil {
		w.t.Fatal(err)
	}
	return got.GetDone()
}

// With a start token the job is ready when the execution has started, with a run
// token when it has completed.
func TestExecutionTokens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		token      func(*runpb.Job)
		readyEarly bool
	}{
		"start": {startToken("one"), true},
		"run":   {runToken("one"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.SetTiming(run.Timing{Import: -1})
			op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(tt.token)})
			if err != nil {
				t.Fatal(err)
			}
			execution := jobFull + "/executions/train-one"
			if w.Execution(execution) == nil {
				t.Fatal("no execution of that name")
			}
			if w.isDone(op) || !w.Job(jobFull).GetReconciling() {
				t.Error("the job is ready before the execution has started")
			}
			w.SetTiming(run.Timing{})
			a := w.attempt(execution, "0")
			if tt.readyEarly {
				w.response(op, &runpb.Job{})
			} else if w.isDone(op) {
				t.Error("the job is ready before the execution has completed")
			}
			a.Exit(0)
			job := &runpb.Job{}
			w.response(op, job)
			if job.GetTerminalCondition().GetState() != runpb.Condition_CONDITION_SUCCEEDED || job.GetExecutionCount() != 1 {
				t.Errorf("%v", job)
			}
			w.finished(execution)
			if w.Job(jobFull).GetCreateExecution() == nil {
				t.Error("the token is not read back")
			}
			w.run()
			if w.Job(jobFull).GetCreateExecution() != nil {
				t.Error("another run drops the token")
			}
		})
	}
}

func TestRunTokenOfAFailingExecution(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(runToken("one"), retries(0))})
	if err != nil {
		t.Fatal(err)
	}
	w.attempt("train-one", "0").Exit(1)
	if got := w.done(op).GetError(); codes.Code(got.GetCode()) != codes.Aborted {
		t.Errorf("error %v", got)
	}
	if c := w.Job(jobFull).GetTerminalCondition(); c.GetState() != runpb.Condition_CONDITION_FAILED {
		t.Errorf("%v", c)
	}
}

// case 40: a token that is sent again.
func TestTokenSentAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ignored bool
		code    codes.Code
		text    string
	}{
		"starts a run": {false, codes.AlreadyExists, "Resource 'train-one' already exists."},
		"ignored":      {true, codes.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(run.Behaviour{SameTokenIgnored: tt.ignored}))
			op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(startToken("one"))})
			if err != nil {
				t.Fatal(err)
			}
			w.response(op, &runpb.Job{})
			again := &runpb.UpdateJobRequest{Job: aJob(startToken("one"), retries(1), func(j *runpb.Job) { j.Name = jobFull })}
			_, err = w.UpdateJob(w.ctx, again)
			wantCode(t, err, tt.code, tt.text)
			if n := w.Job(jobFull).GetExecutionCount(); n != 1 {
				t.Errorf("%d executions", n)
			}
			// Dropped by another run, it is a new token in every form.
			w.run()
			_, err = w.UpdateJob(w.ctx, again)
			wantCode(t, err, codes.AlreadyExists, "Resource 'train-one' already exists.")
			other := &runpb.UpdateJobRequest{Job: aJob(startToken("two"), func(j *runpb.Job) { j.Name = jobFull })}
			_, err = w.UpdateJob(w.ctx, other)
			wantCode(t, err, codes.OK, "")
			if w.Execution(jobFull+"/executions/train-two") == nil {
				t.Error("a new token starts an execution")
			}
		})
	}
}

// case 32: an operation that is done with neither response nor error.
func TestTokenOperationWithoutResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, behaving(run.Behaviour{TokenOperationWithoutResponse: true}))
	op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(runToken("one"))})
	if err != nil {
		t.Fatal(err)
	}
	w.attempt("train-one", "0").Exit(0)
	if got := w.done(op); got.GetResult() != nil {
		t.Errorf("result %v", got.GetResult())
	}
	if w.Job(jobFull).GetReconciling() {
		t.Error("the job is not ready")
	}
}
