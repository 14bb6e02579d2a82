// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// The rows of the life-cycle table in which something is missing.
func TestAccMissingParts(t *testing.T) { // rows 14, 15, 16, 17, 23
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	account, _ := w.e.IAM().Lookup(w.email())

	// No job: the plan shows what will be known after apply; the account stays.
	w.deleteJob()
	plan := w.tf.Plan()
	equal(t, "without job", plan.Actions(address), "update")
	equal(t, "uid is known only after apply", plan.Unknown(address, "uid"), true)
	since := acctest.Since(w.e)
	w.tf.Apply().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.CreateJob})
	w.tf.Plan().IsEmpty()

	// No grant.
	if _, err := w.client.RemoveMember(t.Context(), w.grant(w.email())); err != nil {
		t.Fatal(err)
	}
	equal(t, "without grant", w.tf.Plan().Actions(address), "update")
	since = acctest.Since(w.e)
	w.tf.Apply().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.SetBucketPolicy})
	w.tf.Plan().IsEmpty()

	// case 71: no account, and then another one of the same name.
	if err := w.client.DeleteServiceAccount(t.Context(), w.job.Project, account.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	equal(t, "without account", w.tf.Plan().Actions(address), "update")
	since = acctest.Since(w.e)
	w.tf.Apply().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.CreateServiceAccount, acctest.SetBucketPolicy})
	again, _ := w.e.IAM().Lookup(w.email())
	equal(t, "account", w.tf.State().Attribute(address, "service_account_unique_id"), again.GetUniqueId())
	if !w.hasGrant(w.grant(w.email())) {
		t.Error("the new account has no role")
	}
	w.tf.Plan().IsEmpty()

	// Somebody else has made it again, for this job.
	if err := w.client.DeleteServiceAccount(t.Context(), w.job.Project, again.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	id := resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name)
	marked := w.addAccount(id, w.job.String())
	since = acctest.Since(w.e)
	w.tf.Apply().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.SetBucketPolicy})
	equal(t, "account", w.tf.State().Attribute(address, "service_account_unique_id"), marked.GetUniqueId())
	w.tf.Plan().IsEmpty()

	if err := w.client.DeleteServiceAccount(t.Context(), w.job.Project, marked.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	foreign := w.addAccount(id, "mine")
	w.tf.Apply().Fails("does not say that it was made for this job")
	w.tf.Destroy().Succeeds()
	if left, _ := w.e.IAM().Lookup(w.email()); left.GetUniqueId() != foreign.GetUniqueId() {
		t.Error("an account with another unique id was deleted")
	}
}

