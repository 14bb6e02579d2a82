// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// A plan after import is empty when the configuration states what is there, whatever form the id has (case 101). A bucket that exists
// keeps its kind of namespace.
func TestAccImport(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	other := otherClient(t, e)
	age, days := int64(30), int64(7)
	full := &storage.Bucket{
		Name: "ckpt-import", Location: "US-CENTRAL1", StorageClass: "NEARLINE",
		Labels:           map[string]string{"team": "ml", "goog-managed": "yes", "from-provider": "yes"},
		Versioning:       &storage.BucketVersioning{Enabled: true},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "enforced", UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
		SoftDeletePolicy: &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 604800},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{
			{Action: &storage.BucketLifecycleRuleAction{Type: "SetStorageClass", StorageClass: "COLDLINE"}, Condition: &storage.BucketLifecycleRuleCondition{Age: &age}},
			{Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: &days, MatchesPrefix: []string{"b/", "a/"}}},
		}},
	}
	if _, err := other.CreateBucket(t.Context(), acctest.EmulatorProject, full); err != nil {
		t.Fatal(err)
	}
	config := `
provider "resilientjob" {
  project        = "acctest-project"
  region         = "us-central1"
  default_labels = { from-provider = "yes" }
}
resource "resilientjob_checkpoint_bucket" "test" {
  name                         = "ckpt-import"
  storage_class                = "NEARLINE"
  versioning                   = true
  soft_delete_retention        = "168h"
  expire_after_days            = 7
  expire_prefixes              = ["a/", "b/"]
  abort_incomplete_upload_days = 0
  labels                       = { team = "ml" }
}
`
	for _, id := range []string{"ckpt-import", "acctest-project/ckpt-import", "gs://ckpt-import"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			tf := acctest.CLI(t, e)
			tf.Write(config)
			tf.Import(address, id).Succeeds()
			tf.Plan().IsEmpty()
			s := tf.State()
			for attribute, want := range map[string]any{"soft_delete_retention": "168h", "location": "us-central1", "hierarchical_namespace": false, "force_destroy": false} {
				if got := s.Attribute(address, attribute); got != want {
					t.Errorf("%s = %v, want %v", attribute, got, want)
				}
			}
		})
	}
	t.Run("block", func(t *testing.T) {
		t.Parallel()
		tf := acctest.CLI(t, e)
		tf.Write(config + "import {\n  to = resilientjob_checkpoint_bucket.test\n  id = \"ckpt-import\"\n}\n")
		calls := acctest.Since(e)
		tf.Apply().Succeeds().Says("1 imported, 0 added, 0 changed, 0 destroyed")
		for _, c := range calls.Find("") {
			if c.Resource == "ckpt-import" && c.Method != acctest.GetBucket {
				t.Errorf("%s was sent", c.Method)
			}
		}
	})
	t.Run("defaults", func(t *testing.T) {
		t.Parallel()
		if _, err := other.CreateBucket(t.Context(), acctest.EmulatorProject, &storage.Bucket{Name: "ckpt-plain", Location: "US"}); err != nil {
			t.Fatal(err)
		}
		tf := acctest.CLI(t, e)
		tf.Write(bucketConfig(e, "ckpt-plain", "  location = \"us\"\n"))
		tf.Import(address, "ckpt-plain").Succeeds()
		// The defaults of a plain bucket are not ours: they are changed in place, without a word about the namespace.
		p := tf.Plan()
		if p.Actions(address) != "update" {
			t.Fatalf("planned %q:\n%s", p.Actions(address), p.Output())
		}
		p.Says(`"168h" -> "0s"`, `"inherited" -> "enforced"`, "uniform_bucket_level_access").SaysNot("hierarchical_namespace")
		tf.Apply().Succeeds()
		tf.Plan().IsEmpty()
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		tf := acctest.CLI(t, e)
		tf.Write(config)
		tf.Import(address, "no-such-bucket").Fails("Error: Cannot import the bucket", "Only an existing bucket can be imported. Check the name.")
		tf.Import(address, "a/b/c").Fails("Error: Invalid import id", "write NAME, PROJECT/NAME or gs://NAME")
	})
}
