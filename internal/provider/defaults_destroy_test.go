// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
)

const defaultsOnly = `
resource "resilientjob_checkpoint_bucket" "b" {
  name = "plain-defaults"
}
resource "resilientjob_gpu_job" "j" {
  name       = "train"
  image      = "us-docker.pkg.dev/p/apps/train:1"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.b.name }
}
resource "resilientjob_execution" "x" {
  job      = resilientjob_gpu_job.j.id
  wait_for = "completed"
}
`

// case 128: what is made with the defaults is destroyed without a switch to be set before, and leaves nothing. Nothing is protected by default but
// what cannot be made again: objects in a bucket keep that bucket alone, the error names the option, and the account and its role are not left.
func TestDestroyOfDefaults(t *testing.T) {
	t.Parallel()
	for name, objects := range map[string]bool{"an empty bucket": false, "a checkpoint in the bucket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, e := configured(t)
			for typeName, schema := range p.Schema.ResourceSchemas {
				for _, a := range schema.Block.Attributes {
					if strings.Contains(a.Name, "protection") {
						t.Errorf("%s has %s", typeName, a.Name)
					}
				}
			}
			tf := core.New(t, e, core.NewClock())
			config := acctest.ProviderConfig(e) + defaultsOnly
			if res := tf.Apply(config); res.Failed() {
				t.Fatal(res)
			}
			account := tf.State["resilientjob_gpu_job.j"].Current.Text("service_account_email")
			if _, ok := e.IAM().Lookup(account); !ok {
				t.Fatalf("there is no account %s", account)
			}
			if objects {
				callEmulator(t, e, "POST", "/upload/storage/v1/b/plain-defaults/o?uploadType=media&name=step-1", "x")
			}
			calls := acctest.Since(e)
			res := tf.Destroy(config)
			var writes []string
			for _, c := range calls.Find("") {
				if core.Sent(c) && slices.Contains([]string{acctest.UpdateJob, acctest.PatchBucket, acctest.CancelExecution, acctest.DeleteObject, acctest.DeleteJob, acctest.DeleteServiceAccount, acctest.SetBucketPolicy, acctest.DeleteBucket}, c.Method) {
					writes = append(writes, c.Method)
				}
			}
			if want := []string{acctest.DeleteJob, acctest.SetBucketPolicy, acctest.DeleteServiceAccount, acctest.DeleteBucket}; !slices.Equal(writes, want) {
				t.Errorf("writes %v, want %v", writes, want)
			}
			if _, ok := e.IAM().Lookup(account); ok {
				t.Error("the account is left")
			}
			if e.Run().Job("projects/"+acctest.EmulatorProject+"/locations/"+acctest.EmulatorRegion+"/jobs/train") != nil {
				t.Error("the job is left")
			}
			if !objects {
				if res.Failed() || e.Storage().Exists("plain-defaults") || len(tf.State) > 0 {
					t.Errorf("%s\nleft in the state: %v", res, tf.State)
				}
				return
			}
			if len(res.Errors) != 1 || res.Errors[0].Attribute != "force_destroy" || !strings.Contains(res.Errors[0].Detail, "set force_destroy = true") {
				t.Errorf("%s", res)
			}
			if policy := callEmulator(t, e, "GET", "/storage/v1/b/plain-defaults/iam?optionsRequestedPolicyVersion=3", ""); strings.Contains(policy, account) {
				t.Errorf("the role is left: %s", policy)
			}
			if len(tf.State) != 1 || tf.State["resilientjob_checkpoint_bucket.b"] == nil {
				t.Errorf("left in the state: %v", tf.State)
			}
		})
	}
}
