// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	emulatorrun "github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// form sets every switch of the emulator to its n-th value: what the platform
// leaves open, answered otherwise. A switch with fewer values keeps its last.
func form(n int) emulatorrun.Behaviour {
	var b emulatorrun.Behaviour
	for _, field := range reflect.ValueOf(&b).Elem().Fields() {
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(n > 0)
		case reflect.Int:
			field.SetInt(int64(n))
		}
	}
	// These have two values; a third would be none of the platform's.
	b.GPUTimeoutStage = min(b.GPUTimeoutStage, emulatorrun.StageGA)
	b.LongTimeoutStage = min(b.LongTimeoutStage, emulatorrun.LongTimeoutBeta)
	b.JobNameLimit = min(b.JobNameLimit, emulatorrun.JobNameLimit49)
	b.ListOfMissingJob = min(b.ListOfMissingJob, emulatorrun.ListNotFound)
	b.RunningCompleted = min(b.RunningCompleted, emulatorrun.RunningPending)
	b.MessageForm = min(b.MessageForm, emulatorrun.Messages2024)
	b.CancelOperation = min(b.CancelOperation, emulatorrun.CancelUnspecified)
	b.SignalResult = min(b.SignalResult, emulatorrun.SignalExitCode)
	b.MemoryResult = min(b.MemoryResult, emulatorrun.MemoryAborted)
	b.ImagePullFailure = min(b.ImagePullFailure, emulatorrun.ImagePullTasks)
	return b
}

// The main job's whole life, whichever way the platform answers what nobody has
// seen: nothing here may work for one form only.
func TestAccEveryForm_wholeLife(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		t.Run(fmt.Sprintf("form %d", n), func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t, func(o *emulator.Options) {
				tasks := runner.NewScripted()
				tasks.OnLaunch(func(a *runner.ScriptedAttempt) {
					if len(tasks.Attempts()) == 1 {
						a.Exit(143) // an interruption in each life
						return
					}
					a.Exit(0)
				})
				o.Launcher = tasks
				o.Behaviour = form(n)
			})
			tf := acctest.CLI(t, e)
			config := func(timeout string) string {
				return acctest.ProviderConfig(e) + fmt.Sprintf(`
resource "resilientjob_checkpoint_bucket" "test" {
  name          = "every-form-of-life"
  force_destroy = true
}
resource "resilientjob_gpu_job" "test" {
  name         = "train"
  image        = "us-docker.pkg.dev/cloudrun/container/job:latest"
  task_timeout = %q
  cpu          = "8"
  memory       = "32768Mi"
  checkpoint   = { bucket = resilientjob_checkpoint_bucket.test.name, prefix = "runs" }
}
resource "resilientjob_execution" "test" {
  job      = resilientjob_gpu_job.test.id
  wait_for = "completed"
}
data "resilientjob_execution" "test" {
  job  = resilientjob_gpu_job.test.id
  name = resilientjob_execution.test.name
}
output "retried" { value = data.resilientjob_execution.test.retried_count }
`, timeout)
			}
			tf.Write(config("2h"))
			tf.Apply().Succeeds()
			tf.Plan().IsEmpty()
			if got := fmt.Sprint(tf.State().JSON.Values.Outputs["retried"].Value); got != "1" {
				t.Errorf("retried tasks = %s, want 1", got)
			}
			tf.Write(config("3h"))
			tf.Apply().Succeeds().Says("0 added, 1 changed, 0 destroyed")
			tf.Plan().IsEmpty()
			tf.Destroy().Succeeds()
			if left := e.Storage().Exists("every-form-of-life"); left {
				t.Error("the bucket is still there")
			}
			if job := e.Run().Job("projects/" + acctest.Project(e) + "/locations/" + acctest.Region(e) + "/jobs/train"); job != nil {
				t.Error("the job is still there")
			}
		})
	}
}
