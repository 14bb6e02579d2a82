// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// newRealWorld is a world whose tasks are real processes, with buckets and secrets to use.
func newRealWorld(t testing.TB) *world {
	t.Helper()
	w := unseen(t)
	w.tf = acctest.CLI(t, w.e)
	w.provision()
	return w
}

func (w *world) secretGrant(secret, email string) gcp.Grant {
	return gcp.Grant{Resource: "projects/" + w.job.Project + "/secrets/" + secret, Role: "roles/secretmanager.secretAccessor", Member: "serviceAccount:" + email}
}

// has fails the test unless a grant is there, or is not.
func (w *world) has(g gcp.Grant, want bool) {
	w.t.Helper()
	if got := w.hasGrant(g); got != want {
		w.t.Errorf("%s on %s is there: %t, want %t", g.Role, g.Resource, got, want)
	}
}

// look is a program that sees whether everything is where it was asked for, and ends with a number that tells what is not. Where the emulator
// cannot give a task mounts of its own, RESILIENTJOB_MOUNT_0 is set, and what is mounted read-only can be written to.
const look = `
[ "$TOKEN" = "token three" ] && [ "$KEY" = "key two" ] && [ "$PLAIN" = "it" ] || exit 11
[ "$(cat "$1/in.txt")" = "data" ] || exit 12
[ -n "$RESILIENTJOB_MOUNT_0" ] || ! touch "$1/out.txt" 2>/dev/null || exit 13
[ "$(cat "$2/a/key.pem")" = "key two" ] && [ "$(cat "$2/b")" = "key three" ] || exit 14
[ "$(stat -c %a "$2/a/key.pem")" = 440 ] && [ "$(stat -c %a "$2/b")" = 400 ] || exit 15
[ "$(cat "$3/token")" = "token three" ] && [ "$(stat -c %a "$3/token")" = 444 ] || exit 16
[ -z "$(ls -A "$4")" ] && echo x > "$4/x" || exit 17
echo x > "$5/x" || exit 18
echo saved > "$6/newest" || exit 19
`

// A job with a volume of every kind, and secrets in variables and files: real processes see all of it, with the modes that were asked for; the
// account has what it needs and no more, a grant that vanished comes back, and a destroy leaves nothing (cases 109, 116).
func TestAccEveryVolume(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t)
	dir, ok := w.e.Storage().Dir("data-one")
	if !ok {
		t.Fatal("the bucket has no folder")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.apply(w.bare(`
		gpu_type    = "none"
		max_retries = 0
		command     = ["/bin/sh", "-c"]
		args        = [<<-EOT
		` + look + `
		EOT
		, "look", "/data", "/keys", "/token", "/scratch", "/share", "/checkpoints"]
		env         = { PLAIN = "it" }
		secret_env  = {
			TOKEN = { secret = "token" }
			KEY   = { secret = "projects/` + w.job.Project + `/secrets/key", version = "2" }
		}
		checkpoint = { bucket = "ckpt-one", prefix = "runs/1" }
		volumes = {
			data    = { mount_path = "/data", read_only = true, gcs = { bucket = "data-one" } }
			keys    = { mount_path = "/keys", secret = { secret = "key", default_mode = "0400", items = { "a/key.pem" = { version = "2", mode = "0440" }, b = {} } } }
			token   = { mount_path = "/token", secret = { secret = "token" } }
			scratch = { mount_path = "/scratch", empty_dir = { medium = "memory", size_limit = "16Mi" } }
			share   = { mount_path = "/share", nfs = { server = "10.0.0.2", path = "/vol" } }
			sql     = { cloud_sql = { instances = ["p:us-central1:i"] } }
		}
	`)).Succeeds()
	user, viewer := w.grantOn("ckpt-one", w.email()), w.grantOn("data-one", w.email())
	viewer.Role = "roles/storage.objectViewer"
	all := []gcp.Grant{user, viewer, w.secretGrant("token", w.email()), w.secretGrant("key", w.email())}
	for _, g := range all {
		w.has(g, true)
	}
	w.has(w.grantOn("data-one", w.email()), false)
	w.tf.Plan().IsEmpty()

	e, err := w.client.RunJob(t.Context(), &runpb.RunJobRequest{Name: w.job.String()})
	if err != nil {
		t.Fatal(err)
	}
	w.awaitEnd(filepath.Base(e.GetName()))
	if e = w.e.Run().Execution(e.GetName()); e.GetSucceededCount() != 1 {
		for task, err := range w.client.Tasks(t.Context(), e.GetName()) {
			t.Errorf("the task: %v %v", task.GetLastAttemptResult(), err)
		}
	}
	kept, _ := w.e.Storage().Dir("ckpt-one")
	if saved, err := os.ReadFile(filepath.Join(kept, "runs/1/newest")); err != nil || string(saved) != "saved\n" {
		t.Errorf("the checkpoint: %q %v", saved, err)
	}
	w.tf.Plan().IsEmpty()

	// Somebody takes a grant away: it is given again, and nothing else is touched.
	if _, err := w.client.RemoveMember(t.Context(), all[2]); err != nil {
		t.Fatal(err)
	}
	since := acctest.Since(w.e)
	w.tf.Apply().Succeeds().Says("0 added, 1 changed, 0 destroyed")
	equal(t, "writes", writes(since), "SetIamPolicy")
	w.has(all[2], true)

	w.tf.Destroy().Succeeds()
	w.leavesNothing()
}

// A secret that is not there, or whose policy may not be set, is refused before anything is written. With grant = false no policy is looked at,
// and for a named account that is the default.
func TestAccSecretsAreNotReady(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t)
	since := acctest.Since(w.e)
	hcl := func(secret string) string {
		return w.bare(fmt.Sprintf(`
			gpu_type   = "none"
			secret_env = { TOKEN = { secret = %q } }
			volumes    = { key = { mount_path = "/key", secret = { secret = "key" } } }
		`, secret))
	}
	w.apply(hcl("no-such-secret")).Fails("No such secret", "projects/"+w.job.Project+"/secrets/no-such-secret", "Nothing was written")
	w.e.Secrets().Deny("projects/"+w.job.Project+"/secrets/key", "secretmanager.secrets.setIamPolicy")
	w.apply(hcl("token")).Fails("Not allowed to grant a role on the secret", w.email()+" needs roles/secretmanager.secretAccessor on secret key", "lacks secretmanager.secrets.setIamPolicy there",
		"Nothing was written", "roles/secretmanager.admin", "grant = false")
	equal(t, "writes", writes(since), "")
	equal(t, "state", w.tf.State().Addresses(), []string{})

	// The named account has the role from elsewhere.
	if _, err := w.client.AddMember(t.Context(), w.secretGrant("token", trainer)); err != nil {
		t.Fatal(err)
	}
	since = acctest.Since(w.e)
	w.apply(w.bare(`
		gpu_type        = "none"
		service_account = "` + trainer + `"
		secret_env      = { TOKEN = { secret = "token" } }
	`)).Succeeds()
	equal(t, "grants", w.tf.State().Attribute(address, "grants"), "[]")
	w.apply(w.bare(`
		gpu_type        = "none"
		service_account = "` + trainer + `"
		secret_env      = { TOKEN = { secret = "token", grant = false } }
	`)).Succeeds()
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	equal(t, "policy calls", since.Count("*IamPolicy")+since.Count("*estIamPermissions"), 0)
	w.has(w.secretGrant("token", trainer), true)
}
