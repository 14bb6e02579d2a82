// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// Case 104: each resource has its identity after create, read and update, and is
// imported by it.
func TestAccIdentity(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t, func(o *emulator.Options) {
		tasks := runner.NewScripted()
		tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
		o.Launcher = tasks
	})
	made := acctest.CLI(t, e)
	made.Needs(acctest.Identities)
	resources := func(stage string) string {
		return acctest.ProviderConfig(e) + fmt.Sprintf(`
resource "resilientjob_checkpoint_bucket" "test" {
  name          = "identity-of-a-bucket"
  force_destroy = true
  labels        = { stage = %[1]q }
}
resource "resilientjob_gpu_job" "test" {
  name       = "train"
  image      = "us-docker.pkg.dev/cloudrun/container/job:latest"
  labels     = { stage = %[1]q }
  checkpoint = { bucket = resilientjob_checkpoint_bucket.test.name }
}
resource "resilientjob_execution" "test" {
  job      = resilientjob_gpu_job.test.id
  wait_for = "completed"
}
`, stage)
	}
	made.Write(resources("one"))
	made.Apply().Succeeds()
	made.Write(resources("two"))
	made.Apply().Succeeds() // case 104: the identity is still there after an update
	execution := fmt.Sprint(made.State().Attribute("resilientjob_execution.test", "name"))

	imported := acctest.CLI(t, e)
	imported.Write(resources("two") + fmt.Sprintf(`
import {
  to       = resilientjob_checkpoint_bucket.test
  identity = { name = "identity-of-a-bucket" }
}
import {
  to       = resilientjob_gpu_job.test
  identity = { name = "train" }
}
import {
  to       = resilientjob_execution.test
  identity = { project = %q, location = %q, job = "train", name = %q }
}
`, acctest.Project(e), acctest.Region(e), execution))
	imported.Apply().Succeeds().Says("3 imported, 0 added", "0 destroyed")
	imported.Plan().IsEmpty()
	for _, tf := range []*acctest.Terraform{made, imported} {
		raw := tf.Run("state", "pull").Succeeds().Stdout
		// OpenTofu writes its state without spaces.
		if n := strings.Count(strings.ReplaceAll(raw, `": {`, `":{`), `"identity":{`); n != 3 {
			t.Errorf("%d resources have an identity, want 3:\n%s", n, raw)
		}
	}
	imported.Destroy().Succeeds()
}
