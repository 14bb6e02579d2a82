// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"context"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// newLife is a world without the command line: its core and clock wait for nothing.
func newLife(t *testing.T) (*world, *terraform.Core) {
	t.Helper()
	w := newCore(t).w
	w.bucket = testBuckets[0]
	return w, terraform.New(t, w.e, terraform.NewClock())
}

// fails asserts one error that says all of this.
func fails(t *testing.T, res *terraform.Result, want ...string) {
	t.Helper()
	if len(res.Errors) != 1 {
		t.Fatalf("%d errors, want one:%s", len(res.Errors), res)
	}
	for _, text := range want {
		if !strings.Contains(res.Errors[0].String(), text) {
			t.Errorf("it does not say %q:%s", text, res)
		}
	}
}

// ends asserts an apply without error, after which there is nothing to do, and a
// destroy that leaves nothing.
func ends(t *testing.T, w *world, tf *terraform.Core, res *terraform.Result, hcl string) {
	t.Helper()
	if res.Failed() {
		t.Fatalf("%s", res)
	}
	o := tf.State[address].Current
	equal(t, "uid in the state", o.Text("uid"), w.live().GetUid())
	equal(t, "tainted", o.Tainted, false)
	since := acctest.Since(w.e)
	if res := tf.Apply(hcl); !res.Empty() {
		t.Errorf("not done at once:%s", res)
	}
	equal(t, "writes of an apply without changes", writes(since), "")
	if res := tf.Destroy(hcl); res.Failed() {
		t.Errorf("%s", res)
	}
	w.empty()
}

// cases 26, 28, 29, 31, 127: the API takes the job and cannot set it up, apply after
// apply. The state holds the job each time, so that none meets "already exists"; each
// takes away what the one before has made, and with what was wrong mended the next one
// converges, although nothing was set to allow that the first job goes. A role of
// somebody else's on the same bucket and the same secret stays.
func TestFailedCreateIsMended(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attributes, mended string
		spoil, mend        func(*world)
		says               []string
		made, gone         string // the writes of each apply's create, and of the destroy before it
	}{
		"the image is missing": {
			attributes: "", mended: `image = "train:2"`,
			spoil: func(w *world) { w.e.Run().SetImageMissing("train:1", true) },
			mend:  func(*world) {},
			says:  []string{"image: Cannot create", "There is no image train:1", "Push train:1, or correct the image"},
			made:  "CreateServiceAccount setIamPolicy CreateJob", gone: "DeleteJob setIamPolicy DeleteServiceAccount",
		},
		"the image is pushed after all": {
			spoil: func(w *world) { w.e.Run().SetImageMissing("train:1", true) },
			mend:  func(w *world) { w.e.Run().SetImageMissing("train:1", false) },
			says:  []string{"Push train:1"},
			made:  "CreateServiceAccount setIamPolicy CreateJob", gone: "DeleteJob setIamPolicy DeleteServiceAccount",
		},
		"a secret is closed": {
			attributes: "service_account = \"another@" + acctest.EmulatorProject + ".iam.gserviceaccount.com\"\nsecret_env = { TOKEN = { secret = \"token\" } }",
			mended:     "service_account = \"another@" + acctest.EmulatorProject + ".iam.gserviceaccount.com\"\nsecret_env = { TOKEN = { secret = \"token\" } }",
			mend: func(w *world) {
				if _, err := w.client.AddMember(context.Background(), gcp.Grant{Resource: "projects/" + w.job.Project + "/secrets/token", Role: "roles/secretmanager.secretAccessor",
					Member: "serviceAccount:another@" + w.job.Project + ".iam.gserviceaccount.com"}); err != nil {
					w.t.Error(err)
				}
			},
			spoil: func(*world) {},
			says:  []string{"Give another@" + acctest.EmulatorProject + ".iam.gserviceaccount.com the role roles/secretmanager.secretAccessor on the secret token"},
			made:  "CreateJob", gone: "DeleteJob",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tf := newLife(t)
			others := gcp.Grant{Resource: "projects/_/buckets/" + w.bucket, Role: "roles/storage.objectUser", Member: "serviceAccount:trainer@" + w.job.Project + ".iam.gserviceaccount.com"}
			if _, err := w.client.AddMember(t.Context(), others); err != nil {
				t.Fatal(err)
			}
			c.spoil(w)
			before := ""
			for n := range 3 {
				since := acctest.Since(w.e)
				fails(t, tf.Apply(w.config(c.attributes)), append(c.says, "Cannot create the Cloud Run job")...)
				uid := w.live().GetUid()
				if uid == before {
					t.Errorf("apply %d left the job as it was", n)
				}
				before = uid
				o := tf.State[address].Current
				equal(t, "uid in the state", o.Text("uid"), uid)
				equal(t, "tainted", o.Tainted, true)
				want := c.made
				if n > 0 {
					want = c.gone + " " + c.made
				}
				equal(t, "writes", writes(since), want)
			}
			c.mend(w)
			since := acctest.Since(w.e)
			res := tf.Apply(w.config(c.mended))
			equal(t, "writes", writes(since), c.gone+" "+c.made)
			ends(t, w, tf, res, w.config(c.mended))
			if !w.hasGrant(others) {
				t.Error("somebody else's role is gone")
			}
		})
	}
}

