// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

// Several grants on one resource ask once for the rights that they need, and share the answer, however soon it comes: while the last of very many
// grants is looked at, it has been there for long.
func TestRightsOfSeveralGrantsAreOneAnswer(t *testing.T) {
	t.Parallel()
	client, err := gcp.New(t.Context(), gcp.Options{EmulatorHost: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the answer is an error, without any way to go
	w := &work{r: &Resource{data: &providerdata.Data{Client: client}}}
	const bucket = "projects/_/buckets/b"
	if _, err := client.Permissions(ctx, bucket, bucketRights); !errors.Is(err, context.Canceled) { // the client is ready from now on
		t.Fatal(err)
	}
	seen := w.look(ctx, nil, nil, slices.Repeat([]gcp.Grant{{Resource: bucket, Role: "roles/storage.objectUser"}}, 1<<20))
	if has := seen.rights[bucket]; has == nil || !errors.Is(has.err, context.Canceled) {
		t.Errorf("the answer is lost: %+v", has)
	}
}
