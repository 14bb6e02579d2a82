// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// A bucket with objects is not destroyed: the error says how many there are and what to set, and all of them are still there (case 91).
func TestDestroyNotEmpty(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	other := otherClient(t, e)
	const name = "ckpt-full"
	tf.Write(bucketConfig(e, name, ""))
	tf.Apply().Succeeds()
	upload(t, e, name, "run/step-1", "x")
	calls := acctest.Since(e)
	tf.Destroy().Fails("Error: Bucket is not empty", "Google answered: The bucket you tried to delete is not empty.", "It holds 1 object (older versions count). Nothing was deleted.",
		"set force_destroy = true, apply that to the bucket alone")
	if n := calls.Count(acctest.DeleteObject); n != 0 {
		t.Errorf("%d objects were deleted", n)
	}
	for i := range 3 {
		upload(t, e, name, fmt.Sprintf("run/step-%d", i+2), "x")
	}
	tf.Destroy().Fails("It holds 4 objects")
	if n, more, err := other.CountObjects(t.Context(), name, 10); n != 4 || more || err != nil {
		t.Errorf("%d objects, %v", n, err)
	}

	// In the configuration alone it does not count: destroy reads the state.
	tf.Write(bucketConfig(e, name, "  force_destroy = true\n"))
	tf.Destroy().Fails("Bucket is not empty")
	tf.Apply().Succeeds()
	tf.Destroy().Succeeds()
	if _, err := other.GetBucket(t.Context(), name); !gcp.IsNotFound(err) {
		t.Errorf("the bucket is there: %v", err)
	}
}

// Objects with older versions (case 85), and folders that are nested and empty.
func TestForceDestroy(t *testing.T) {
	t.Parallel()
	for kind, attributes := range map[string]string{
		"versions": "  force_destroy = true\n  versioning = true\n  hierarchical_namespace = false\n",
		"folders":  "  force_destroy = true\n",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			tf := core.Open(t, e)
			name := "ckpt-" + kind
			tf.Write(bucketConfig(e, name, attributes))
			tf.Apply().Succeeds()
			for range 3 {
				upload(t, e, name, "run/step 1/model?#.pt", "x")
			}
			if kind == "folders" {
				makeFolder(t, e, name, "a/b/c/d/")
				makeFolder(t, e, name, "run/empty/")
			}
			calls := acctest.Since(e)
			tf.Destroy().Succeeds()
			if n, want := calls.Count(acctest.DeleteObject), map[string]int{"versions": 3, "folders": 1}[kind]; n != want {
				t.Errorf("%d objects were deleted, want %d", n, want)
			}
			if e.Storage().Exists(name) {
				t.Error("the bucket is there")
			}
		})
	}
}

// A missing permission for one step does not stop the others (case 89).
func TestForceDestroyWithoutManagedFolders(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	const name = "ckpt-steps"
	tf.Write(bucketConfig(e, name, "  force_destroy = true\n"))
	tf.Apply().Succeeds()
	upload(t, e, name, "run/model.pt", "x")
	e.Faults().Add(faults.Fault{Method: "storage.managedFolders.list", Times: -1, Status: status.New(codes.PermissionDenied, "no storage.managedFolders.list")})
	tf.Destroy().Succeeds()
	if e.Storage().Exists(name) {
		t.Error("the bucket is there")
	}
}

// An object that cannot be deleted ends the destroy with its reason, and the bucket stays in the state.
func TestForceDestroyFails(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	const name = "ckpt-held"
	tf.Write(bucketConfig(e, name, "  force_destroy = true\n"))
	tf.Apply().Succeeds()
	upload(t, e, name, "held", "x")
	upload(t, e, name, "free", "x")
	h := e.Faults().Add(faults.Fault{Method: acctest.DeleteObject, Times: -1, Match: func(c faults.Call) bool { return c.Resource == name+"/held" },
		Status: status.New(codes.PermissionDenied, "Object is under active Temporary hold.")})
	tf.Destroy().Fails("Error: Cannot delete the bucket", "Object is under active Temporary hold.", "Deleted before that: 1 object. Destroy again to go on")
	if tf.State().Resource(address) == nil {
		t.Fatal("it is no longer in the state")
	}
	h.Remove()
	tf.Destroy().Succeeds()
}
