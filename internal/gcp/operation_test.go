// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const testOperation = testParent + "/operations/7f1c2f3a-1111-4222-8333-444455556666"

func operationOf(t *testing.T, metadata proto.Message, done bool, response proto.Message, failure *rpcstatus.Status) *longrunningpb.Operation {
	t.Helper()
	op := &longrunningpb.Operation{Name: testOperation, Done: done}
	if metadata != nil {
		op.Metadata = anyOfMessage(t, metadata)
	}
	if response != nil {
		op.Result = &longrunningpb.Operation_Response{Response: anyOfMessage(t, response)}
	}
	if failure != nil {
		op.Result = &longrunningpb.Operation_Error{Error: failure}
	}
	return op
}

func TestOperation(t *testing.T) {
	t.Parallel()
	pending := &runpb.Job{Name: testJob, Reconciling: true}
	ready := &runpb.Job{Name: testJob, Uid: "u"}
	broken := &runpb.Job{Name: testJob, TerminalCondition: &runpb.Condition{State: runpb.Condition_CONDITION_FAILED, Message: "no image",
		Reasons: &runpb.Condition_Reason{Reason: runpb.Condition_CONTAINER_MISSING}}}
	first := operationOf(t, pending, false, nil, nil)
	running := answer{message: first}
	outage := answer{err: status.Error(codes.Unavailable, "Service Unavailable")}
	for name, c := range map[string]struct {
		first   *longrunningpb.Operation
		polls   []answer
		job     []answer
		check   func(t *testing.T, job *runpb.Job, err error)
		nPolls  int
		nJobs   int
		slowly  bool
		deleted bool
	}{
		"done at the first poll": {
			polls: []answer{{message: operationOf(t, ready, true, ready, nil)}}, nPolls: 1,
		},
		"done in the first answer": {
			first: operationOf(t, ready, true, ready, nil),
		},
		"pending for three polls": {
			polls: []answer{running, running, running, {message: operationOf(t, ready, true, ready, nil)}}, nPolls: 4,
		},
		// case 32
		"done without a response": {
			polls: []answer{{message: operationOf(t, nil, true, nil, nil)}}, job: []answer{{message: ready}}, nPolls: 1, nJobs: 1,
		},
		"done without a response in the first answer": {
			first: operationOf(t, pending, true, nil, nil), job: []answer{{message: ready}}, nJobs: 1,
		},
		// cases 26, 28
		"failed": {
			polls:  []answer{{message: operationOf(t, pending, true, nil, &rpcstatus.Status{Code: 5, Message: "Image 'gcr.io/p/i:1' not found."})}},
			nPolls: 1,
			check: func(t *testing.T, _ *runpb.Job, err error) {
				e := wantError(t, err)
				if e.Code != codes.NotFound || e.Message != "Image 'gcr.io/p/i:1' not found." || e.Ambiguous || e.Op != "create Cloud Run job" {
					t.Errorf("got %+v", e)
				}
				if want := "create Cloud Run job " + testJob + ": Image 'gcr.io/p/i:1' not found. (NOT_FOUND)"; e.Error() != want {
					t.Errorf("got %q, want %q", e.Error(), want)
				}
			},
		},
		"polls fail for a while": {
			polls: []answer{outage, outage, {err: status.Error(codes.Internal, "x")}, {message: operationOf(t, ready, true, ready, nil)}}, nPolls: 4,
		},
		"polls may not be made": {
			polls: []answer{{err: status.Error(codes.PermissionDenied, "Permission 'run.operations.get' denied")}},
			job:   []answer{{message: pending}, {message: pending}, {message: ready}}, nPolls: 1, nJobs: 3,
		},
		"the operation is forgotten and the job is broken": {
			polls: []answer{{err: status.Error(codes.NotFound, "operation not found")}}, job: []answer{{message: broken}}, nPolls: 1, nJobs: 1,
			check: func(t *testing.T, _ *runpb.Job, err error) {
				if e := wantError(t, err); e.Message != "no image" || e.Reason != "CONTAINER_MISSING" {
					t.Errorf("got %+v", e)
				}
			},
		},
		"an outage without end": {
			polls: []answer{outage}, nPolls: -1,
			check: func(t *testing.T, _ *runpb.Job, err error) {
				if !IsUnavailable(err) || !IsAmbiguous(err) {
					t.Errorf("got %v", err)
				}
			},
		},
		"deleted": {
			deleted: true,
			polls:   []answer{{message: operationOf(t, pending, true, &runpb.Job{Name: testJob, Uid: "u", DeleteTime: timestamppb.Now()}, nil)}}, nPolls: 1,
		},
		"deleted without a response": {
			deleted: true, first: operationOf(t, &runpb.Job{Name: testJob, Uid: "u", Reconciling: true}, false, nil, nil),
			polls: []answer{{message: operationOf(t, nil, true, nil, nil)}}, nPolls: 1, nJobs: 2,
			job: []answer{{message: &runpb.Job{Name: testJob, DeleteTime: timestamppb.Now(), Reconciling: true}}, {err: status.Error(codes.NotFound, "gone")}},
		},
		"deleted without a response but still there": {
			deleted: true, polls: []answer{{message: operationOf(t, nil, true, nil, nil)}}, nPolls: 1, nJobs: 1, job: []answer{{message: ready}},
			check: func(t *testing.T, _ *runpb.Job, err error) {
				if !IsAmbiguous(err) {
					t.Errorf("got %v", err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeCloud(t)
			start := c.first
			if start == nil {
				start = first
			}
			f.on("CreateJob", answer{message: start})
			f.on("DeleteJob", answer{message: start})
			f.on("GetOperation", c.polls...)
			f.on("GetJob", c.job...)
			begin := func() (*JobOperation, error) {
				if c.deleted {
					return f.DeleteJob(t.Context(), testJob, "e")
				}
				return f.CreateJob(t.Context(), testParent, "train", &runpb.Job{})
			}
			op := must[*JobOperation](t)(begin())
			if op.Name() != testOperation || op.Job().GetName() != testJob {
				t.Errorf("operation %q of job %q", op.Name(), op.Job().GetName())
			}
			job, err := op.Wait(t.Context())
			if c.check != nil {
				c.check(t, job, err)
			} else if err != nil || job.GetUid() != "u" {
				t.Errorf("got %v, %v", job, err)
			}
			if n := f.count("GetOperation"); n != c.nPolls && c.nPolls >= 0 {
				t.Errorf("%d polls, want %d", n, c.nPolls)
			}
			if n := f.count("GetJob"); n != c.nJobs {
				t.Errorf("the job was read %d times, want %d", n, c.nJobs)
			}
		})
	}
}

// The first poll comes at once, the next ones at growing intervals.
func TestOperationPace(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	f.backoff.random = nil
	pending := operationOf(t, &runpb.Job{Name: testJob, Reconciling: true}, false, nil, nil)
	ready := &runpb.Job{Name: testJob}
	f.on("CreateJob", answer{message: pending})
	polls := slices.Repeat([]answer{{message: pending}}, 12)
	f.on("GetOperation", append(polls, answer{message: operationOf(t, ready, true, ready, nil)})...)
	op := must[*JobOperation](t)(f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}))
	if _, err := op.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	pauses := f.clock.pauses()
	if len(pauses) != 12 || pauses[0] > 250*time.Millisecond || slices.Max(pauses) > 10*time.Second || pauses[11] < 5*time.Second {
		t.Errorf("paused %v", pauses)
	}
}

