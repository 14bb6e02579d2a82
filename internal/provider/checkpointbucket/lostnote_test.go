// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// A provider that is killed in an update leaves the state as it was and nothing
// beside it. What the bucket's members were given is taken from them all the
// same, when they are configured no longer.
func TestShareWhenTheNoteWasLost(t *testing.T) {
	t.Parallel()
	for name, refreshed := range map[string]bool{"at once": false, "after a refresh": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			s := newServer(t, e)
			config := func(readers, writers any) tftypes.Value {
				return s.config(attrs{"name": "ckpt-killed", "readers": readers, "writers": writers})
			}
			l := s.apply(s.none(), config([]string{ann}, []string{bob}))
			others{t, otherClient(t, e)}.add("ckpt-killed", viewer, eve)
			l.private = nil
			if refreshed {
				l = s.read(l)
			}
			s.unchanged(l, config([]string{ann}, []string{bob}))
			s.apply(l, config(nil, nil))
			wantPolicy(t, e, "ckpt-killed", viewer, eve)
			wantPolicy(t, e, "ckpt-killed", user)
		})
	}
}
