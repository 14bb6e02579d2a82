// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// case 79: no etag and no generation outlives the operation that read it. None is in a state, and whatever others write between two operations, of
// two commands or of one, the next write goes out with what was read just before: nothing is refused, and nothing of theirs is lost.
func TestNoEtagIsKept(t *testing.T) {
	t.Parallel()
	p, e := configured(t)
	for typeName, schema := range p.Schema.ResourceSchemas {
		for _, a := range schema.Block.Attributes {
			if strings.Contains(a.Name, "etag") || strings.Contains(a.Name, "generation") || strings.Contains(a.Name, "fingerprint") {
				t.Errorf("%s has %s", typeName, a.Name)
			}
		}
	}
	job := func(name, image string) string {
		return `
resource "resilientjob_gpu_job" "` + name + `" {
  name       = "` + name + `"
  image      = "` + image + `"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.b.name }
  secret_env = { TOKEN = { secret = "token" } }
}
`
	}
	config := func(reader, image string, jobs ...string) string {
		out := acctest.ProviderConfig(e) + `
resource "resilientjob_checkpoint_bucket" "b" {
  name          = "` + crowdBucket + `"
  force_destroy = true
  labels        = { image = "` + image + `" }
  readers       = ["user:` + reader + `@example.com"]
}
`
		for _, name := range jobs {
			out += job(name, image)
		}
		return out
	}
	others := newPolicies(t, e)
	n := 0
	meddle := func() {
		n++
		if others.toggle("user:stays@example.com", n%2 == 0) > 0 {
			t.Error("the other writer was refused")
		}
		callEmulator(t, e, "PATCH", "/storage/v1/b/"+crowdBucket, fmt.Sprintf(`{"labels":{"theirs":"%d"}}`, n))
		e.Run().SetJob("projects/"+acctest.EmulatorProject+"/locations/"+acctest.EmulatorRegion+"/jobs/first", func(j *runpb.Job) {
			j.Annotations = map[string]string{"theirs": fmt.Sprint(n)}
		})
	}
	// In the midst of an apply, too: after one job was granted its roles and before the next is.
	e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Match: core.Sent, Times: -1, Do: func(faults.Call) { meddle() }})
	tf := core.New(t, e, core.NewClock())
	for _, step := range []string{
		config("ann", "one", "first", "second"), config("bob", "two", "first", "second", "third"), config("ann", "three", "first", "third"), config("ann", "three"),
	} {
		calls := acctest.Since(e)
		if res := tf.Apply(step); res.Failed() {
			t.Fatal(res)
		}
		writes := 0
		for _, c := range calls.Find("") {
			if !core.Sent(c) {
				continue
			}
			if strings.Contains(c.Method, "etIamPolicy") || c.Method == acctest.PatchBucket || c.Method == acctest.UpdateJob {
				writes++
			}
			if code := c.Code.String(); code == "Aborted" || code == "FailedPrecondition" {
				t.Errorf("%s was sent with what had been read too early: %s", c.Method, code)
			}
		}
		if writes < 3 {
			t.Errorf("%d writes: nothing was tried", writes)
		}
		meddle()
	}
	if n < 7 {
		t.Errorf("the others wrote %d times", n)
	}
	if b := callEmulator(t, e, "GET", "/storage/v1/b/"+crowdBucket, ""); !strings.Contains(strings.ReplaceAll(b, " ", ""), fmt.Sprintf(`"theirs":"%d"`, n)) {
		t.Errorf("their label is lost: %s", b)
	}
}
