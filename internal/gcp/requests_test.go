// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// wantRequests compares everything that was sent to a method.
func wantRequests(t *testing.T, f *fakeCloud, method string, want ...proto.Message) {
	t.Helper()
	if d := cmp.Diff(want, f.requests(method), protocmp.Transform()); d != "" {
		t.Errorf("%s (-want +got):\n%s", method, d)
	}
}

func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	const email = "train-0123abcd@p.iam.gserviceaccount.com"
	const name = "projects/p/serviceAccounts/" + email
	f := newFakeCloud(t)
	account := &adminpb.ServiceAccount{Name: name, Email: email, UniqueId: "123456789012345678901"}
	f.on("CreateServiceAccount", answer{message: account})
	f.on("GetServiceAccount", answer{message: account})
	f.on("PatchServiceAccount", answer{message: &adminpb.ServiceAccount{Name: name, DisplayName: "d"}})
	f.on("DeleteServiceAccount", answer{err: status.Error(codes.Unavailable, "x")}, answer{message: &emptypb.Empty{}})

	if got, err := f.CreateServiceAccount(t.Context(), "p", "train-0123abcd", "d", "marker"); err != nil || got.GetEmail() != email {
		t.Errorf("create: %v, %v", got, err)
	}
	wantRequests(t, f, "CreateServiceAccount", &adminpb.CreateServiceAccountRequest{Name: "projects/p", AccountId: "train-0123abcd",
		ServiceAccount: &adminpb.ServiceAccount{DisplayName: "d", Description: "marker"}})
	// The answer to a change holds only what was changed: the account is read.
	if got, err := f.UpdateServiceAccount(t.Context(), "p", email, "d", "marker"); err != nil || got.GetUniqueId() == "" {
		t.Errorf("update: %v, %v", got, err)
	}
	wantRequests(t, f, "PatchServiceAccount", &adminpb.PatchServiceAccountRequest{
		ServiceAccount: &adminpb.ServiceAccount{Name: name, DisplayName: "d", Description: "marker"},
		UpdateMask:     &fieldmaskpb.FieldMask{Paths: []string{"display_name", "description"}}})
	wantRequests(t, f, "GetServiceAccount", &adminpb.GetServiceAccountRequest{Name: name})
	if err := f.DeleteServiceAccount(t.Context(), "p", "123456789012345678901"); err != nil {
		t.Errorf("delete: %v", err)
	}
	byID := &adminpb.DeleteServiceAccountRequest{Name: "projects/p/serviceAccounts/123456789012345678901"}
	wantRequests(t, f, "DeleteServiceAccount", byID, byID)

	// A create whose answer is lost is not sent again; the caller must look (case 70).
	f.on("CreateServiceAccount", answer{err: status.Error(codes.Unavailable, "x")})
	if _, err := f.CreateServiceAccount(t.Context(), "p", "other", "", ""); !IsAmbiguous(err) || f.count("CreateServiceAccount") != 2 {
		t.Errorf("got %v after %d calls", err, f.count("CreateServiceAccount"))
	}
}

func TestJobRequests(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	op := answer{message: operationOf(t, &runpb.Job{Name: testJob}, false, nil, nil)}
	f.on("CreateJob", op)
	f.on("UpdateJob", op)
	f.on("DeleteJob", answer{err: status.Error(codes.NotFound, "Resource 'train' of kind 'JOB' in region 'us-central1' in project 'p' does not exist.")})
	job := &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: 0}}}}
	if _, err := f.CreateJob(t.Context(), testParent, "train", job); err != nil {
		t.Error(err)
	}
	wantRequests(t, f, "CreateJob", &runpb.CreateJobRequest{Parent: testParent, JobId: "train", Job: job})
	update := &runpb.Job{Name: testJob, Etag: "e", Labels: map[string]string{"a": "b"}}
	if _, err := f.UpdateJob(t.Context(), update); err != nil {
		t.Error(err)
	}
	wantRequests(t, f, "UpdateJob", &runpb.UpdateJobRequest{Job: update})
	if _, err := f.DeleteJob(t.Context(), testJob, "e"); !IsNotFound(err) || IsAmbiguous(err) {
		t.Errorf("delete: %v", err)
	}
	wantRequests(t, f, "DeleteJob", &runpb.DeleteJobRequest{Name: testJob, Etag: "e"})
}

func TestExecutionCalls(t *testing.T) {
	t.Parallel()
	const name = testJob + "/executions/train-abcde"
	f := newFakeCloud(t)
	execution := &runpb.Execution{Name: name, RunningCount: 1}
	f.on("GetExecution", answer{message: execution})
	f.on("GetTask", answer{message: &runpb.Task{Name: name + "/tasks/train-abcde-task0"}})
	if got, err := f.GetExecution(t.Context(), name); err != nil || got.GetName() != name {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := f.GetTask(t.Context(), name+"/tasks/train-abcde-task0"); err != nil || got.GetName() == "" {
		t.Errorf("%v, %v", got, err)
	}
	reads := f.count("GetExecution")
	f.on("CancelExecution", answer{err: status.Error(codes.Unavailable, "x")}, answer{message: operationOf(t, execution, false, nil, nil)})
	if got, err := f.CancelExecution(t.Context(), name); err != nil || got.GetName() != name || f.count("GetExecution") != reads {
		t.Errorf("cancel: %v, %v", got, err)
	}
	f.on("CancelExecution", answer{message: operationOf(t, nil, false, nil, nil)})
	if got, err := f.CancelExecution(t.Context(), name); err != nil || got.GetName() != name || f.count("GetExecution") != reads+1 {
		t.Errorf("cancel, answered without the execution: %v, %v", got, err)
	}
	f.on("CancelExecution", answer{err: status.Error(codes.FailedPrecondition, "Execution 'E' cannot be cancelled because it is not running.")})
	_, err := f.CancelExecution(t.Context(), name)
	if e := wantError(t, err); e.Code != codes.FailedPrecondition || e.Ambiguous {
		t.Errorf("cancel of a finished one: %+v", e)
	}
}

// A client can be closed before it was ever used, and while it is used; calls after that fail with an error.
func TestClose(t *testing.T) {
	t.Parallel()
	c, err := New(t.Context(), Options{EmulatorHost: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.GetJob(t.Context(), testJob); err == nil {
		t.Error("a job was read")
	}
	if _, err := c.GetBucket(t.Context(), "b"); err == nil {
		t.Error("a bucket was read")
	}
	if _, err := c.GetServiceAccount(t.Context(), "p", "e"); err == nil {
		t.Error("an account was read")
	}
	if _, err := c.GetSecret(t.Context(), testSecret); err == nil {
		t.Error("a secret was read")
	}
}
