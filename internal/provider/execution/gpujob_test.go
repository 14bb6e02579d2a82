// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"fmt"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// A job and its run in one configuration, on either target: one run, an empty
// plan after it, and no other run when the job changes in place.
func TestAccExecution_ofAGPUJob(t *testing.T) {
	t.Parallel()
	e := acctest.Target(t, func(o *emulator.Options) {
		tasks := runner.NewScripted()
		tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
		o.Launcher = tasks
	})
	tf := acctest.CLI(t, e)
	name := acctest.Name("exec")
	config := func(label string) string {
		return acctest.ProviderConfig(e) + fmt.Sprintf(`
resource "resilientjob_gpu_job" "test" {
  name         = %q
  image        = "us-docker.pkg.dev/cloudrun/container/job:latest"
  gpu_type     = "none"
  task_timeout = "10m"
  max_retries  = 0
  labels       = { step = %q }
}
resource "resilientjob_execution" "test" {
  job      = resilientjob_gpu_job.test.id
  wait_for = "completed"
}
data "resilientjob_execution" "newest" {
  job        = resilientjob_gpu_job.test.id
  depends_on = [resilientjob_execution.test]
}
output "newest" {
  value = data.resilientjob_execution.newest.name
}
`, name, label)
	}
	tf.Write(config("one"))
	t.Cleanup(func() { tf.Destroy() })
	tf.Apply().Succeeds()
	state := tf.State()
	if got := state.Attribute(address, "state"); got != "succeeded" {
		t.Errorf("state is %v", got)
	}
	if got := fmt.Sprint(state.Attribute(address, "exposure")); got != "map[attempts:1 gpu_hours:0 task_hours:0.16666666666666666]" {
		t.Errorf("exposure is %s", got)
	}
	tf.Plan().IsEmpty()

	tf.Write(config("two"))
	plan := tf.Plan()
	if job, run := plan.Actions("resilientjob_gpu_job.test"), plan.Actions(address); job != "update" || run != "no-op" {
		t.Errorf("the plan does %q with the job and %q with its run", job, run)
	}
	tf.Apply().Succeeds()
	if got, want := tf.State().JSON.Values.Outputs["newest"].Value, state.Attribute(address, "name"); got != want {
		t.Errorf("the newest execution is %v, want still %v", got, want)
	}
	tf.Destroy().Succeeds()
}