// A resource leaves the state only when job, account and grants are all gone.
func TestAccAllGone(t *testing.T) { // row 18
	t.Parallel()
	w := newWorld(t)
	w.apply(w.config("")).Succeeds()
	account, _ := w.e.IAM().Lookup(w.email())
	w.deleteJob()
	w.tf.Run("apply", "-refresh-only", "-auto-approve", "-no-color").Succeeds()
	equal(t, "with account and grant", len(w.tf.State().Addresses()), 1)
	if err := w.client.DeleteServiceAccount(t.Context(), w.job.Project, account.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	equal(t, "with nothing", w.tf.Plan().Actions(address), "create")
	w.tf.Run("apply", "-refresh-only", "-auto-approve", "-no-color").Succeeds()
	equal(t, "with nothing", w.tf.State().Addresses(), []string{})

	// With a named account and no grant the job is everything.
	shared := w.addAccount("shared-account", "")
	w.apply(w.config(`service_account = "` + shared.GetEmail() + `"`)).Succeeds()
	w.deleteJob()
	equal(t, "with a named account", w.tf.Plan().Actions(address), "create")
}

// The account changes in place: own, named, another own, own again.
func TestAccAccountChangesInPlace(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	shared := w.addAccount("shared-account", "")
	w.apply(w.config("")).Succeeds()
	uid := w.live().GetUid()

	w.apply(w.config(`service_account = "` + shared.GetEmail() + `"`)).Succeeds()
	equal(t, "uid", w.live().GetUid(), uid)
	equal(t, "account", w.live().GetTemplate().GetTemplate().GetServiceAccount(), shared.GetEmail())
	if _, ok := w.e.IAM().Lookup(w.email()); ok || w.hasGrant(w.grant(w.email())) {
		t.Error("the own account, or its role, is left")
	}
	state := w.tf.State()
	equal(t, "own account in the state", []any{state.Attribute(address, "service_account_id"), state.Attribute(address, "service_account_unique_id")}, "[<nil> <nil>]")
	equal(t, "grants", state.Attribute(address, "grants"), "[]")
	w.tf.Plan().IsEmpty()

	w.apply(w.config(`service_account_id = "trainer-account"`)).Succeeds()
	equal(t, "account", w.live().GetTemplate().GetTemplate().GetServiceAccount(), resourcename.ServiceAccountEmail(w.job.Project, "trainer-account"))
	w.tf.Plan().IsEmpty()

	since := acctest.Since(w.e)
	w.apply(w.config(`service_account_id = "other-account"`)).Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.CreateServiceAccount, acctest.SetBucketPolicy, acctest.UpdateJob, acctest.SetBucketPolicy, acctest.DeleteServiceAccount})
	other := resourcename.ServiceAccountEmail(w.job.Project, "other-account")
	if !w.hasGrant(w.grant(other)) {
		t.Error("the new account has no role")
	}
	if _, ok := w.e.IAM().Lookup(resourcename.ServiceAccountEmail(w.job.Project, "trainer-account")); ok {
		t.Error("the old account is left")
	}
	equal(t, "uid", w.live().GetUid(), uid)
	w.tf.Plan().IsEmpty()

	// An account that cannot be deleted stays in the state until it can.
	w.e.Faults().Add(faults.Fault{Method: acctest.DeleteServiceAccount, Status: status.New(codes.PermissionDenied, "Permission 'iam.serviceAccounts.delete' denied on resource.")})
	w.apply(w.config(`service_account = "`+shared.GetEmail()+`"`)).Fails("Cannot delete the service account", "the next apply tries again")
	w.tf.Apply().Succeeds()
	if _, ok := w.e.IAM().Lookup(other); ok {
		t.Error("the old account is left")
	}
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	if _, ok := w.e.IAM().Lookup(shared.GetEmail()); !ok {
		t.Error("a named account was deleted")
	}
}

// A role that a named account had before is not recorded and never revoked.
func TestAccGrantWasThere(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	shared := w.addAccount("shared-account", "")
	if _, err := w.client.AddMember(t.Context(), w.grant(shared.GetEmail())); err != nil {
		t.Fatal(err)
	}
	hcl := func(more string) string {
		return w.bare(`service_account = "` + shared.GetEmail() + `"
			checkpoint = { bucket = "` + w.bucket + `", grant = true }
			` + more)
	}
	since := acctest.Since(w.e)
	w.apply(hcl("")).Succeeds()
	equal(t, "policy writes", since.Count(acctest.SetBucketPolicy), 0)
	equal(t, "grants", w.tf.State().Attribute(address, "grants"), "[]")
	w.tf.Plan().IsEmpty()
	w.apply(hcl("max_retries = 1")).Succeeds()
	w.tf.Plan().IsEmpty()

	// Somebody takes it away: now it is given, held, and revoked with the job.
	if _, err := w.client.RemoveMember(t.Context(), w.grant(shared.GetEmail())); err != nil {
		t.Fatal(err)
	}
	equal(t, "without the role", w.tf.Plan().Actions(address), "update")
	w.tf.Apply().Succeeds()
	equal(t, "grants", w.tf.State().Attribute(address, "grants"), "[map[member:serviceAccount:"+shared.GetEmail()+" resource:projects/_/buckets/"+w.bucket+" role:roles/storage.objectUser]]")
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	if w.hasGrant(w.grant(shared.GetEmail())) {
		t.Error("a role that was given is left")
	}
}

// A grant that cannot be revoked stays and is revoked by the next apply.
func TestAccGrantCannotBeRevoked(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	old := w.grant(w.email())
	next := w.newBucket()
	w.e.Faults().Add(faults.Fault{Method: acctest.SetBucketPolicy, Match: func(c faults.Call) bool { return c.Resource == w.bucket },
		Status: status.New(codes.PermissionDenied, "Terraform does not have storage.buckets.setIamPolicy access.")})
	hcl := w.bare(`checkpoint = { bucket = "` + next + `" }`)
	w.apply(hcl).Fails("Cannot revoke a role", "setIamPolicy access", "the next apply tries again")
	equal(t, "bucket in the state", strings.Contains(fmt.Sprint(w.tf.State().Attribute(address, "checkpoint")), next), true)
	equal(t, "held", w.hasGrant(old) && w.hasGrant(w.grantOn(next, w.email())), true)
	w.tf.Apply().Succeeds()
	if w.hasGrant(old) {
		t.Error("the old role is left")
	}
	w.tf.Plan().IsEmpty()
	w.bucket = next
	w.tf.Destroy().Succeeds()
	w.empty()
}

