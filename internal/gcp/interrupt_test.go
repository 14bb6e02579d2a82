// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp_test

import (
	"context"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// Ctrl-C while something is being made: its answer is waited for, so that what
// was made is known.
func TestInterruptedWritesAreAnswered(t *testing.T) {
	t.Parallel()
	for method, send := range map[string]func(context.Context, *world) error{
		createSA: func(ctx context.Context, w *world) error {
			_, err := w.CreateServiceAccount(ctx, project, "trainer", "", "")
			return err
		},
		insert: func(ctx context.Context, w *world) error {
			_, err := w.CreateBucket(ctx, project, &storage.Bucket{Name: "made-in-a-hurry", Location: "us-central1"})
			return err
		},
		"storage.buckets.patch": func(ctx context.Context, w *world) error {
			_, err := w.PatchBucket(ctx, "here", &storage.Bucket{Labels: map[string]string{"a": "b"}})
			return err
		},
		"google.cloud.run.v2.Jobs/CreateJob": func(ctx context.Context, w *world) error {
			_, err := w.CreateJob(ctx, parent, "another", trainingJob(""))
			return err
		},
		runJob: func(ctx context.Context, w *world) error {
			_, err := w.RunJob(ctx, &runpb.RunJobRequest{Name: jobName})
			return err
		},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.bucket(t, "here")
			op, err := w.CreateJob(t.Context(), parent, "train", trainingJob(""))
			if err == nil {
				_, err = op.Wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			h := w.emulator.Faults().Add(faults.Fault{Method: method, Do: func(faults.Call) { interrupt() }})
			if err := send(ctx, w); err != nil || h.Struck() != 1 {
				t.Errorf("struck %d times, and the answer is %v", h.Struck(), err)
			}
			// What has not begun does not begin.
			if _, err := w.GetJob(ctx, jobName); err == nil || gcp.IsAmbiguous(err) {
				t.Errorf("the next call gives %v", err)
			}
		})
	}
}
