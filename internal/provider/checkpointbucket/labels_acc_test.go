// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

func labelConfig(defaults, labels string) string {
	return fmt.Sprintf(`
provider "resilientjob" {
  project        = "acctest-project"
  region         = "us-central1"
  default_labels = %s
}
resource "resilientjob_checkpoint_bucket" "test" {
  name   = "ckpt-labels"
  labels = %s
}
`, defaults, labels)
}

// Default labels and an empty value through the command line: the second plan is empty (cases 98, 100).
func TestAccLabels(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(labelConfig(`{ team = "ml", cost = "gpu" }`, `{ team = "vision", a = "" }`))
	tf.Apply().Succeeds()
	patchBucket(t, otherClient(t, e), "ckpt-labels", &storage.Bucket{Labels: map[string]string{"foreign": "yes"}})
	tf.Plan().IsEmpty()
	if got := fmt.Sprint(tf.State().Attribute(address, "terraform_labels")); got != "map[a: cost:gpu team:vision]" {
		t.Errorf("terraform_labels = %s", got)
	}
}
