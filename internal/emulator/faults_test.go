// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
)

const createJob = "google.cloud.run.v2.Jobs/CreateJob"

// case 38: a request that was done and whose answer was lost.
func TestLostAndCutByGRPC(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault faults.Fault
		done  bool
		code  codes.Code
	}{
		"lost": {faults.Fault{Method: createJob, Lose: true}, true, codes.OK},
		"cut":  {faults.Fault{Method: createJob, Cut: true}, false, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t)
			e.Faults().Add(c.fault)
			client := jobs(t, e)
			_, err := client.CreateJob(t.Context(), &runpb.CreateJobRequest{Parent: parent, JobId: "train", Job: minimalJob()})
			if status.Code(err) != codes.Unavailable {
				t.Errorf("the client got %v, want what a dying connection gives", err)
			}
			calls := e.Faults().Find(createJob)
			if len(calls) != 1 || calls[0].Code != c.code {
				t.Errorf("recorded %+v", calls)
			}
			if done := e.Run().Job(parent+"/jobs/train") != nil; done != c.done {
				t.Errorf("the job exists: %v, want %v", done, c.done)
			}
			// The client goes on with a new connection.
			if _, err := client.GetJob(t.Context(), &runpb.GetJobRequest{Name: parent + "/jobs/train"}); (err == nil) != c.done {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestLostAndCutByREST(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.Faults().Add(faults.Fault{Method: createJob, Lose: true})
	e.Faults().Add(faults.Fault{Method: createJob, After: 1, Cut: true})
	e.Faults().Add(faults.Fault{Method: "storage.buckets.insert", Lose: true})
	e.Faults().Add(faults.Fault{Method: "storage.buckets.insert", After: 1, Cut: true})
	for _, id := range []string{"lost", "cut"} {
		if got, err := send(t, e, "POST", "/v2/"+parent+"/jobs?jobId="+id, minimal); err == nil {
			t.Errorf("job %s: an answer arrived: %s", id, got.text)
		}
		if got, err := send(t, e, "POST", "/storage/v1/b?project=p", `{"name":"bucket-`+id+`"}`); err == nil {
			t.Errorf("bucket %s: an answer arrived: %s", id, got.text)
		}
	}
	for path, want := range map[string]int{
		"/v2/" + parent + "/jobs/lost": http.StatusOK, "/v2/" + parent + "/jobs/cut": http.StatusNotFound,
		"/storage/v1/b/bucket-lost": http.StatusOK, "/storage/v1/b/bucket-cut": http.StatusNotFound,
	} {
		if got := rest(t, e, "GET", path, ""); got.code != want {
			t.Errorf("%s: %d, want %d", path, got.code, want)
		}
	}
	if n := e.Faults().Count(createJob); n != 2 {
		t.Errorf("%d creates were recorded, want 2: no client may send one again by itself", n)
	}
}

func TestRefusedByBoth(t *testing.T) {
	t.Parallel()
	e := start(t)
	refused := status.New(codes.ResourceExhausted, "Too Many Requests")
	e.Faults().Add(faults.Fault{Method: "*/GetJob", Times: 2, Status: refused})
	e.Faults().Add(faults.Fault{Method: "storage.buckets.get", Status: refused})
	if _, err := jobs(t, e).GetJob(t.Context(), &runpb.GetJobRequest{Name: parent + "/jobs/train"}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("by gRPC: %v", err)
	}
	for _, path := range []string{"/v2/" + parent + "/jobs/train", "/storage/v1/b/some-bucket"} {
		if got := rest(t, e, "GET", path, ""); got.code != http.StatusTooManyRequests || got.at("error.message") != "Too Many Requests" {
			t.Errorf("%s: %d %s", path, got.code, got.text)
		}
	}
}

// A hook may change what is there between a read and a write; a wait ends with
// the caller's patience.
func TestHookAndWait(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	e.Faults().Add(faults.Fault{Method: "*/UpdateJob", Do: func(c faults.Call) {
		e.Run().SetJob(c.Resource, func(j *runpb.Job) { j.Labels = map[string]string{"other": "client"} })
	}})
	job := must(t, e, "GET", "/v2/"+parent+"/jobs/train", "")
	etag := `{"etag":` + quote(job.at("etag")) + `,` + minimal[1:]
	if got := rest(t, e, "PATCH", "/v2/"+parent+"/jobs/train", etag); got.code != http.StatusConflict || got.at("error.status") != "ABORTED" {
		t.Errorf("an update after another client's: %d %s", got.code, got.text)
	}
	// The answer must not come at the very moment at which the caller gives up.
	gone := make(chan struct{})
	e.Faults().Add(faults.Fault{Method: "*/GetJob", Wait: func(ctx context.Context) { <-ctx.Done(); <-gone }})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	defer close(gone)
	if _, err := jobs(t, e).GetJob(ctx, &runpb.GetJobRequest{Name: parent + "/jobs/train"}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that hangs: %v", err)
	}
}

// The end of an operation can be changed, whichever way the call came.
func TestOperationFault(t *testing.T) {
	t.Parallel()
	e := start(t)
	missing := status.New(codes.NotFound, "Image 'example.com/train:1' not found.")
	e.Faults().Add(faults.Fault{Method: createJob, Operation: &faults.OperationFault{Status: missing}})
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=failed", minimal).at("name").(string)
	got := must(t, e, "GET", "/v2/"+name, "")
	if got.at("done") != true || got.at("error.code") != 5.0 || got.at("error.message") != missing.Message() {
		t.Errorf("operation: %s", got.text)
	}
	job := must(t, e, "GET", "/v2/"+parent+"/jobs/failed", "") // it exists
	if job.at("terminalCondition.state") != "CONDITION_FAILED" {
		t.Errorf("job: %s", job.text)
	}
}

// cases 65 and 67: an account is known to IAM, to policies and to Cloud Run at
// different times.
func TestAccountBecomesVisible(t *testing.T) {
	t.Parallel()
	e := start(t)
	const email = "trainer@p.iam.gserviceaccount.com"
	must(t, e, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`)
	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	e.IAM().Hide(email, iam.ReadView, 1)
	e.IAM().Hide(email, iam.PolicyView, 1)
	e.IAM().Hide(email, iam.RunView, 1)
	job := `{"template":{"template":{"serviceAccount":"` + email + `","containers":[{"image":"x"}]}}}`
	policy := `{"bindings":[{"role":"roles/storage.objectUser","members":["serviceAccount:` + email + `"]}]}`
	for i, want := range []struct {
		account, policy, job int
	}{{404, 400, 403}, {200, 200, 200}} {
		if got := rest(t, e, "GET", "/v1/projects/p/serviceAccounts/"+email, ""); got.code != want.account {
			t.Errorf("read %d: %d %s", i, got.code, got.text)
		}
		if got := rest(t, e, "PUT", "/storage/v1/b/ckpt-bucket/iam", policy); got.code != want.policy {
			t.Errorf("policy %d: %d %s", i, got.code, got.text)
		}
		if got := rest(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", job); got.code != want.job {
			t.Errorf("job %d: %d %s", i, got.code, got.text)
		}
	}
}