// case 49: a destroy, and an update that revokes, are refused while something
// runs; the way out takes two steps.
func TestAccRunningExecutions(t *testing.T) { // rows 19, 20
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	execution := w.run()
	cancelLine := "gcloud run jobs executions cancel " + execution + " --region=" + w.job.Location + " --project=" + w.job.Project

	since := acctest.Since(w.e)
	w.tf.Plan("-destroy").Says("Executions are running", execution)
	w.tf.Destroy().Fails("Executions are running", execution, cancelLine, "first set cancel_running_executions = true and apply")
	equal(t, "writes", since.Writes(), []string{})
	next := w.newBucket()
	since = acctest.Since(w.e)
	w.tf.Write(w.bare(`checkpoint = { bucket = "` + next + `" }`))
	w.tf.Plan().Says("Warning: Executions are running", execution)
	w.tf.Apply().Fails("Taking a grant or the account away would end or break running executions", execution, cancelLine)
	// It is the state that counts, not the configuration.
	w.tf.Write(w.bare("cancel_running_executions = true\ncheckpoint = { bucket = \"" + next + "\" }"))
	w.tf.Apply().Fails("Executions are running")
	equal(t, "writes", since.Writes(), []string{})
	if len(w.e.Run().Running(w.job.String())) != 1 {
		t.Fatal("the execution was ended")
	}
	// An update that takes nothing away goes on beside it.
	w.apply(w.config("max_retries = 1")).Succeeds()

	// Two steps.
	w.apply(w.config("max_retries = 1\ncancel_running_executions = true")).Succeeds()
	if len(w.e.Run().Running(w.job.String())) != 1 {
		t.Fatal("the first step ended the execution")
	}
	w.tf.Plan("-destroy").Says("Running executions will be cancelled", execution)
	since = acctest.Since(w.e)
	w.tf.Destroy().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.CancelExecution, acctest.DeleteJob, acctest.SetBucketPolicy, acctest.DeleteServiceAccount})
	w.empty()
}

