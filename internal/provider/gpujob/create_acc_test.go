// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// cases 26, 28, 29, 31, 127: the image is missing. The job exists, failed, and is in
// the state; the next apply, with the right image, makes it anew and needs nobody's
// help. Terraform taints whatever a create returns with an error, so that it is made
// anew and not mended in place; nothing protects it from that.
func TestAccImageNotFound(t *testing.T) { // row 9
	t.Parallel()
	w := newWorld(t)
	w.e.Run().SetImageMissing("train:1", true)
	w.apply(w.config("")).Fails("Cannot create the Cloud Run job", "with resilientjob_gpu_job.train", `image = "train:1"`, "not found", "Push train:1, or correct the image")
	first := w.live().GetUid()
	state := w.tf.State()
	equal(t, "uid in the state", state.Attribute(address, "uid"), first)
	equal(t, "tainted", state.Resource(address).Tainted, true)

	since := acctest.Since(w.e)
	w.apply(w.config(`image = "train:2"`)).Succeeds()
	equal(t, "jobs made", since.Count(acctest.CreateJob), 1)
	equal(t, "accounts made", since.Count(acctest.CreateServiceAccount), 1)
	if w.live().GetUid() == first {
		t.Error("the failed job was not made anew")
	}
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// An update that cannot be set up is in the state, and is sent again by the next
// apply.
func TestAccUpdateNotReady(t *testing.T) { // row 13
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	uid := w.live().GetUid()
	w.e.Run().SetImageMissing("train:2", true)
	w.apply(w.config(`image = "train:2"`)).Fails("Cannot update the Cloud Run job", "not found")
	equal(t, "image in the state", w.tf.State().Attribute(address, "image"), "train:2")

	w.e.Run().SetImageMissing("train:2", false)
	plan := w.tf.Plan()
	plan.Says("Cloud Run job is not ready", "The next apply sends the job again")
	equal(t, "what the plan does", plan.Actions(address), "update")
	w.tf.Apply().Succeeds()
	equal(t, "uid", w.live().GetUid(), uid)
	equal(t, "ready", w.live().GetTerminalCondition().GetState(), runpb.Condition_CONDITION_SUCCEEDED)
	w.tf.Plan().IsEmpty()
}

// case 70: a provider that was killed after it made the account leaves nothing in
// the state. The next apply finds the account by its marker.
func TestAccKilledWhileCreating(t *testing.T) { // row 5
	t.Parallel()
	w := newWorld(t)
	arrived := make(chan struct{})
	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Cut: true, Wait: func(ctx context.Context) {
		close(arrived)
		<-ctx.Done()
	}})
	w.tf.Write(w.config(""))
	run := w.tf.Processes().Start("apply", "-auto-approve", "-no-color")
	select {
	case <-arrived:
	case <-time.After(limit):
		t.Fatal("the job is not created")
	}
	run.KillProvider()
	run.Wait().Fails()
	equal(t, "state", w.tf.State().Addresses(), []string{})
	account, _ := w.e.IAM().Lookup(w.email())

	since := acctest.Since(w.e)
	w.tf.Apply().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.CreateJob})
	equal(t, "account", w.tf.State().Attribute(address, "service_account_unique_id"), account.GetUniqueId())
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// case 70: the account of an earlier apply exists and is not to be seen yet. The
// create of the account says that its name is taken, and then it is found and adopted.
func TestAccAccountNameIsTaken(t *testing.T) { // row 5
	t.Parallel()
	w := inProcess(t)
	account := w.addAccount(resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name), w.job.String())
	w.e.IAM().Hide(w.email(), iam.ReadView, 1)
	since := acctest.Since(w.e)
	w.apply(w.config("")).Succeeds()
	equal(t, "refused creates of the account", since.Count(acctest.CreateServiceAccount), 1)
	equal(t, "account", w.tf.State().Attribute(address, "service_account_unique_id"), account.GetUniqueId())
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// A job of the name exists: the error is the way out, and nothing was written.
func TestAccJobExists(t *testing.T) { // row 4
	t.Parallel()
	w := inProcess(t)
	other := terraform.Open(t, w.e)
	other.Write(w.config(""))
	other.Apply().Succeeds()

	w.tf.Write(w.config(""))
	since := acctest.Since(w.e)
	w.tf.Apply().Fails("Job exists already", "terraform import ADDRESS "+w.job.String(), `id = "`+w.job.String()+`"`)
	equal(t, "writes", since.Writes(), []string{})
	equal(t, "state", w.tf.State().Addresses(), []string{})
	w.tf.Import(address, w.job.String()).Succeeds()
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// An account of the name belongs to somebody else.
func TestAccAccountIsForeign(t *testing.T) { // row 6
	t.Parallel()
	w := inProcess(t)
	w.addAccount(resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name), "mine")
	since := acctest.Since(w.e)
	w.apply(w.config("")).Fails("Cannot make the job's service account", `its description ("mine") does not say that it was made for this job`, `Set service_account = "`+w.email()+`"`)
	equal(t, "writes", since.Writes(), []string{})
	equal(t, "state", w.tf.State().Addresses(), []string{})
	w.apply(w.config(`service_account = "` + w.email() + `"`)).Succeeds()
	w.tf.Destroy().Succeeds()
	if _, ok := w.e.IAM().Lookup(w.email()); !ok {
		t.Error("a named account was deleted")
	}
}

