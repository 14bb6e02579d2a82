// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A refusal that repeats the request does not bring the values of variables into the error; what is public stays, and so does what is
// too short to be a secret.
func TestEnvironmentStaysOutOfErrors(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	job := &runpb.Job{Name: testJob, Etag: "e", Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{
		Image: "us-docker.pkg.dev/p/apps/train:1",
		Env: []*runpb.EnvVar{
			{Name: "PASSWORD", Values: &runpb.EnvVar_Value{Value: "hunter2"}},
			{Name: "IMAGE", Values: &runpb.EnvVar_Value{Value: "us-docker.pkg.dev/p/apps/train:1"}},
			{Name: "N", Values: &runpb.EnvVar_Value{Value: "1"}},
		},
	}}}}}
	run := &runpb.RunJobRequest{Name: testJob, Overrides: &runpb.RunJobRequest_Overrides{ContainerOverrides: []*runpb.RunJobRequest_Overrides_ContainerOverride{{Env: job.Template.Template.Containers[0].Env}}}}
	refused := answer{err: status.Error(codes.InvalidArgument, "Invalid value 'hunter2' in us-docker.pkg.dev/p/apps/train:1, item 1")}
	for method, call := range map[string]func() error{
		"CreateJob": func() error { _, err := f.CreateJob(t.Context(), "projects/p/locations/l", "j", job); return err },
		"UpdateJob": func() error { _, err := f.UpdateJob(t.Context(), job); return err },
		"RunJob":    func() error { _, err := f.RunJob(t.Context(), run); return err },
	} {
		f.on(method, refused)
		err := call()
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "(the value of PASSWORD)") || !strings.Contains(err.Error(), "item 1") {
			t.Errorf("%s: %v", method, err)
		}
		if method != "RunJob" && !strings.Contains(err.Error(), "us-docker.pkg.dev/p/apps/train:1") {
			t.Errorf("%s: the image is gone: %v", method, err)
		}
	}
}