// A destroy in which each thing is gone already, or refuses once.
func TestAccDestroyGoesOn(t *testing.T) { // row 22
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	for _, method := range []string{acctest.DeleteJob, acctest.SetBucketPolicy, acctest.DeleteServiceAccount} {
		w.e.Faults().Add(faults.Fault{Method: method, Status: status.New(codes.PermissionDenied, "not today")})
	}
	for range 3 {
		w.tf.Destroy().Fails("not today")
		equal(t, "state", len(w.tf.State().Addresses()), 1)
	}
	w.tf.Destroy().Succeeds()
	w.empty()

	w.apply(w.config("")).Succeeds()
	account, _ := w.e.IAM().Lookup(w.email())
	if err := w.client.DeleteServiceAccount(t.Context(), w.job.Project, account.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	w.deleteJob()
	w.tf.Destroy("-refresh=false").Succeeds()
}

// What was made on the emulator is not looked for on Google Cloud: no call is
// made, and nothing is forgotten.
func TestAccOtherWorld(t *testing.T) { // row 24
	t.Parallel()
	w := newWorld(t)
	w.apply(w.config("")).Succeeds()
	state, err := os.ReadFile(filepath.Join(w.tf.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	cloud := acctest.CLI(t, nil, "GOOGLE_OAUTH_ACCESS_TOKEN=none", "GOOGLE_PROJECT="+w.job.Project, "GOOGLE_REGION="+w.job.Location,
		"RESILIENTJOB_EMULATOR_HOST=", "HTTPS_PROXY=http://127.0.0.1:1")
	cloud.Write(w.config(""))
	cloud.WriteFile("terraform.tfstate", string(state))
	cloud.Plan().Fails("Emulator and Google Cloud mixed up", "Set RESILIENTJOB_EMULATOR_HOST")
	cloud.Destroy("-refresh=false").Fails("Emulator and Google Cloud mixed up")
	equal(t, "state", cloud.State().Attribute(address, "uid"), w.live().GetUid())
}

// A bucket elsewhere is worth a warning, once.
func TestAccBucketElsewhere(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	far := acctest.Name("far")
	if _, err := w.client.CreateBucket(t.Context(), w.job.Project, &storage.Bucket{Name: far, Location: "EUROPE-WEST4"}); err != nil {
		t.Fatal(err)
	}
	hcl := w.bare(`checkpoint = { bucket = "` + far + `" }`)
	w.tf.Write(hcl)
	w.tf.Plan().Says("Checkpoint bucket is not in the job's region", "is in europe-west4 and the job in us-central1")
	w.tf.Apply().Succeeds()
	w.tf.Plan().IsEmpty().SaysNot("Checkpoint bucket")
	w.apply(strings.Replace(hcl, "checkpoint =", "max_retries = 1\ncheckpoint =", 1)).Succeeds().SaysNot("Checkpoint bucket")
}

// Import by every form of the name, of a job that another client made.
func TestAccImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared := w.addAccount("shared-account", "")
	disabled := true
	op, err := w.client.CreateJob(t.Context(), w.job.Parent(), w.job.Name, &runpb.Job{
		Labels: map[string]string{"team": "ml"}, Client: "gcloud", LaunchStage: 3,
		Template: &runpb.ExecutionTemplate{Labels: map[string]string{"team": "ml"}, Template: &runpb.TaskTemplate{
			ServiceAccount: shared.GetEmail(), GpuZonalRedundancyDisabled: &disabled, NodeSelector: &runpb.NodeSelector{Accelerator: "nvidia-l4"},
			Containers: []*runpb.Container{{
				Image: "train:1", Args: []string{"--epochs=3"}, Env: []*runpb.EnvVar{{Name: "LR", Values: &runpb.EnvVar_Value{Value: "0.1"}}},
				Resources:    &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "8000m", "memory": "32Gi", "nvidia.com/gpu": "1"}},
				VolumeMounts: []*runpb.VolumeMount{{Name: "checkpoint-volume", MountPath: "/mnt/ckpt"}},
			}},
			Volumes: []*runpb.Volume{{Name: "checkpoint-volume", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: w.bucket, MountOptions: []string{"only-dir=runs/1"}}}}},
		}},
	})
	if err == nil {
		_, err = op.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.tf.Write(w.bare(`
		args            = ["--epochs=3"]
		env             = { LR = "0.1" }
		cpu             = "8"
		memory          = "32Gi"
		task_timeout    = "10m"
		labels          = { team = "ml" }
		service_account = "` + shared.GetEmail() + `"
		checkpoint      = { bucket = "` + w.bucket + `", mount_path = "/mnt/ckpt", prefix = "runs/1" }
	`))
	w.tf.Import(address, w.job.Name+"-not").Fails("Cannot import the job", "does not exist", "Only an existing job can be imported")
	w.tf.Import(address, "a/b/c/d").Fails("is not the name of a Cloud Run job")
	for _, id := range []string{w.job.String(), w.job.Project + "/" + w.job.Location + "/" + w.job.Name, w.job.Location + "/" + w.job.Name, w.job.Name} {
		since := acctest.Since(w.e)
		w.tf.Import(address, id).Succeeds()
		equal(t, "writes of an import", since.Writes(), []string{})
		w.tf.Plan().IsEmpty()
		w.tf.Run("state", "rm", address).Succeeds()
	}
	// Managed from here on, the volume keeps its name.
	w.tf.Import(address, w.job.Name).Succeeds()
	w.tf.Write(w.bare("service_account = \"" + shared.GetEmail() + "\"\ncheckpoint = { bucket = \"" + w.bucket + "\" }"))
	w.tf.Apply().Succeeds()
	equal(t, "volume", w.live().GetTemplate().GetTemplate().GetVolumes()[0].GetName(), "checkpoint-volume")
	w.tf.Plan().IsEmpty()
	w.setJob(func(j *runpb.Job) {
		j.Template.Template.Containers = append(j.Template.Template.Containers, &runpb.Container{Name: "sidecar", Image: "x"})
	})
	w.tf.Run("state", "rm", address).Succeeds()
	w.tf.Import(address, w.job.Name).Fails("Job cannot be imported", `"sidecar"`)
}