// Nothing is written when the bucket is not there, or its policy may not be set.
func TestAccBucketIsNotReady(t *testing.T) { // rows 2, 3
	t.Parallel()
	w := inProcess(t)
	since := acctest.Since(w.e)
	w.apply(w.bare(`checkpoint = { bucket = "no-such-bucket-here" }`)).Fails("No such bucket", "The specified bucket does not exist", "resilientjob_checkpoint_bucket")
	w.e.Storage().Deny(w.bucket, "storage.buckets.setIamPolicy")
	w.apply(w.config("")).Fails("Not allowed to grant a role on the bucket", "lacks storage.buckets.setIamPolicy there", "roles/storage.admin")
	equal(t, "writes", since.Writes(), []string{})
	equal(t, "state", w.tf.State().Addresses(), []string{})
	// Without a grant no policy is looked at.
	w.apply(w.bare(`checkpoint = { bucket = "` + w.bucket + `", grant = false }`)).Succeeds()
	equal(t, "looks at the policy", since.Count(acctest.GetBucketPolicy)+since.Count(acctest.SetBucketPolicy), 0)
	equal(t, "grants", w.tf.State().Attribute(address, "grants"), "[]")
	w.tf.Plan().IsEmpty()
	// An update looks, too.
	since = acctest.Since(w.e)
	w.apply(w.bare(`checkpoint = { bucket = "no-such-bucket-here", grant = false }`)).Fails("No such bucket", "Nothing was written")
	equal(t, "writes", since.Writes(), []string{})
}

// cases 65 and 67: the new account is seen late by reads, policies and Cloud Run.
func TestAccAccountIsSeenLate(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.e.IAM().Hide(w.email(), iam.PolicyView, 2)
	w.e.IAM().Hide(w.email(), iam.RunView, 2)
	since := acctest.Since(w.e)
	w.apply(w.config("")).Succeeds()
	equal(t, "accounts made", since.Count(acctest.CreateServiceAccount), 1)
	equal(t, "policy writes", since.Count(acctest.SetBucketPolicy), 3)
	equal(t, "jobs asked for", since.Count(acctest.CreateJob), 3)

	// One read that does not see the account is not believed.
	w.e.IAM().Hide(w.email(), iam.ReadView, 1)
	w.tf.Plan().IsEmpty()
}

