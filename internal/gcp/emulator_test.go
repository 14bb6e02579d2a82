// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

const (
	project  = "client-project"
	parent   = "projects/" + project + "/locations/us-central1"
	jobName  = parent + "/jobs/train"
	insert   = "storage.buckets.insert"
	setIAM   = "storage.buckets.setIamPolicy"
	runJob   = "google.cloud.run.v2.Jobs/RunJob"
	createSA = "google.iam.admin.v1.IAM/CreateServiceAccount"
)

// world is an emulator, the program whose tasks the test plays, and a client.
type world struct {
	*gcp.Client
	emulator *emulator.Emulator
	tasks    *runner.Scripted
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{tasks: runner.NewScripted()}
	var err error
	if w.emulator, err = emulator.Start(emulator.Options{Launcher: w.tasks}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.emulator.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.Client, err = gcp.New(t.Context(), gcp.Options{EmulatorHost: w.emulator.Addr()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) bucket(t *testing.T, name string) {
	t.Helper()
	_, err := w.CreateBucket(t.Context(), project, &storage.Bucket{Name: name, Location: "us-central1",
		IamConfiguration: &storage.BucketIamConfiguration{UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}}})
	if err != nil {
		t.Fatal(err)
	}
}

func trainingJob(account string) *runpb.Job {
	return &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		ServiceAccount: account, Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/r/train:1", Command: []string{"train"}}},
	}}}
}

// The whole way of a job: account, bucket, grant, job, run, cancel, delete; every id is an emulator's.
func TestWholeWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	account, err := w.CreateServiceAccount(ctx, project, "train-0123abcd", "", jobName)
	if err != nil {
		t.Fatal(err)
	}
	email := account.GetEmail()
	// Nobody sees the account yet (cases 65, 67).
	for _, by := range []iam.Viewer{iam.ReadView, iam.PolicyView, iam.RunView} {
		w.emulator.IAM().Hide(email, by, 2)
	}
	if _, err := w.GetServiceAccount(ctx, project, email, gcp.Fresh()); err != nil {
		t.Fatal(err)
	}
	w.bucket(t, "ckpt-way")
	g := gcp.Grant{Resource: "projects/_/buckets/ckpt-way", Role: "roles/storage.objectUser", Member: "serviceAccount:" + email}
	if added, err := w.AddMember(ctx, g, gcp.FreshAccount(email)); err != nil || !added {
		t.Fatalf("%v, %v", added, err)
	}
	op, err := w.CreateJob(ctx, parent, "train", trainingJob(email), gcp.FreshAccount(email))
	if err != nil {
		t.Fatal(err)
	}
	job, err := op.Wait(ctx)
	if err != nil || job.GetTerminalCondition().GetState() != runpb.Condition_CONDITION_SUCCEEDED {
		t.Fatalf("%v, %v", job, err)
	}
	for what, uid := range map[string]string{"job": job.GetUid(), "account": account.GetUniqueId()} {
		if !gcp.EmulatorUID(uid) {
			t.Errorf("%s: %q is not known as the emulator's", what, uid)
		}
	}
	b, err := w.GetBucket(ctx, "ckpt-way")
	if err != nil || !gcp.EmulatorUID(fmt.Sprint(b.ProjectNumber)) {
		t.Errorf("bucket: %v, %v", b, err)
	}

	// An update with a stale etag is a conflict; with the live one it is made.
	stale := &runpb.Job{Name: jobName, Etag: op.Job().GetEtag(), Labels: map[string]string{"a": "b"}, Template: trainingJob(email).GetTemplate()}
	w.emulator.Run().SetJob(jobName, func(j *runpb.Job) { j.Labels = map[string]string{"foreign": "yes"} })
	if _, err := w.UpdateJob(ctx, stale); !gcp.IsConflict(err) {
		t.Errorf("a stale etag: %v", err)
	}
	live, err := w.GetJob(ctx, jobName)
	if err != nil {
		t.Fatal(err)
	}
	live.Labels["a"] = "b"
	if op, err = w.UpdateJob(ctx, live); err != nil {
		t.Fatal(err)
	}
	if job, err = op.Wait(ctx); err != nil || job.GetLabels()["foreign"] != "yes" {
		t.Fatalf("%v, %v", job.GetLabels(), err)
	}

	execution, err := w.RunJob(ctx, &runpb.RunJobRequest{Name: jobName})
	if err != nil {
		t.Fatal(err)
	}
	short := execution.GetName()[strings.LastIndex(execution.GetName(), "/")+1:]
	waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := w.tasks.Await(waiting, short+"-task0"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CancelExecution(ctx, execution.GetName()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for e, err := range w.Executions(ctx, jobName) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.GetName())
	}
	if d := cmp.Diff([]string{execution.GetName()}, names); d != "" {
		t.Error(d)
	}
	for task, err := range w.Tasks(ctx, execution.GetName()) {
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.GetTask(ctx, task.GetName())
		if err != nil || again.GetIndex() != task.GetIndex() {
			t.Errorf("%v, %v", again, err)
		}
	}

	if op, err = w.DeleteJob(ctx, jobName, job.GetEtag()); err != nil {
		t.Fatal(err)
	}
	if _, err := op.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.GetJob(ctx, jobName); !gcp.IsNotFound(err) {
		t.Errorf("after the delete: %v", err)
	}
	if removed, err := w.RemoveMember(ctx, g); err != nil || !removed {
		t.Errorf("%v, %v", removed, err)
	}
	if err := w.DeleteServiceAccount(ctx, project, account.GetUniqueId()); err != nil {
		t.Error(err)
	}
	if err := w.DeleteBucket(ctx, "ckpt-way"); err != nil {
		t.Error(err)
	}
}

