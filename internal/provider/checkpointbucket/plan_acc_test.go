// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// An existing bucket keeps its namespace; the other value is refused and never a replacement, but for one that is replaced anyway.
func TestAccNamespaceOfExistingBucket(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(bucketConfig(e, "ckpt-hns", ""))
	tf.Apply().Succeeds()
	tf.Write(bucketConfig(e, "ckpt-hns", "  hierarchical_namespace = false\n"))
	tf.Plan().Fails("Error: Hierarchical namespace of an existing bucket", "The bucket ckpt-hns has a hierarchical namespace", "Write hierarchical_namespace = true, or leave it out.")
	tf.Write(bucketConfig(e, "ckpt-hns", "  versioning = true\n"))
	tf.Plan().Fails("The bucket ckpt-hns has a hierarchical namespace, and Cloud Storage keeps no versions in such a bucket.")

	tf.Write(bucketConfig(e, "ckpt-flat", "  hierarchical_namespace = false\n"))
	if p := tf.Plan(); p.Actions(address) != "delete,create" {
		t.Fatalf("planned %q:\n%s", p.Actions(address), p.Output())
	}
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	tf.Write(bucketConfig(e, "ckpt-flat", ""))
	tf.Plan().IsEmpty()
	tf.Write(bucketConfig(e, "ckpt-flat", "  location = \"europe-west4\"\n"))
	p := tf.Plan()
	if p.Actions(address) != "delete,create" {
		t.Fatalf("planned %q:\n%s", p.Actions(address), p.Output())
	}
	p.Says("hierarchical_namespace", "must be replaced")
	tf.Apply().Succeeds()
	if got := tf.State().Attribute(address, "hierarchical_namespace"); got != true {
		t.Errorf("hierarchical_namespace = %v", got)
	}
	tf.Plan().IsEmpty()
}

// Values that are not known at plan are no error, and the rest of the plan is.
func TestAccUnknownValues(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(acctest.ProviderConfig(e) + `
resource "terraform_data" "late" {
  input = { name = "ckpt-late", location = "us-east4", label = "ml", hns = false, days = 5, retention = "168h", key = "` + keyIn("us-east4") + `", reader = "` + ann + `" }
}
resource "resilientjob_checkpoint_bucket" "test" {
  name                   = terraform_data.late.output.name
  location               = terraform_data.late.output.location
  hierarchical_namespace = terraform_data.late.output.hns
  versioning             = true
  soft_delete_retention  = terraform_data.late.output.retention
  expire_after_days      = terraform_data.late.output.days
  expire_prefixes        = ["${terraform_data.late.output.label}/"]
  labels                 = { team = terraform_data.late.output.label }
  kms_key_name           = terraform_data.late.output.key
  readers                = [terraform_data.late.output.reader]
}
`)
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	if got := tf.State().Attribute(address, "url"); got != "gs://ckpt-late" {
		t.Errorf("url = %v", got)
	}
}

// A provider that is configured by the same apply: project, region and labels are filled in then.
func TestAccUnknownProvider(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e, "GOOGLE_PROJECT=", "GOOGLE_REGION=")
	tf.Write(`
resource "terraform_data" "settings" {
  input = { project = "late-project", region = "europe-west4", label = "ml" }
}
provider "resilientjob" {
  project        = terraform_data.settings.output.project
  region         = terraform_data.settings.output.region
  default_labels = { team = terraform_data.settings.output.label }
}
resource "resilientjob_checkpoint_bucket" "test" {
  name   = "ckpt-late-provider"
  labels = { own = "yes" }
}
`)
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	s := tf.State()
	for attribute, want := range map[string]string{"project": "late-project", "location": "europe-west4", "terraform_labels": "map[own:yes team:ml]", "effective_labels": "map[own:yes team:ml]"} {
		if got := fmt.Sprint(s.Attribute(address, attribute)); got != want {
			t.Errorf("%s = %s, want %s", attribute, got, want)
		}
	}
	tf.Destroy().Succeeds()
}

// A state of the emulator is not carried over to Google Cloud, nor the other way round: nothing is forgotten, changed or deleted.
func TestAccOtherWorld(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(bucketConfig(e, "ckpt-world", ""))
	tf.Apply().Succeeds()
	elsewhere := acctest.CLI(t, nil, "GOOGLE_OAUTH_ACCESS_TOKEN=none", "GOOGLE_PROJECT=p", "GOOGLE_REGION=us-central1")
	elsewhere.Write(bucketConfig(e, "ckpt-world", ""))
	copyState(t, tf, elsewhere)
	elsewhere.Plan().Fails("Error: Emulator and Google Cloud mixed up", "The state's bucket ckpt-world was made on the emulator, and the provider is configured for Google Cloud. Nothing was changed.")
	elsewhere.Destroy("-refresh=false").Fails("Error: Emulator and Google Cloud mixed up")
	if elsewhere.State().Resource(address) == nil {
		t.Error("it was forgotten")
	}
}