// Whoever stops waiting does not stop the operation, and is told so.
func TestOperationInterrupted(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	f.on("CreateJob", answer{message: operationOf(t, &runpb.Job{Name: testJob}, false, nil, nil)})
	f.on("GetOperation", answer{block: true})
	op := must[*JobOperation](t)(f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}))
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := op.Wait(ctx)
		result <- err
	}()
	waitFor(t, func() bool { return f.count("GetOperation") == 1 })
	cancel()
	e := wantError(t, <-result)
	if !e.Ambiguous || e.Code != codes.Canceled || !strings.Contains(e.Error(), "the operation goes on") {
		t.Errorf("got %+v", e)
	}
}

func TestRunJobAnswer(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	execution := &runpb.Execution{Name: testJob + "/executions/train-abcde"}
	for name, c := range map[string]struct {
		answer *longrunningpb.Operation
		ok     bool
	}{
		"metadata":         {operationOf(t, execution, false, nil, nil), true},
		"response only":    {operationOf(t, nil, true, execution, nil), true},
		"failed with name": {operationOf(t, execution, true, nil, &rpcstatus.Status{Code: 10, Message: "failed"}), true},
		"failed":           {operationOf(t, nil, true, nil, &rpcstatus.Status{Code: 8, Message: "quota"}), false},
		"nothing":          {operationOf(t, nil, true, nil, nil), false},
		"no name":          {operationOf(t, nil, false, nil, nil), false},
	} {
		f.on("RunJob", answer{message: c.answer})
		got, err := f.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
		switch {
		case c.ok && (err != nil || got.GetName() != execution.GetName()):
			t.Errorf("%s: got %v, %v", name, got, err)
		case !c.ok && !IsAmbiguous(err):
			t.Errorf("%s: got %v, %v: an execution may exist", name, got, err)
		}
	}
}