// cases 73, 74, 76: what the policy holds survives, also when somebody writes at
// the same time; what a deleted account of the name left does not.
func TestAccPolicySurvives(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	others := w.addAccount("somebody-else", "")
	deleted := w.addAccount(resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name), "an earlier one")
	for _, email := range []string{others.GetEmail(), deleted.GetEmail()} {
		if _, err := w.client.AddMember(t.Context(), w.grant(email)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.client.DeleteServiceAccount(t.Context(), w.job.Project, deleted.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	late := w.addAccount("late-writer", "")
	w.e.Faults().Add(faults.Fault{Method: acctest.SetBucketPolicy, Do: func(faults.Call) {
		if _, err := w.client.AddMember(context.Background(), w.grant(late.GetEmail())); err != nil {
			t.Error(err)
		}
	}})
	w.apply(w.config("")).Succeeds()
	for _, email := range []string{others.GetEmail(), late.GetEmail(), w.email()} {
		if !w.hasGrant(w.grant(email)) {
			t.Errorf("%s has lost its role", email)
		}
	}
	twin := gcp.Grant{Resource: w.grant("").Resource, Role: w.grant("").Role, Member: "deleted:serviceAccount:" + deleted.GetEmail() + "?uid=" + deleted.GetUniqueId()}
	if w.hasGrant(twin) {
		t.Error("the deleted account is still in the policy")
	}
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	for _, email := range []string{others.GetEmail(), late.GetEmail()} {
		if !w.hasGrant(w.grant(email)) {
			t.Errorf("%s has lost its role in the destroy", email)
		}
	}
	w.empty()
}

// case 32: an operation that is done with neither response nor error is a success.
func TestAccOperationWithoutResponse(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	for _, method := range []string{acctest.CreateJob, acctest.UpdateJob, acctest.DeleteJob} {
		w.e.Faults().Add(faults.Fault{Method: method, Operation: &faults.OperationFault{NoResponse: true}})
	}
	w.apply(w.config("")).Succeeds()
	equal(t, "uid", w.tf.State().Attribute(address, "uid"), w.live().GetUid())
	w.apply(w.config("max_retries = 1")).Succeeds()
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

const unreadable = "Google Cloud Run Service Agent service-999000000000@serverless-robot-prod.iam.gserviceaccount.com must have permission to read the image, us-docker.pkg.dev/p/r/train:1. " +
	"Ensure that the provided container image URL is correct and that the above account has permission to access the image. If you just enabled the Cloud Run API, the permissions might take a few minutes to propagate."

// ticking makes a clock that advances whenever somebody waits for it.
func ticking(t *testing.T) clockwork.Clock {
	clock := clockwork.NewFakeClock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for clock.BlockUntilContext(ctx, 1) == nil {
			clock.Advance(5 * time.Second)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return clock
}

// case 34: the service agent may read the image a little later. The third create
// succeeds.
func TestAccImageIsReadableLate(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Times: 2, Operation: &faults.OperationFault{Status: status.New(codes.Internal, unreadable)}})
	since := acctest.Since(w.e)
	w.apply(w.config("")).Succeeds()
	equal(t, "uid", w.tf.State().Attribute(address, "uid"), w.live().GetUid())
	w.tf.Plan().IsEmpty()
	equal(t, "creates", since.Count(acctest.CreateJob), 3)
	w.tf.Destroy().Succeeds()
	w.empty()
}

// case 34, when it never becomes readable: a budget, and then who needs which role
// on what. case 35: the secret and the account.
func TestAccOperationErrors(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	fault := w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Times: -1, Operation: &faults.OperationFault{Status: status.New(codes.Internal, unreadable)}})
	w.apply(w.config("")).Fails("us-docker.pkg.dev/p/r/train:1 could not be read. Cloud Run gets images with its service agent")
	fault.Remove()
	w.tf.Destroy().Succeeds()
	w.empty()

	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Operation: &faults.OperationFault{Status: status.New(codes.Internal,
		"spec.template.spec.containers[0].env[0].value_from.secret_key_ref.name: Permission denied on secret: projects/1/secrets/s/versions/latest for Revision service account "+w.email()+".")}})
	since := acctest.Since(w.e)
	w.apply(w.config("")).Fails("Give " + w.email() + " the role roles/secretmanager.secretAccessor on the secret s:")
	equal(t, "creates", since.Count(acctest.CreateJob), 1)
	equal(t, "uid in the state", w.tf.State().Attribute(address, "uid"), w.live().GetUid()) // cases 26, 28: the job exists
	w.tf.Apply().Succeeds()
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// The account that Terraform runs as may not act as the named account: where to
// look, and what to give.
func TestAccActAs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := acctest.Since(w.e)
	w.apply(w.bare(`service_account = "nobody@`+w.job.Project+`.iam.gserviceaccount.com"`)).Fails(
		"Cannot create the Cloud Run job", "on main.tf line", "service_account", "iam.serviceaccounts.actAs", "roles/iam.serviceAccountUser on nobody@")
	equal(t, "jobs asked for", since.Count(acctest.CreateJob), 1)
	equal(t, "state", w.tf.State().Addresses(), []string{})
}

