// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

const (
	googleProvider = "registry.terraform.io/hashicorp/google"
	movedBlock     = "moved {\n  from = google_storage_bucket.test\n  to   = resilientjob_checkpoint_bucket.test\n}\n"
)

// A bucket of Google's provider moves with the command line that users have: nothing is written, and the plan is empty.
func TestAccMove(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	other := otherClient(t, e)
	days := int64(7)
	live, err := other.CreateBucket(t.Context(), acctest.EmulatorProject, &storage.Bucket{
		Name: "ckpt-move", Location: "US-CENTRAL1", StorageClass: "NEARLINE",
		Labels:           map[string]string{"team": "ml", "from-provider": "yes", "goog-terraform-provisioned": "true", "others": "label"},
		Versioning:       &storage.BucketVersioning{Enabled: true},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "enforced", UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
		SoftDeletePolicy: &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 604800},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{
			{Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: &days, MatchesPrefix: []string{"runs/"}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tf := acctest.CLI(t, e)
	tf.WriteState(acctest.Foreign{Provider: googleProvider, Type: "google_storage_bucket", SchemaVersion: 4, Attributes: []byte(`{
		"effective_labels": {"team": "ml", "from-provider": "yes", "goog-terraform-provisioned": "true", "others": "label"},
		"force_destroy": true, "hierarchical_namespace": [{"enabled": false}], "id": "ckpt-move", "labels": {"team": "ml"},
		"lifecycle_rule": [{"action": [{"storage_class": "", "type": "Delete"}], "condition": [{"age": 7, "matches_prefix": ["runs/"], "send_age_if_zero": false, "with_state": "ANY"}]}],
		"location": "US-CENTRAL1", "name": "ckpt-move", "project": "` + acctest.EmulatorProject + `", "public_access_prevention": "enforced", "rpo": null,
		"soft_delete_policy": [{"effective_time": "2026-01-01T00:00:00Z", "retention_duration_seconds": 604800}], "storage_class": "NEARLINE",
		"terraform_labels": {"team": "ml", "from-provider": "yes", "goog-terraform-provisioned": "true"}, "time_created": "` + live.TimeCreated + `",
		"timeouts": {"create": "5m", "read": null, "update": null}, "uniform_bucket_level_access": true, "versioning": [{"enabled": true}], "website": []
	}`)})
	config := `
provider "resilientjob" {
  project        = "acctest-project"
  region         = "us-central1"
  default_labels = { from-provider = "yes" }
}
resource "resilientjob_checkpoint_bucket" "test" {
  name                         = "ckpt-move"
  storage_class                = "NEARLINE"
  versioning                   = true
  soft_delete_retention        = "168h"
  expire_after_days            = 7
  expire_prefixes              = ["runs/"]
  abort_incomplete_upload_days = 0
  labels                       = { team = "ml" }
  force_destroy                = true
  timeouts                     = { create = "5m" }
}
`
	tf.Write(config + movedBlock)
	calls := acctest.Since(e)
	p := tf.Plan()
	p.Says("google_storage_bucket.test has moved to").Says("0 to add, 0 to change, 0 to destroy")
	tf.Apply().Succeeds().Says("0 added, 0 changed, 0 destroyed")
	tf.Write(config)
	tf.Plan().IsEmpty()
	if w := calls.Writes(); len(w) > 0 {
		t.Errorf("written: %v", w)
	}
	if got := tf.State().Addresses(); len(got) != 1 || got[0] != address {
		t.Errorf("the state has %v", got)
	}
}
