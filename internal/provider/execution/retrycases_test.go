// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// case 46: whoever applies again after a failed run does not add to the job's
// retries, but multiplies: each run has them all. The provider itself asks for
// one run with each apply, and for none once a run has succeeded.
func TestExecution_runsAndRetriesMultiply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	var attempts, code atomic.Int32
	code.Store(1)
	w.all(func(a *runner.ScriptedAttempt) {
		attempts.Add(1)
		a.Exit(int(code.Load()))
	})
	tf := w.core(`wait_for = "completed"`)
	for run := 1; run <= 2; run++ {
		tf.Apply().Fails("Task 0 failed after 4 attempts, exit code 1", "the next apply runs the job again")
		w.requests(run, 0)
		if got := int(attempts.Load()); got != 4*run {
			t.Errorf("%d attempts after %d runs of a job with 3 retries, want %d", got, run, 4*run)
		}
		// What the plan shows is the most of one run.
		if got := fmt.Sprint(tf.State().Attribute(address, "exposure")); got != "map[attempts:4 gpu_hours:0 task_hours:0.6666666666666666]" {
			t.Errorf("exposure is %s", got)
		}
	}
	code.Store(0)
	tf.Apply().Succeeds()
	tf.Apply().Succeeds()
	w.requests(3, 0)
	if got := attempts.Load(); got != 9 {
		t.Errorf("%d attempts, want 9", got)
	}
}

// case 44: what the run said and what the data source says of a failure: which
// task, its exit code, its attempts, and where its logs are.
func TestFailureIsExplainedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.all(func(a *runner.ScriptedAttempt) { a.Exit(1) })
	tf := w.core(`wait_for = "completed"`)
	applied := tf.Apply()
	e := w.only()
	applied.Fails(
		"Execution "+short(e)+" of job train failed: of 1 task 1 failed; 1 had been retried.",
		"Task 0 failed after 2 attempts, exit code 1: the program ended with exit code 1.",
		`Cloud Run says: "The container exited with an error."`, "Logs: "+e.GetLogUri(),
	)
	w.server(nil).shows("train", "", view{
		"name": short(e), "state": "failed", "reason": "NON_ZERO_EXIT_CODE", "failed_count": "1", "retried_count": "1", "log_uri": e.GetLogUri(),
		"tasks": "1", "tasks[0].index": "0", "tasks[0].cause": "program", "tasks[0].exit_code": "1", "tasks[0].signal": "null",
		"tasks[0].attempts_used": "2", "tasks[0].attempts_left": "0", "tasks[0].log_uri": "…" + short(e), "tasks[0].message": "The container exited with an error.",
	})
	w.requests(1, 0)
}