// case 70: POST says that the account's name is taken, and what has it is not to be
// seen before. It is adopted only with our marker; another's is left as it is, with
// the way to use it; one that never shows ends soon and says what can be done.
func TestAccountNameTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		description func(*world) string
		hidden      int
		says        []string // the error; none is success
	}{
		"ours":                    {func(w *world) string { return w.job.String() }, 1, nil},
		"ours, and it shows late": {func(w *world) string { return w.job.String() }, 2, nil},
		"another's":               {func(*world) string { return "somebody's" }, 1, []string{`its description ("somebody's") does not say that it was made for this job`, `Set service_account = "`}},
		"of a job of the same name elsewhere": {func(w *world) string { return strings.Replace(w.job.String(), w.job.Location, "us-east4", 1) }, 1,
			[]string{"does not say that it was made for this job", "It was made for the job", "Set another service_account_id.", "gcloud iam service-accounts delete"}},
		"never seen": {func(w *world) string { return w.job.String() }, 1000, []string{"already exists", "apply again in some minutes", "another service_account_id, or service_account to let the job use"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tf := newLife(t)
			account := w.addAccount(resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name), c.description(w))
			w.e.IAM().Hide(w.email(), iam.ReadView, c.hidden)
			since := acctest.Since(w.e)
			res := tf.Apply(w.config(""))
			if c.says == nil {
				// One create is refused for each look that does not show it.
				equal(t, "writes", writes(since), strings.Repeat("CreateServiceAccount ", c.hidden)+"setIamPolicy CreateJob")
				equal(t, "account", tf.State[address].Current.Text("service_account_unique_id"), account.GetUniqueId())
				ends(t, w, tf, res, w.config(""))
				return
			}
			fails(t, res, append(c.says, "Cannot make the job's service account", "service_account_id")...)
			for _, method := range since.Writes() {
				equal(t, "a write", method, acctest.CreateServiceAccount)
			}
			if tf.State[address] != nil && tf.State[address].Current != nil {
				t.Errorf("it is in the state: %v", tf.State[address].Current.Values())
			}
			if left, ok := w.e.IAM().Lookup(w.email()); !ok || left.GetUniqueId() != account.GetUniqueId() || left.GetDescription() != c.description(w) {
				t.Errorf("the account is %v", left)
			}
		})
	}
}

// case 38: the answer to the create of the job is lost, and meanwhile somebody else
// has made a job of that name. Theirs is not adopted, whatever of it is like ours, and
// neither the repair nor the destroy touches it.
func TestLostCreateOfAnothersJob(t *testing.T) {
	t.Parallel()
	for name, theirs := range map[string]*runpb.TaskTemplate{
		"another image": {Containers: []*runpb.Container{{Image: "theirs:1"}}},
		"our image":     {Containers: []*runpb.Container{{Image: "train:1"}}, ServiceAccount: "another@" + acctest.EmulatorProject + ".iam.gserviceaccount.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tf := newLife(t)
			w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Match: terraform.Sent, Cut: true, Do: func(faults.Call) {
				if _, err := w.client.CreateJob(context.Background(), w.job.Parent(), w.job.Name, &runpb.Job{Template: &runpb.ExecutionTemplate{Template: theirs}}); err != nil {
					t.Error(err)
				}
			}})
			since := acctest.Since(w.e)
			if res := tf.Apply(w.config("")); !res.Failed() {
				t.Errorf("it was adopted:%s", res)
			}
			uid := w.live().GetUid()
			if o := tf.State[address]; o != nil && o.Current.Text("uid") != "" {
				t.Errorf("the state holds the uid %s", o.Current.Text("uid"))
			}
			fails(t, tf.Apply(w.config("")), "Job exists already", "terraform import")
			if res := tf.Destroy(w.config("")); res.Failed() {
				t.Errorf("%s", res)
			}
			equal(t, "their job", w.live().GetUid(), uid)
			equal(t, "jobs changed or deleted", since.Count(acctest.UpdateJob)+since.Count(acctest.DeleteJob), 0)
			if _, ok := w.e.IAM().Lookup(w.email()); ok || w.hasGrant(w.grant(w.email())) {
				t.Error("our account, or its role, is left")
			}
		})
	}
}

// case 38: the create was done and its answer lost, and the job is not to be seen
// before a while has passed. It is in the state in the end, made once.
func TestLostCreateSeenLate(t *testing.T) {
	t.Parallel()
	w, tf := newLife(t)
	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Lose: true})
	since := acctest.Since(w.e)
	res := tf.Apply(w.config(""))
	equal(t, "writes", writes(since), "CreateServiceAccount setIamPolicy CreateJob")
	ends(t, w, tf, res, w.config(""))
}
