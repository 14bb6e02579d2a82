// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"errors"
	"fmt"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// How an execution ends, and what Terraform makes of it.

// A run that ended without success is tainted on purpose: the next apply runs
// again.
func TestExecution_failedRunsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.all(func(a *runner.ScriptedAttempt) { a.Exit(3) })
	tf := w.core(`wait_for = "completed"`)
	res := tf.Apply().Fails(
		"Execution ended without success", "of 1 task 1 failed; 1 had been retried",
		"Task 0 failed after 2 attempts, exit code 3: the program ended with exit code 3.",
		"Cloud Run says: \"The container exited with an error.\"", "NON_ZERO_EXIT_CODE",
		"the next apply runs the job again", "terraform untaint",
	)
	first := w.only()
	res.Says("Execution "+short(first)+" of job train failed", first.GetLogUri())
	w.isTainted(tf, true)
	w.hasState(tf, "failed")
	failed, ok := tf.State().Attribute(address, "failed_tasks").([]any)
	if !ok || len(failed) != 1 {
		t.Fatalf("failed tasks: %v", failed)
	}
	w.requests(1, 0)

	w.succeed()
	tf.Apply().Succeeds()
	w.hasState(tf, "succeeded")
	w.isTainted(tf, false)
	if n := len(w.executions()); n != 2 {
		t.Errorf("%d executions, want 2", n)
	}
	tf.Plan().IsEmpty()
	w.requests(2, 0)
}

func TestAccExecution_untaintAcceptsAFailedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.all(func(a *runner.ScriptedAttempt) { a.Exit(1) })
	tf := w.cli(`wait_for = "completed"`)
	tf.Apply().Fails("Execution ended without success")
	tf.Run("untaint", address).Succeeds()
	tf.Plan().IsEmpty()
	tf.Apply().Succeeds()
	w.hasState(tf, "failed")
	w.requests(1, 0)
}

// One that fails after create has returned is no failure of an apply: the state
// says so, and nothing runs again.
func TestExecution_failsLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.core("")
	tf.Apply().Succeeds()
	w.hasState(tf, "running")
	w.attempt().Exit(1)
	w.ended(w.only())
	tf.Plan().IsEmpty()
	tf.Apply().Succeeds()
	w.hasState(tf, "failed")
	w.requests(1, 0)
}

func TestAccExecution_cancelledByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli(`wait_for = "completed"`)
	apply := tf.Start("apply", "-auto-approve", "-no-color")
	w.attempt()
	if _, err := w.Run().CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: w.only().GetName()}); err != nil {
		t.Fatal(err)
	}
	apply.Wait().Fails("was cancelled: of 1 task 1 cancelled", "Cancelled by user. (CANCELLED)")
	w.isTainted(tf, true)
	w.hasState(tf, "cancelled")
	w.requests(1, 0)
}

// wait_for = "created" returns with the answer to the run, whatever comes.
func TestExecution_waitForCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.Run().SetTiming(run.Timing{Start: -1}) // it never starts
	tf := w.core(`wait_for = "created"`)
	tf.Apply().Succeeds().SaysNot("Stopped watching")
	w.hasState(tf, "pending")
	if n := w.Faults().Count(acctest.GetExecution); n != 0 {
		t.Errorf("%d reads of an execution that nobody waits for", n)
	}
	tf.Plan().IsEmpty()
	w.requests(1, 0)
}

// case 110: a mount or an image that fails before the start is told apart from a
// failure of the program, in every form in which the platform may report it.
func TestExecution_doesNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behaviour run.Behaviour
		image     bool
		says      string
	}{
		"mount":                       {run.Behaviour{}, false, "a volume could not be mounted"},
		"mount, as internal error":    {run.Behaviour{StartFailure: run.StartFailureInternal}, false, "the container did not start"},
		"mount, as precondition":      {run.Behaviour{StartFailure: run.StartFailurePrecondition}, false, "a volume could not be mounted"},
		"mount, in the words of 2024": {run.Behaviour{MessageForm: run.Messages2024}, false, "a volume could not be mounted"},
		"image":                       {run.Behaviour{}, true, "the image could not be used"},
		"image, by the tasks":         {run.Behaviour{ImagePullFailure: run.ImagePullTasks}, true, "the image could not be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0, func(o *emulator.Options) { o.Behaviour = c.behaviour })
			if c.image {
				w.Run().SetImageMissing("us-docker.pkg.dev/p/apps/train:v1", true)
			} else {
				w.tasks.Refuse(func(runner.Task) error { return errors.New(`mounting volume "ckpt" at /checkpoints failed`) })
			}
			tf := w.core(`wait_for = "completed"`)
			tf.Apply().Fails("Execution ended without success", "The program never ran", c.says).SaysNot("the program ended with")
			w.isTainted(tf, true)
			w.hasState(tf, "failed")
			w.requests(1, 0)
		})
	}
}