func TestUpdateJobIsRepeatedOnlyWithAnEtag(t *testing.T) {
	t.Parallel()
	outage := answer{err: status.Error(codes.Unavailable, "Service Unavailable")}
	for name, c := range map[string]struct {
		job   *runpb.Job
		calls int
	}{
		"etag":           {&runpb.Job{Name: testJob, Etag: "e"}, 2},
		"no etag":        {&runpb.Job{Name: testJob}, 1},
		"starting a run": {&runpb.Job{Name: testJob, Etag: "e", CreateExecution: &runpb.Job_StartExecutionToken{StartExecutionToken: "t"}}, 1},
	} {
		f := newFakeCloud(t)
		f.on("UpdateJob", outage, answer{message: operationOf(t, c.job, false, nil, nil)})
		_, err := f.UpdateJob(t.Context(), c.job)
		if n := f.count("UpdateJob"); n != c.calls || (err != nil) != (n == 1) {
			t.Errorf("%s: %d calls, %v", name, n, err)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	page := func(token string, names ...string) answer {
		r := &runpb.ListExecutionsResponse{NextPageToken: token}
		for _, n := range names {
			r.Executions = append(r.Executions, &runpb.Execution{Name: n})
		}
		return answer{message: r}
	}
	f.on("ListExecutions", answer{err: status.Error(codes.Unavailable, "x")}, page("", "c", "b", "a"))
	var got []string
	for e, err := range f.Executions(t.Context(), testJob) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.GetName())
	}
	if strings.Join(got, " ") != "c b a" {
		t.Errorf("got %v", got)
	}
	f.on("ListExecutions", page("next", make([]string, pageSize)...), page("", "old"))
	before := f.count("ListExecutions")
	for _, err := range f.Executions(t.Context(), testJob) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if n := f.count("ListExecutions") - before; n != 1 {
		t.Errorf("%d pages were fetched for one element", n)
	}
	f.on("ListTasks", answer{err: status.Error(codes.PermissionDenied, "no")})
	n := 0
	for task, err := range f.Tasks(t.Context(), testJob+"/executions/e") {
		n++
		if task != nil || !IsPermissionDenied(err) {
			t.Errorf("got %v, %v", task, err)
		}
	}
	if n != 1 {
		t.Errorf("%d elements, want the error alone", n)
	}
}
