// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// Terraform's mechanics end the watching, never the run: the real command line,
// interrupted, killed and out of time.

// case 41: a run in first-class, waited for; applied twice it runs once.
func TestAccExecution_appliedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	tf := w.cli(`wait_for = "completed"`)
	tf.Apply().Succeeds()
	w.hasState(tf, "succeeded")
	w.isTainted(tf, false)

	since := acctest.Since(w.Emulator)
	tf.Plan().IsEmpty()
	tf.Apply().Succeeds()
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("the read of a finished execution makes calls: %v", calls)
	}
	tf.Destroy().Succeeds()
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("forgetting a finished execution makes calls: %v", calls)
	}
	w.only()
	w.requests(1, 0)
}

func TestAccExecution_interruptedWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli(`wait_for = "completed"`)
	apply := tf.Start("apply", "-auto-approve", "-no-color")
	task := w.attempt()
	apply.Interrupt()
	apply.Wait().Says("Stopped watching the execution", "Terraform was interrupted", "it was not cancelled")
	if state := tf.State().Attribute(address, "state"); state != "running" && state != "pending" {
		t.Errorf("state is %v", state)
	}
	w.isTainted(tf, false)

	tf.Plan().IsEmpty()
	task.Exit(0)
	w.ended(w.only())
	tf.Apply().Succeeds()
	w.hasState(tf, "succeeded")
	w.requests(1, 0)
}

// A provider that is killed leaves nothing in the state: the next create finds
// the run by its key.
func TestAccExecution_killedWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli(`wait_for = "completed"`)
	apply := tf.Processes().Start("apply", "-auto-approve", "-no-color")
	task := w.attempt()
	w.await(w.only().GetName(), isRunning)
	apply.KillProvider()
	apply.Wait().Fails()
	w.isGone(tf)

	// The task ends only when the new provider has adopted its execution.
	since := acctest.Since(w.Emulator)
	adopted := make(chan struct{})
	w.Faults().Add(faults.Fault{Method: acctest.GetExecution, Do: func(faults.Call) { close(adopted) }})
	apply = tf.Start("apply", "-auto-approve", "-no-color")
	w.receive(adopted, "the run is not adopted")
	task.Exit(0)
	apply.Wait().Succeeds()
	if n := since.Count(acctest.RunJob); n != 0 {
		t.Errorf("%d more runs", n)
	}
	w.hasState(tf, "succeeded")
	w.only()
	w.requests(1, 0)
}

// Killed when :run was accepted and its answer had not been read.
func TestAccExecution_killedRightAfterRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	searching := make(chan struct{})
	w.Faults().Add(faults.Fault{Method: acctest.RunJob, Lose: true})
	// The first list comes before the run, the second looks for it.
	hold := w.Faults().Add(faults.Fault{Method: acctest.ListExecutions, After: 1, Wait: func(ctx context.Context) {
		close(searching)
		<-ctx.Done()
	}})
	tf := w.cli(`wait_for = "started"`)
	apply := tf.Processes().Start("apply", "-auto-approve", "-no-color")
	w.receive(searching, "the provider does not look for the lost run")
	apply.KillProvider()
	apply.Wait().Fails()
	w.isGone(tf)
	hold.Remove()

	w.attempt()
	tf.Apply().Succeeds()
	w.hasState(tf, "running")
	if got, want := tf.State().Attribute(address, "name"), short(w.only()); got != want {
		t.Errorf("name is %v, want that of the first run, %s", got, want)
	}
	tf.Plan().IsEmpty()
	w.requests(1, 0)
}

func TestExecution_timeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.core("wait_for = \"completed\"\n timeouts = { create = \"1s\" }")
	tf.Apply().Succeeds().Says("Stopped watching the execution", "The time limit ran out (timeouts.create)", "goes on: it was not cancelled")
	task := w.attempt()
	w.isTainted(tf, false)
	task.Exit(0)
	w.ended(w.only())
	tf.Plan().IsEmpty()
	tf.Apply().Succeeds()
	w.hasState(tf, "succeeded")
	w.requests(1, 0)
}

func TestExecution_lostPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	denied := w.Faults().Add(faults.Fault{
		Method: acctest.GetExecution, Times: -1, Status: status.New(codes.PermissionDenied, "Permission 'run.executions.get' denied on resource (or it may not exist)."),
	})
	tf := w.core(`wait_for = "completed"`)
	tf.Apply().Succeeds().Says("Stopped watching the execution", "Permission 'run.executions.get' denied", "goes on: it was not cancelled")
	w.isTainted(tf, false)
	w.hasState(tf, "pending")
	denied.Remove()

	w.attempt().Exit(0)
	w.ended(w.only())
	tf.Apply().Succeeds()
	w.hasState(tf, "succeeded")
	w.requests(1, 0)
}

