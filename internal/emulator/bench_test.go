// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// BenchmarkJobs makes jobs among those that there are, reads each, and gives an
// account of its own a role on one bucket, as the provider does.
func BenchmarkJobs(b *testing.B) {
	e, err := emulator.Start(emulator.Options{Launcher: runner.NewScripted()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	c, err := run.NewJobsClient(b.Context(), option.WithEndpoint(e.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	call := func(method, path, body string) {
		req, err := http.NewRequestWithContext(b.Context(), method, "http://"+e.Addr()+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(path, resp, err)
		}
		_ = resp.Body.Close()
	}
	call("POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	var members []string
	for i := 0; b.Loop(); i++ {
		account := fmt.Sprintf("trainer-%d", i)
		call("POST", "/v1/projects/p/serviceAccounts", `{"accountId":`+quote(account)+`}`)
		members = append(members, "serviceAccount:"+account+"@p.iam.gserviceaccount.com")
		call("PUT", "/storage/v1/b/ckpt-bucket/iam", `{"bindings":[{"role":"roles/storage.objectUser","members":`+quote(members)+`}]}`)
		id := fmt.Sprintf("train-%d", i)
		op, err := c.CreateJob(b.Context(), &runpb.CreateJobRequest{Parent: parent, JobId: id, Job: minimalJob()})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := op.Poll(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := c.GetJob(b.Context(), &runpb.GetJobRequest{Name: parent + "/jobs/" + id}); err != nil {
			b.Fatal(err)
		}
	}
}
