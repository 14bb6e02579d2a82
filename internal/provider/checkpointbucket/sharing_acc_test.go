// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// Readers and writers through the command line: granted beside those of others, kept as they are written, brought back, and gone when they
// are taken out.
func TestAccShare(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	other := others{t, otherClient(t, e)}
	const name = "ckpt-shared"
	shared := bucketConfig(e, name, `
  readers = ["user:Ann@Example.com", "group:ml@example.com"]
  writers = ["user:bob@example.com"]
`)
	tf.Write(shared)
	tf.Apply().Succeeds()
	other.add(name, user, eve)
	tf.Plan().IsEmpty()
	tf.Write(bucketConfig(e, name, `
  readers = ["group:ml@example.com", "user:ann@example.com"]
  writers = ["user:BOB@example.com"]
`))
	tf.Plan().IsEmpty()

	other.remove(name, viewer, ann)
	p := tf.Plan()
	if p.Actions(address) != "update" {
		t.Fatalf("planned %q:\n%s", p.Actions(address), p.Output())
	}
	p.Says(`+ "user:ann@example.com"`).SaysNot("bob@", "ml@", "eve@")
	tf.Apply().Succeeds()
	wantPolicy(t, e, name, viewer, "group:ml@example.com", ann)

	tf.Write(bucketConfig(e, name, ""))
	if p := tf.Plan(); p.Actions(address) != "update" {
		t.Fatalf("planned %q:\n%s", p.Actions(address), p.Output())
	}
	tf.Apply().Succeeds()
	wantPolicy(t, e, name, viewer)
	wantPolicy(t, e, name, user, eve)
	tf.Plan().IsEmpty()
	tf.Destroy().Succeeds()
}

// What terraform validate says, without any provider block: one message for one mistake.
func TestAccValidate(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(`
variable "member" { type = string }
resource "resilientjob_checkpoint_bucket" "test" {
  name              = "ckpt-validate"
  kms_key_name      = "my-key"
  readers           = ["allUsers", "ann@example.com", var.member]
  writers           = ["trainer@my-project.iam.gserviceaccount.com", "deleted:user:ann@example.com?uid=1"]
  expire_after_days = 30
}
`)
	r := tf.Validate().Fails("Error: Invalid key", "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
		`"allUsers" stands for everybody, and the bucket prevents public access`,
		`write "user:ann@example.com", or "group:ann@example.com" if it is a group`,
		`write "serviceAccount:trainer@my-project.iam.gserviceaccount.com"`,
		"is what a policy keeps of a deleted account",
		"Error: Expiry without prefixes")
	if n := strings.Count(r.Output(), "Error: "); n != 6 {
		t.Errorf("%d messages for 6 mistakes:\n%s", n, r.Output())
	}
}