// An account that was deleted and made again leaves an entry in the policy that would have the grant refused (cases 71, 73).
func TestDeletedTwinOnTheEmulator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.bucket(t, "ckpt-twin")
	grant := func(role string) gcp.Grant {
		return gcp.Grant{Resource: "projects/_/buckets/ckpt-twin", Role: role, Member: "serviceAccount:trainer@" + project + ".iam.gserviceaccount.com"}
	}
	for range 2 {
		if _, err := w.CreateServiceAccount(ctx, project, "trainer", "", ""); err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{"roles/storage.objectUser", "roles/storage.objectViewer"} {
			g := grant(role)
			if added, err := w.AddMember(ctx, g); err != nil || !added {
				t.Fatalf("%s: %v, %v", role, added, err)
			}
			if has, err := w.HasMember(ctx, g); err != nil || !has {
				t.Fatalf("%s: %v, %v", role, has, err)
			}
		}
		if err := w.DeleteServiceAccount(ctx, project, "trainer@"+project+".iam.gserviceaccount.com"); err != nil {
			t.Fatal(err)
		}
	}
	g := grant("roles/storage.objectUser")
	if has, err := w.HasMember(ctx, g); err != nil || has {
		t.Errorf("a deleted account has the role: %v, %v", has, err)
	}
	if removed, err := w.RemoveMember(ctx, g); err != nil || !removed {
		t.Errorf("its entry was not removed: %v, %v", removed, err)
	}
}

