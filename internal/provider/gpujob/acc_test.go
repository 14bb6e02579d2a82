// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// limit ends a test that hangs; no test waits for it.
const limit = time.Minute

const address = "resilientjob_gpu_job.train"

// world is an emulator with a bucket, a command line and a client of its own.
type world struct {
	t      testing.TB
	e      *emulator.Emulator
	tf     *acctest.Terraform
	client *gcp.Client
	tasks  *runner.Scripted
	job    resourcename.Job
	bucket string
}

func newWorld(t testing.TB, options ...func(*emulator.Options)) *world {
	t.Helper()
	w := withoutTerraform(t, options...)
	w.tf = acctest.CLI(t, w.e)
	return w
}

// processless is a world in which Terraform's core in process takes the place of
// the command line: for what is about requests, faults, states and messages.
type processless struct {
	*world
	tf *terraform.Folder
}

func inProcess(t testing.TB, options ...func(*emulator.Options)) *processless {
	t.Helper()
	w := withoutTerraform(t, options...)
	return &processless{w, &terraform.Folder{Core: terraform.New(t, w.e, terraform.NewClock())}}
}

// apply writes and applies a configuration.
func (w *processless) apply(hcl string) *terraform.Outcome {
	w.t.Helper()
	w.tf.Write(hcl)
	return w.tf.Apply()
}

func withoutTerraform(t testing.TB, options ...func(*emulator.Options)) *world {
	t.Helper()
	w := &world{t: t, tasks: runner.NewScripted()}
	w.tasks.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
	w.e = acctest.Emulator(t, append(options, func(o *emulator.Options) { o.Launcher = w.tasks })...)
	client, err := gcp.New(t.Context(), gcp.Options{EmulatorHost: w.e.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	w.client = client
	w.job = resourcename.Job{Project: acctest.EmulatorProject, Location: acctest.EmulatorRegion, Name: acctest.Name("job")}
	w.bucket = w.newBucket()
	return w
}

func (w *world) newBucket() string {
	w.t.Helper()
	name := acctest.Name("bucket")
	_, err := w.client.CreateBucket(w.t.Context(), w.job.Project, &storage.Bucket{
		Name: name, Location: w.job.Location,
		IamConfiguration: &storage.BucketIamConfiguration{UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}

// email is the account that the provider makes by default.
func (w *world) email() string {
	return resourcename.ServiceAccountEmail(w.job.Project, resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name))
}

// config is the resource with attributes, and a checkpoint in the bucket.
func (w *world) config(attributes string) string {
	return w.bare("checkpoint = { bucket = \"" + w.bucket + "\" }\n" + attributes)
}

// bare is the resource with nothing but name, image and attributes.
func (w *world) bare(attributes string) string {
	image := "image = \"train:1\"\n"
	if strings.Contains(attributes, "image ") {
		image = ""
	}
	return acctest.ProviderConfig(w.e) + "resource \"resilientjob_gpu_job\" \"train\" {\nname = \"" + w.job.Name + "\"\n" + image + attributes + "\n}\n"
}

// apply writes and applies a configuration.
func (w *world) apply(hcl string) *acctest.Result {
	w.t.Helper()
	w.tf.Write(hcl)
	return w.tf.Apply()
}

// live is the job as the API has it.
func (w *world) live() *runpb.Job {
	w.t.Helper()
	job := w.e.Run().Job(w.job.String())
	if job == nil {
		w.t.Fatal("the job does not exist")
	}
	return job
}

func (w *world) container() *runpb.Container {
	w.t.Helper()
	return w.live().GetTemplate().GetTemplate().GetContainers()[0]
}

// grant is a role on the test's bucket.
func (w *world) grant(email string) gcp.Grant { return w.grantOn(w.bucket, email) }

func (w *world) grantOn(bucket, email string) gcp.Grant {
	return gcp.Grant{Resource: "projects/_/buckets/" + bucket, Role: "roles/storage.objectUser", Member: "serviceAccount:" + email}
}

func (w *world) hasGrant(g gcp.Grant) bool {
	w.t.Helper()
	has, err := w.client.HasMember(w.t.Context(), g)
	if err != nil {
		w.t.Fatal(err)
	}
	return has
}

// addAccount makes an account as another client does.
func (w *world) addAccount(id, description string) *adminpb.ServiceAccount {
	w.t.Helper()
	account, err := w.client.CreateServiceAccount(w.t.Context(), w.job.Project, id, "", description)
	if err != nil {
		w.t.Fatal(err)
	}
	return account
}

// setJob changes the job as another client does.
func (w *world) setJob(change func(*runpb.Job)) {
	w.t.Helper()
	if !w.e.Run().SetJob(w.job.String(), change) {
		w.t.Fatal("the job does not exist")
	}
}

// deleteJob deletes the job as another client does.
func (w *world) deleteJob() {
	w.t.Helper()
	op, err := w.client.DeleteJob(w.t.Context(), w.job.String(), "")
	if err == nil {
		_, err = op.Wait(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// run starts an execution, waits until its task runs, and returns its name.
func (w *world) run() string {
	w.t.Helper()
	e, err := w.client.RunJob(w.t.Context(), &runpb.RunJobRequest{Name: w.job.String()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.attempt()
	return path.Base(e.GetName())
}

// attempt waits for the next attempt of any task.
func (w *world) attempt() *runner.ScriptedAttempt {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	a, err := w.tasks.Await(ctx, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// finish ends an execution with success.
func (w *world) finish(execution string) {
	w.t.Helper()
	for _, a := range w.tasks.Attempts() {
		a.Exit(0)
	}
	w.awaitEnd(execution)
}

func (w *world) awaitEnd(execution string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	if _, err := w.e.Run().Await(ctx, w.job.String()+"/executions/"+execution, func(e *runpb.Execution) bool { return e.GetCompletionTime() != nil }); err != nil {
		w.t.Fatal(err)
	}
}

// empty fails the test unless nothing of the resource is left.
func (w *world) empty() {
	w.t.Helper()
	if w.e.Run().Job(w.job.String()) != nil {
		w.t.Error("the job is left")
	}
	if _, ok := w.e.IAM().Lookup(w.email()); ok {
		w.t.Error("the account is left")
	}
	for _, g := range []gcp.Grant{w.grant(w.email())} {
		if w.hasGrant(g) {
			w.t.Errorf("a grant is left: %v", g)
		}
	}
}

// equal fails the test unless both are written alike.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

// inOrder fails the test unless the methods appear in this order, each after the
// one before it.
func inOrder(t testing.TB, all []string, want ...string) {
	t.Helper()
	at := 0
	for _, w := range want {
		i := slices.Index(all[at:], w)
		if i < 0 {
			t.Fatalf("no %s in %q after position %d", w, all, at)
		}
		at += i + 1
	}
}
