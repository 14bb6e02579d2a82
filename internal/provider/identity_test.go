// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-version"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// needsIdentity skips below Terraform 1.12, the first that knows identities.
func needsIdentity(t *testing.T, tf *acctest.Terraform) {
	t.Helper()
	var shown struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal([]byte(tf.Run("version", "-json").Succeeds().Stdout), &shown); err != nil {
		t.Fatal(err)
	}
	have, err := version.NewVersion(shown.Version)
	if err != nil {
		t.Fatal(err)
	}
	if have.Core().LessThan(version.Must(version.NewVersion("1.12.0"))) {
		t.Skipf("NOT TESTED: Terraform %s has no identities; set TF_ACC_TERRAFORM_PATH to 1.12 or newer", have)
	}
}

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
	needsIdentity(t, made)
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
		if n := strings.Count(raw, `"identity": {`); n != 3 {
			t.Errorf("%d resources have an identity, want 3:\n%s", n, raw)
		}
	}
	imported.Destroy().Succeeds()
}