// Many writers of two clients on one bucket: nothing is lost, and conflicts are settled (cases 76, 77, 79).
func TestManyWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.bucket(t, "ckpt-many")
	second, err := gcp.New(ctx, gcp.Options{EmulatorHost: w.emulator.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	var group sync.WaitGroup
	const n = 12
	grant := func(i int) gcp.Grant {
		return gcp.Grant{Resource: "projects/_/buckets/ckpt-many", Role: "roles/storage.objectViewer", Member: fmt.Sprintf("user:u%d@example.com", i)}
	}
	for i := range n {
		client := w.Client
		if i%2 == 1 {
			client = second
		}
		group.Go(func() {
			if added, err := client.AddMember(ctx, grant(i)); err != nil || !added {
				t.Errorf("%d: %v, %v", i, added, err)
			}
		})
	}
	// A label of somebody else makes the policy's etag stale, too.
	group.Go(func() {
		if _, err := second.PatchBucket(ctx, "ckpt-many", &storage.Bucket{Labels: map[string]string{"a": "b"}}); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	for i := range n {
		if has, err := w.HasMember(ctx, grant(i)); err != nil || !has {
			t.Errorf("%d is lost: %v", i, err)
		}
	}
}

// Lost answers: what was done is told from what was not (cases 37, 38).
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	script := w.emulator.Faults()
	script.Add(faults.Fault{Method: insert, Lose: true})
	_, err := w.CreateBucket(ctx, project, &storage.Bucket{Name: "ckpt-lost", Location: "us-central1"})
	if !gcp.IsAmbiguous(err) || script.Count(insert) != 1 {
		t.Errorf("bucket: %v after %d calls", err, script.Count(insert))
	}
	if _, err := w.CreateBucket(ctx, project, &storage.Bucket{Name: "ckpt-lost", Location: "us-central1"}); !gcp.IsAlreadyExists(err) || gcp.IsAmbiguous(err) {
		t.Errorf("bucket again: %v", err)
	}
	script.Add(faults.Fault{Method: createSA, Lose: true})
	if _, err := w.CreateServiceAccount(ctx, project, "trainer", "", ""); !gcp.IsAmbiguous(err) || script.Count(createSA) != 1 {
		t.Errorf("account: %v after %d calls", err, script.Count(createSA))
	}
	script.Add(faults.Fault{Method: setIAM, Lose: true})
	added, err := w.AddMember(ctx, gcp.Grant{Resource: "projects/_/buckets/ckpt-lost", Role: "roles/storage.objectViewer", Member: "user:u@example.com"})
	if err != nil || !added || script.Count(setIAM) != 1 {
		t.Errorf("grant: %v, %v after %d writes", added, err, script.Count(setIAM))
	}

	op, err := w.CreateJob(ctx, parent, "train", trainingJob("trainer@"+project+".iam.gserviceaccount.com"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fault     faults.Fault
		ambiguous bool
		calls     int
	}{
		"lost":       {faults.Fault{Method: runJob, Lose: true}, true, 1},
		"cut":        {faults.Fault{Method: runJob, Cut: true}, true, 1},
		"503":        {faults.Fault{Method: runJob, Status: status.New(codes.Unavailable, "Service Unavailable")}, true, 1},
		"rate limit": {faults.Fault{Method: runJob, Status: status.New(codes.ResourceExhausted, "Too Many Requests")}, false, 2},
		"refused":    {faults.Fault{Method: runJob, Status: status.New(codes.PermissionDenied, "no run.jobs.run")}, false, 1},
	} {
		before := script.Count(runJob)
		script.Add(c.fault)
		_, err := w.RunJob(ctx, &runpb.RunJobRequest{Name: jobName})
		if got := script.Count(runJob) - before; got != c.calls || gcp.IsAmbiguous(err) != c.ambiguous {
			t.Errorf("%s: %d calls, %v", name, got, err)
		}
	}
}

// An operation that ends without a response has succeeded; one that fails leaves the job (cases 26, 32).
func TestOperationsOnTheEmulator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	const create = "google.cloud.run.v2.Jobs/CreateJob"
	w.emulator.Faults().Add(faults.Fault{Method: create, Operation: &faults.OperationFault{NoResponse: true}})
	op, err := w.CreateJob(ctx, parent, "train", trainingJob(""))
	if err != nil {
		t.Fatal(err)
	}
	job, err := op.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	live, err := w.GetJob(ctx, jobName)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(live, job, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	w.emulator.Faults().Add(faults.Fault{Method: create, Operation: &faults.OperationFault{Status: status.New(codes.NotFound, "Image 'x' not found.")}})
	if op, err = w.CreateJob(ctx, parent, "broken", trainingJob("")); err != nil {
		t.Fatal(err)
	}
	_, err = op.Wait(ctx)
	if e, ok := gcp.AsError(err); !ok || e.Code != codes.NotFound || e.Message != "Image 'x' not found." || e.Ambiguous {
		t.Errorf("got %+v", err)
	}
	if _, err := w.GetJob(ctx, parent+"/jobs/broken"); err != nil {
		t.Errorf("the job is not there: %v", err)
	}
}