// An execution that is interrupted by the platform goes on after a retry, and
// success is success.
func TestAccExecution_preempted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	tf := w.cli(`wait_for = "completed"`)
	apply := tf.Start("apply", "-auto-approve", "-no-color")
	w.attempt()
	e := w.only()
	w.await(e.GetName(), isRunning)
	if err := w.Run().Preempt(e.GetName(), 0); err != nil {
		t.Fatal(err)
	}
	w.attempt().Exit(0)
	apply.Wait().Succeeds()
	w.hasState(tf, "succeeded")
	if n := tf.State().Attribute(address, "retried_count"); fmt.Sprint(n) != "1" {
		t.Errorf("retried_count is %v", n)
	}
	w.requests(1, 0)
}

// The platform forgets old executions, and a job can be deleted: neither causes
// a run, nor a change of what is known.
func TestExecution_forgotten(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*world){
		"execution": func(w *world) { w.Run().ForgetExecution(w.only().GetName()) },
		"job": func(w *world) {
			if _, err := w.Run().DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull}); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			tf := w.core("")
			tf.Apply().Succeeds()
			w.attempt()
			forget(w)
			plan := tf.Plan().IsEmpty()
			plan.Says("Execution is forgotten", `Its last known state, "running", is kept`)
			tf.Apply().Succeeds()
			w.hasState(tf, "running")
			tf.Destroy().Succeeds()
			w.isGone(tf)
			w.requests(1, 0)
		})
	}
}

// While it is watched, too.
func TestAccExecution_forgottenWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli(`wait_for = "completed"`)
	apply := tf.Start("apply", "-auto-approve", "-no-color")
	w.attempt()
	e := w.await(w.only().GetName(), isRunning)
	since := acctest.Since(w.Emulator)
	w.awaitCall(since, acctest.GetExecution)
	w.Run().ForgetExecution(e.GetName())
	apply.Wait().Succeeds().Says("Execution is forgotten", "Nothing is run again")
	w.isTainted(tf, false)
	w.requests(1, 0)
}

// What a run sends: overrides and the key, and nothing that changes the job.
func TestExecution_overrides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	before := w.Run().Job(jobFull)
	tf := w.core(`
  wait_for     = "completed"
  args         = ["--epochs", "9"]
  env          = { LR = "0.1", EMPTY = "" }
  task_count   = 3
  task_timeout = "90m"
  triggers     = { data = "v1" }`)
	tf.Apply().Succeeds()
	e := w.only()
	c := e.GetTemplate().GetContainers()[0]
	env := map[string]string{}
	for _, v := range c.GetEnv() {
		env[v.GetName()] = v.GetValue()
	}
	key := env["RESILIENTJOB_RUN_KEY"]
	if len(c.GetArgs()) != 2 || c.GetArgs()[1] != "9" || env["LR"] != "0.1" || len(env) != 3 || len(key) != 32 ||
		e.GetTaskCount() != 3 || e.GetTemplate().GetTimeout().GetSeconds() != 5400 {
		t.Errorf("the execution is %v", e)
	}
	after := w.Run().Job(jobFull)
	if after.GetGeneration() != before.GetGeneration() || len(after.GetTemplate().GetTemplate().GetContainers()[0].GetEnv()) != 0 {
		t.Errorf("the job has changed: %v", after)
	}
	state := tf.State()
	for attribute, want := range map[string]string{
		"effective_task_count": "3", "succeeded_count": "3", "exposure": "map[attempts:3 gpu_hours:0 task_hours:4.5]",
	} {
		if got := fmt.Sprint(state.Attribute(address, attribute)); got != want {
			t.Errorf("%s is %s, want %s", attribute, got, want)
		}
	}

	tf.Write(w.config(`
  wait_for     = "completed"
  args         = ["--epochs", "9"]
  env          = { EMPTY = "", LR = "0.1" }
  task_count   = 3
  task_timeout = "1h30m"
  triggers     = { data = "v1" }`))
	tf.Plan().IsEmpty()
	w.requests(1, 0)
}

// No overrides and empty ones are one configuration.
func TestExecution_emptyOverrides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	tf := w.core(`wait_for = "completed"`)
	tf.Apply().Succeeds()
	tf.Write(w.config("wait_for = \"completed\"\n env = {}\n triggers = {}"))
	if a := tf.Plan().Actions(address); a != "update" {
		t.Errorf("the plan does %q", a)
	}
	since := acctest.Since(w.Emulator)
	tf.Apply().Succeeds()
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("recording makes calls: %v", calls)
	}
	tf.Plan().IsEmpty()
	w.requests(1, 0)
}

func TestExecution_missingJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.core("")
	tf.Write(acctest.ProviderConfig(w.Emulator) + "resource \"resilientjob_execution\" \"test\" {\n job = \"missing\"\n}\n")
	tf.Apply().Fails("Cannot read the job", "Write the name of a job that exists")
	w.isGone(tf)
	w.requests(0, 0)
}