// A trigger that is known only after apply forces a replacement, which is said,
// and refused while the execution runs.
func TestAccExecution_triggerUnknownAtPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	config := func(input, more string) string {
		return "resource \"terraform_data\" \"build\" {\n  triggers_replace = \"" + input + "\"\n}\n" +
			w.config("triggers = { build = terraform_data.build.id }\n"+more)
	}
	tf := w.cli("")
	tf.Write(config("one", ""))
	tf.Apply().Succeeds()
	task := w.attempt()
	tf.Plan().IsEmpty()

	tf.Write(config("two", ""))
	plan := tf.Plan()
	if a := plan.Actions(address); a != "delete,create" {
		t.Errorf("the plan does %q", a)
	}
	plan.Says("Value that is not known at plan runs the job again", "triggers holds a value that is known only after apply", "Execution is still running")
	tf.Apply().Fails("Execution is still running", short(w.only()), "cancel_on_destroy = true", "gcloud run jobs executions cancel "+short(w.only()))
	w.requests(1, 0)

	task.Exit(0)
	w.ended(w.only())
	w.succeed()
	tf.Apply().Succeeds()
	w.requests(2, 0)
	tf.Plan().IsEmpty()
}

func TestExecution_destroyWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.core("")
	tf.Apply().Succeeds()
	task := w.attempt()
	tf.Destroy().Fails("Execution is still running", short(w.only()), "set cancel_on_destroy = true in this resource and apply that alone")
	w.requests(1, 0)
	w.hasState(tf, "running")

	// In the configuration alone it means nothing.
	tf.Write(w.config("cancel_on_destroy = true"))
	tf.Destroy().Fails("Execution is still running")
	w.requests(1, 0)

	since := acctest.Since(w.Emulator)
	tf.Apply().Succeeds()
	if writes := since.Writes(); len(writes) != 0 {
		t.Errorf("a setting of Terraform's own is written: %v", writes)
	}
	tf.Destroy().Succeeds().Says("Execution may be cancelled")
	w.isGone(tf)
	w.receive(task.Stopping(), "the task was not stopped")
	if e := w.only(); !run.Finished(e) || e.GetCancelledCount() != 1 {
		t.Errorf("destroy did not wait for the end: %v", e)
	}
	w.requests(1, 1)
}

func TestExecution_replace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.core("")
	tf.Apply().Succeeds()
	task := w.attempt()
	first := w.only()
	tf.Apply("-replace="+address).Fails("Execution is still running", short(first))
	w.requests(1, 0)

	task.Exit(0)
	w.ended(first)
	tf.Apply("-replace=" + address).Succeeds()
	w.attempt()
	w.requests(2, 0)

	// The second one runs: it is cancelled when the state says so.
	tf.Write(w.config("cancel_on_destroy = true"))
	tf.Apply().Succeeds()
	w.requests(2, 0)
	tf.Apply("-replace=" + address).Succeeds()
	w.attempt()
	w.requests(3, 1)
	if n := len(w.executions()); n != 3 {
		t.Errorf("%d executions, want 3", n)
	}
	w.hasState(tf, "running")
}

// A replacement that is created first has the same job, overrides and triggers,
// and with them the same run: it takes the execution over.
func TestAccExecution_replaceCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	tf := w.cli("cancel_on_destroy = true\n lifecycle { create_before_destroy = true }")
	tf.Apply().Succeeds()
	w.attempt()
	tf.Apply("-replace=" + address).Succeeds().Says("Execution goes on under its replacement")
	w.hasState(tf, "running")
	w.only()
	w.requests(1, 0)
	tf.Plan().IsEmpty()
}

// An interrupt while the replacement watches the run that it took over leaves two
// objects with one execution. The next apply drops the deposed one, whether it
// has read the objects before or not, and the run goes on; a destroy of what is
// left cancels it, once.
func TestAccExecution_interruptedReplaceCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"refreshed": nil, "not refreshed": {"-refresh=false"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			const more = "cancel_on_destroy = true\n lifecycle { create_before_destroy = true }\n wait_for = "
			tf := w.cli(more + `"started"`)
			tf.Apply().Succeeds()
			task := w.attempt()
			tf.Write(w.config(more + `"completed"`))
			replace := tf.Start("apply", "-auto-approve", "-no-color", "-replace="+address)
			replace.AwaitOutput("Creating...")
			watched := make(chan struct{})
			w.Faults().Add(faults.Fault{Method: acctest.GetExecution, Do: func(faults.Call) { close(watched) }})
			w.receive(watched, "the run is not watched")
			replace.Interrupt()
			replace.Wait().Says("Stopped watching the execution", "it was not cancelled")

			tf.Plan(flags...).Says("1 to destroy", "deposed", "Execution may be cancelled").SaysNot("This plan cancels it")
			tf.Apply(flags...).Succeeds().Says("Execution was not cancelled", "gcloud run jobs executions cancel "+short(w.only()))
			w.requests(1, 0)
			w.await(w.only().GetName(), isRunning)
			w.hasState(tf, "running")
			tf.Plan().IsEmpty()

			tf.Destroy(flags...).Succeeds()
			w.receive(task.Stopping(), "the task was not stopped")
			w.isGone(tf)
			w.requests(1, 1)
		})
	}
}

// A destroy that is killed while it waits for the end of what it cancelled goes
// on with the next one, and does not cancel twice.
func TestAccExecution_killedWhileCancelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.tasks.OnStop(nil) // the task takes its time
	tf := w.cli("cancel_on_destroy = true")
	tf.Apply().Succeeds()
	task := w.attempt()
	destroy := tf.Processes().Start("destroy", "-auto-approve", "-no-color")
	w.receive(task.Stopping(), "the task was not stopped")
	destroy.KillProvider()
	destroy.Wait().Fails()
	w.hasState(tf, "running")

	task.Exit(143)
	w.ended(w.only())
	tf.Destroy().Succeeds()
	w.isGone(tf)
	w.requests(1, 1)
}
