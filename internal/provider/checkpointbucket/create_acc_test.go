// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// A name that is taken: by our project, with the way to import it (case 106); by somebody else (case 107). Nothing is adopted or changed.
func TestNameTakenByOneOrAnother(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	other := otherClient(t, e)
	if _, err := other.CreateBucket(t.Context(), acctest.EmulatorProject, &storage.Bucket{Name: "ckpt-own", Location: "us-central1"}); err != nil {
		t.Fatal(err)
	}
	before := getBucket(t, other, "ckpt-own").Metageneration
	tf.Write(bucketConfig(e, "ckpt-own", ""))
	tf.Apply().Fails("Error: Bucket exists already",
		"Google answered: Your previous request to create the named bucket succeeded and you already own it.",
		"The bucket belongs to the project acctest-project. If another block of this configuration has made it, give one of them another name. To manage it here, import it: terraform import resilientjob_checkpoint_bucket.NAME acctest-project/ckpt-own")
	if after := getBucket(t, other, "ckpt-own").Metageneration; after != before {
		t.Errorf("the bucket was changed: metageneration %d, then %d", before, after)
	}
	if s := tf.State().Resource(address); s != nil {
		t.Errorf("it is in the state: %v", s.AttributeValues)
	}

	e.Storage().AddForeign("ckpt-foreign")
	tf.Write(bucketConfig(e, "ckpt-foreign", ""))
	tf.Apply().Fails("Error: Bucket name is taken", "A bucket named ckpt-foreign belongs to somebody else. Names of buckets are unique in the world: choose another one").
		SaysNot("terraform import")
}

// The answer to a create is lost: what was made is found and kept, and nothing is made twice (case 38).
func TestCreateLostAnswer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{
		"done and lost":   {Method: acctest.InsertBucket, Lose: true},
		"cut before":      {Method: acctest.InsertBucket, Cut: true},
		"503":             {Method: acctest.InsertBucket, Status: status.New(codes.Unavailable, "Service Unavailable")},
		"503 three times": {Method: acctest.InsertBucket, Status: status.New(codes.Unavailable, "Service Unavailable"), Times: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			tf := core.Open(t, e)
			e.Faults().Add(fault)
			tf.Write(bucketConfig(e, "ckpt-lost", "  labels = { team = \"ml\" }\n"))
			tf.Apply().Succeeds()
			tf.Plan().IsEmpty()
		})
	}
}

// The answer is lost, and somebody of the same project has made another bucket of that name meanwhile: that one is not ours.
func TestCreateLostToSomebodyElse(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	other := otherClient(t, e)
	made := false
	e.Faults().Add(faults.Fault{Method: acctest.InsertBucket, Match: func(c faults.Call) bool { return strings.Contains(c.UserAgent, "Terraform") },
		Cut: true, Do: func(faults.Call) {
			if _, err := other.CreateBucket(t.Context(), acctest.EmulatorProject, &storage.Bucket{Name: "ckpt-race", Location: "us-central1"}); err != nil {
				t.Error(err)
			}
			made = true
		}})
	tf.Write(bucketConfig(e, "ckpt-race", ""))
	tf.Apply().Fails("Error: Bucket exists already", "import it: terraform import")
	if !made {
		t.Error("the other bucket was not made")
	}
	if s := tf.State().Resource(address); s != nil {
		t.Errorf("it is in the state: %v", s.AttributeValues)
	}
}

// What was made is in the state although it cannot be read back, and it is not tainted.
func TestCreateUnreadable(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	e.Faults().Add(faults.Fault{Method: acctest.GetBucket, After: 1, Status: status.New(codes.PermissionDenied, "no storage.buckets.get")})
	tf.Write(bucketConfig(e, "ckpt-blind", ""))
	tf.Apply().Succeeds().Says("Warning: Bucket not read back")
	tf.Plan().IsEmpty()
}

// A read that fails never drops the bucket.
func TestReadDenied(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	tf.Write(bucketConfig(e, "ckpt-denied", ""))
	tf.Apply().Succeeds()
	e.Storage().Deny("ckpt-denied", "storage.buckets.get")
	tf.Plan().Fails("Error: Cannot read the bucket", "storage.buckets.get")
	if tf.State().Resource(address) == nil {
		t.Error("it is no longer in the state")
	}
}

// A refused create leaves nothing behind, and the next apply converges.
func TestCreateRefused(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	e.Faults().Add(faults.Fault{Method: acctest.InsertBucket, Status: status.New(codes.PermissionDenied, "acct does not have storage.buckets.create access to the Google Cloud project.")})
	tf.Write(bucketConfig(e, "ckpt-refused", ""))
	tf.Apply().Fails("Error: Cannot create the bucket", "does not have storage.buckets.create access")
	calls := acctest.Since(e)
	tf.Apply().Succeeds()
	if n := calls.Count(acctest.InsertBucket); n != 1 {
		t.Errorf("%d creates", n)
	}
}

// A provider that is killed after the bucket was made leaves nothing in the state; the next apply says how to get on.
func TestAccCreateKilled(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	reached := make(chan struct{})
	release := make(chan struct{})
	e.Faults().Add(faults.Fault{Method: acctest.GetBucket, After: 1, Do: func(faults.Call) { close(reached); <-release }})
	tf.Write(bucketConfig(e, "ckpt-killed", ""))
	run := tf.Processes().Start("apply", "-no-color", "-auto-approve", "-input=false")
	<-reached
	run.KillProvider()
	close(release)
	if r := run.Wait(); r.Code == 0 {
		t.Errorf("the apply succeeded:\n%s", r.Output())
	}
	tf.Apply().Fails("terraform import resilientjob_checkpoint_bucket.NAME acctest-project/ckpt-killed")
	tf.Import(address, "acctest-project/ckpt-killed").Succeeds()
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
}
