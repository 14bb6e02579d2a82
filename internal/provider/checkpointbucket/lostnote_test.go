// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"slices"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// A provider that is killed in an update leaves no note of what it gave. The next apply finds the member, takes it for given, and the one
// that leaves it out revokes it. Without a kill a member that was there before is somebody else's, and stays.
func TestLostNoteOfMembers(t *testing.T) {
	t.Parallel()
	const name = "ckpt-lost-note"
	config := func(writers string) string {
		return "resource \"resilientjob_checkpoint_bucket\" \"b\" {\n  name    = \"" + name + "\"\n  writers = [" + writers + "]\n}\n"
	}
	for kind, c := range map[string]struct {
		killed, stays bool
	}{
		"killed":          {killed: true},
		"somebody else's": {stays: true},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			terraform := core.New(t, e, core.NewClock())
			apply := func(writers string) {
				t.Helper()
				if res := terraform.Apply(config(writers)); res.Failed() {
					t.Fatal(res)
				}
			}
			apply("")
			if c.killed {
				h := e.Faults().Add(faults.Fault{Method: acctest.SetBucketPolicy, Do: func(call faults.Call) { terraform.Kill(call) }})
				if res := terraform.Apply(config(`"` + ann + `"`)); !res.Failed() {
					t.Fatal("it was not killed")
				}
				h.Remove()
			} else {
				others{t, otherClient(t, e)}.add(name, user, ann)
			}
			apply(`"` + ann + `"`)
			if plan := terraform.Plan(config(`"` + ann + `"`)); !plan.Empty() {
				t.Errorf("something is left to do: %s", plan)
			}
			apply("")
			if has := slices.Contains(policyOf(t, e, name, user), ann); has != c.stays {
				t.Errorf("the member has a role: %t, want %t", has, c.stays)
			}
		})
	}
}