// cases 38 and more: an answer is lost although the call was done. Nothing is made
// twice, and the apply goes on.
func TestAccLostAnswers(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	for _, method := range []string{acctest.CreateServiceAccount, acctest.SetBucketPolicy, acctest.CreateJob, acctest.UpdateJob, acctest.DeleteJob, acctest.DeleteServiceAccount} {
		w.e.Faults().Add(faults.Fault{Method: method, Lose: true})
	}
	since := acctest.Since(w.e)
	w.apply(w.config("")).Succeeds()
	equal(t, "jobs asked for", since.Count(acctest.CreateJob), 1)
	equal(t, "accounts asked for", since.Count(acctest.CreateServiceAccount), 1)
	equal(t, "uid", w.tf.State().Attribute(address, "uid"), w.live().GetUid())
	w.tf.Plan().IsEmpty()
	w.apply(w.config("max_retries = 1")).Succeeds()
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// Connections that are cut before the call has an effect.
func TestAccCutConnections(t *testing.T) { // row 7
	t.Parallel()
	w := inProcess(t)
	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Cut: true})
	w.apply(w.config("")).Fails("Cannot create the Cloud Run job", "may have taken effect", "Apply again")
	w.tf.Apply().Succeeds()
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// Somebody makes a job of the name while the apply is under way. Theirs is never
// touched, not by the repair of the tainted resource either.
func TestAccNameTakenMeanwhile(t *testing.T) { // row 8
	t.Parallel()
	w := inProcess(t)
	w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Do: func(c faults.Call) {
		if _, err := w.client.CreateJob(context.Background(), w.job.Parent(), w.job.Name, &runpb.Job{
			Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{Image: "theirs:1"}}}},
		}); err != nil {
			t.Error(err)
		}
	}})
	w.apply(w.config("")).Fails("Job exists already")
	uid := w.live().GetUid()
	w.tf.Apply().Fails("Job exists already")
	w.tf.Destroy().Succeeds()
	equal(t, "their job", w.live().GetUid(), uid)
	if _, ok := w.e.IAM().Lookup(w.email()); ok || w.hasGrant(w.grant(w.email())) {
		t.Error("our account, or its role, is left")
	}
}

// An apply that stops waiting, by Ctrl-C or at its timeout, loses nothing.
func TestAccStopsWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attributes string
		stop       func(*acctest.Run)
		says       string
	}{
		"interrupt": {"", func(r *acctest.Run) { r.Interrupt() }, "The operation was interrupted"},
		"timeout":   {`timeouts = { create = "3s" }`, func(*acctest.Run) {}, "the time limit ran out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Operation: &faults.OperationFault{Never: true}})
			polled := make(chan struct{})
			w.e.Faults().Add(faults.Fault{Method: "*Operations/GetOperation", Do: func(faults.Call) { close(polled) }})
			w.tf.Write(w.config(c.attributes))
			run := w.tf.Start("apply", "-auto-approve", "-no-color")
			select {
			case <-polled:
			case <-time.After(limit):
				t.Fatal("the operation is not waited for")
			}
			c.stop(run)
			run.Wait().Fails("Cannot create the Cloud Run job", c.says)
			equal(t, "uid in the state", w.tf.State().Attribute(address, "uid"), w.live().GetUid())
			w.tf.Write(w.config(""))
			w.tf.Apply().Succeeds()
			w.tf.Plan().IsEmpty()
			w.tf.Destroy().Succeeds()
			w.empty()
		})
	}
}

// A server that keeps another value than it was sent is named.
func TestAccServerChangesValue(t *testing.T) {
	t.Parallel()
	w := inProcess(t, func(o *emulator.Options) { o.Behaviour = run.Behaviour{GPUTimeoutLimit: run.GPUTimeoutClamped} })
	w.apply(w.config(`task_timeout = "168h"`)).Succeeds().Says("GPU task timeout above the documented maximum", "Cloud Run did not take every value", `task_timeout is "12h", and "168h" was sent`)
	equal(t, "what the next plan does", w.tf.Plan().Actions(address), "update")
}
