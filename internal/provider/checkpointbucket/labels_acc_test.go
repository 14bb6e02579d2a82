// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// Default labels, empty values, labels of others (cases 20, 98, 100).
func TestAccLabels(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	other := otherClient(t, e)
	check := func(labels, terraform, effective map[string]any) {
		t.Helper()
		tf.Plan().IsEmpty()
		s := tf.State()
		for name, want := range map[string]map[string]any{"labels": labels, "terraform_labels": terraform, "effective_labels": effective} {
			got, _ := s.Attribute(address, name).(map[string]any)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s:\n%s", name, d)
			}
		}
	}
	type m = map[string]any

	tf.Write(labelConfig(`{ team = "ml", cost = "gpu" }`, `{ team = "vision", a = "" }`))
	tf.Apply().Succeeds()
	check(m{"team": "vision", "a": ""}, m{"team": "vision", "a": "", "cost": "gpu"}, m{"team": "vision", "a": "", "cost": "gpu"})

	patchBucket(t, other, "ckpt-labels", &storage.Bucket{Labels: map[string]string{"foreign": "yes"}})
	tf.Run("apply", "-refresh-only", "-auto-approve", "-no-color").Succeeds()
	check(m{"team": "vision", "a": ""}, m{"team": "vision", "a": "", "cost": "gpu"}, m{"team": "vision", "a": "", "cost": "gpu", "foreign": "yes"})

	// A key moves from the resource to the defaults; another goes away.
	tf.Write(labelConfig(`{ team = "ml" }`, `{}`))
	calls := acctest.Since(e)
	tf.Apply().Succeeds()
	wantBody(t, calls, acctest.PatchBucket, `{"labels": {"team": "ml", "a": null, "cost": null}}`)
	check(m{}, m{"team": "ml"}, m{"team": "ml", "foreign": "yes"})

	// null, empty and not written are one thing on the bucket, and stay as written in the state.
	tf.Write(labelConfig(`{ team = "ml" }`, `null`))
	calls = acctest.Since(e)
	tf.Apply().Succeeds()
	wantWrites(t, calls)
	check(nil, m{"team": "ml"}, m{"team": "ml", "foreign": "yes"})

	// Taking over a foreign label with the value that it has sends nothing; a deleted one of ours comes back.
	tf.Write(labelConfig(`{ team = "ml" }`, `{ foreign = "yes" }`))
	calls = acctest.Since(e)
	tf.Apply().Succeeds()
	wantWrites(t, calls)
	patchBucket(t, other, "ckpt-labels", &storage.Bucket{ForceSendFields: []string{"Labels"}, NullFields: []string{"Labels.foreign", "Labels.team"}})
	if p := tf.Plan(); p.Actions(address) != "update" {
		t.Errorf("planned %q", p.Actions(address))
	}
	tf.Apply().Succeeds()
	check(m{"foreign": "yes"}, m{"team": "ml", "foreign": "yes"}, m{"team": "ml", "foreign": "yes"})
}
