// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// Exactly once: beside other runs, and whatever becomes of the answer to :run.

func TestExecution_besideAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	other := w.runByHand()
	w.attempt()
	tf := w.core("")
	tf.Apply().Fails("Job is already running", "Job train has 1 unfinished execution: "+short(other), "set allow_concurrent = true",
		"gcloud run jobs executions cancel "+short(other)+" --region=us-central1 --project="+acctest.EmulatorProject)
	w.isGone(tf)
	w.requests(0, 0)

	tf.Write(w.config("allow_concurrent = true"))
	tf.Apply().Succeeds()
	w.hasState(tf, "running")
	if tf.State().Attribute(address, "name") == short(other) {
		t.Error("somebody else's execution was adopted")
	}
	w.requests(1, 0)
}

func TestAccExecution_twoResourcesForOneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli("allow_concurrent = true\n count = 2")
	tf.Apply().Fails("Two resources for one run", "triggers = { index = count.index }")
	w.only()
	w.requests(1, 0)

	tf.Write(w.config("allow_concurrent = true\n count = 2\n triggers = { index = count.index }"))
	w.attempt().Exit(0)
	w.ended(w.only())
	tf.Apply().Succeeds()
	w.requests(3, 0)
}

// Without allow_concurrent two resources for one job do not run at the same
// time, also within one apply.
func TestAccExecution_twoRunsInOneApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli("count = 2\n triggers = { index = count.index }")
	tf.Apply().Fails("Job is already running", "Job train has 1 unfinished execution")
	w.only()
	w.requests(1, 0)
}

// case 37: the answer to :run is 503 although the execution was created, or the
// connection is cut. There must not be two.
func TestExecution_lostAnswer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*world) faults.Fault{
		"503, and it was created": func(w *world) faults.Fault {
			return faults.Fault{Do: func(c faults.Call) {
				req, ok := c.Request.(*runpb.RunJobRequest)
				if !ok {
					panic("not a run")
				}
				if _, err := w.Run().RunJob(w.ctx, req); err != nil {
					panic(err)
				}
			}, Status: status.New(codes.Unavailable, "Service Unavailable")}
		},
		"connection cut after it was created": func(*world) faults.Fault { return faults.Fault{Lose: true} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			w.succeed()
			f := fault(w)
			f.Method = acctest.RunJob
			w.Faults().Add(f)
			tf := w.core(`wait_for = "completed"`)
			tf.Apply().Succeeds()
			w.hasState(tf, "succeeded")
			if got, want := tf.State().Attribute(address, "name"), short(w.only()); got != want {
				t.Errorf("name is %v, want %s", got, want)
			}
			tf.Plan().IsEmpty()
			w.requests(1, 0)
		})
	}
}

// An answer that proves that nothing was accepted is followed by :run again.
func TestExecution_rateLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	limited, err := status.New(codes.ResourceExhausted, "Too Many Requests").WithDetails(&errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED"})
	if err != nil {
		t.Fatal(err)
	}
	w.Faults().Add(faults.Fault{Method: acctest.RunJob, Times: 2, Status: limited})
	tf := w.core(`wait_for = "completed"`)
	tf.Apply().Succeeds()
	w.only()
	w.requests(3, 0)
}

// A refusal leaves nothing: no state, no taint, no execution.
func TestExecution_refused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	const denied = "Permission 'run.jobs.runWithOverrides' denied on resource 'train' (or resource may not exist)."
	w.Faults().Add(faults.Fault{Method: acctest.RunJob, Status: status.New(codes.PermissionDenied, denied)})
	tf := w.core("")
	tf.Apply().Fails("Cannot run the job", denied)
	w.isGone(tf)
	w.requests(1, 0)

	w.Faults().Add(faults.Fault{Method: acctest.ListExecutions, Status: status.New(codes.PermissionDenied, "Permission 'run.executions.list' denied.")})
	tf.Apply().Fails("Cannot run the job", "run.executions.list")
	w.requests(1, 0)
	if n := len(w.executions()); n != 0 {
		t.Errorf("%d executions", n)
	}
}

// Overrides of many executions: the list is read to its end, because an old one
// may still run.
func TestExecution_oldRunBehindManyPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	old := w.runByHand()
	w.attempt()
	for range 230 {
		e := w.Run().Execution(old.GetName())
		e.Name = strings.TrimSuffix(e.GetName(), short(e)) + "train-" + strings.ToLower(acctest.Name("x")[8:])
		e.RunningCount, e.SucceededCount = 0, 1
		e.Conditions = []*runpb.Condition{{Type: "Completed", State: runpb.Condition_CONDITION_SUCCEEDED}}
		e.CreateTime.Seconds++
		if err := w.Run().AddExecution(e); err != nil {
			t.Fatal(err)
		}
	}
	tf := w.core("")
	tf.Apply().Fails("Job is already running", short(old))
	if n := w.Faults().Count(acctest.ListExecutions); n != 3 {
		t.Errorf("%d pages for 231 executions, want 3", n)
	}
	w.requests(0, 0)
}
