// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"errors"
	"testing"

	"google.golang.org/api/googleapi"
	gcs "google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

func TestScriptedRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	for code, want := range map[codes.Code]struct {
		status int
		reason string
	}{
		codes.ResourceExhausted: {429, "rateLimitExceeded"}, codes.Unavailable: {503, "backendError"}, codes.Internal: {500, "backendError"},
		codes.PermissionDenied: {403, "forbidden"}, codes.FailedPrecondition: {412, "conditionNotMet"}, codes.Aborted: {409, "conflict"},
		codes.InvalidArgument: {400, "invalid"}, codes.NotFound: {404, "notFound"}, codes.Unauthenticated: {401, "authError"},
	} {
		w.script.Add(faults.Fault{Method: "storage.buckets.setIamPolicy", Status: status.New(code, "scripted"), Times: 1})
		// The generated client itself tries again after some of these.
		code, body, _ := w.send("PUT", "/storage/v1/b/data/iam", `{"bindings":[]}`)
		err := googleapi.CheckResponse(response(code, body))
		refused(t, err, want.status, want.reason, "scripted")
	}
	p, err := w.api.Buckets.GetIamPolicy("data").Do()
	ok(t, err)
	equal(t, "etag: nothing was written", p.Etag, "CAE=")
}

// case 38: the answer of a create is lost, and the repeat meets the bucket.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script.Add(faults.Fault{Method: "storage.buckets.insert", Lose: true})
	_, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "lost"}).Do()
	var e *googleapi.Error
	if err != nil && errors.As(err, &e) {
		refused(t, err, 409, "conflict", "you already own it") // the client asked again by itself
	} else if err == nil {
		t.Error("a lost answer arrived")
	}
	equal(t, "made", w.service.Exists("lost"), true)

	w.script.Add(faults.Fault{Method: "storage.buckets.delete", Cut: true, Times: -1})
	if err := w.api.Buckets.Delete("lost").Do(); err == nil {
		t.Error("a cut call was answered")
	}
	equal(t, "still there", w.service.Exists("lost"), true)
}

// case 76: another client writes between a client's read and write.
func TestChangeBetweenReadAndWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("shared")
	w.script.Add(faults.Fault{Method: "storage.buckets.setIamPolicy", Do: func(faults.Call) {
		w.send("PATCH", "/storage/v1/b/shared", `{"labels":{"foreign":"1"}}`)
	}})
	p, err := w.api.Buckets.GetIamPolicy("shared").Do()
	ok(t, err)
	_, err = w.api.Buckets.SetIamPolicy("shared", p).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	p, err = w.api.Buckets.GetIamPolicy("shared").Do()
	ok(t, err)
	_, err = w.api.Buckets.SetIamPolicy("shared", p).Do()
	ok(t, err)
}
