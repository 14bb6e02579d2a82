// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const aDataSource = `
data "resilientjob_execution" "newest" {
  job = "train"
}
`

// blocked makes the provider's first read of a job wait until the test's end,
// and returns a channel that is closed when it waits.
func blocked(e *emulator.Emulator) <-chan struct{} {
	waits := make(chan struct{})
	e.Faults().Add(faults.Fault{Method: acctest.GetJob, Wait: func(ctx context.Context) {
		close(waits)
		<-ctx.Done()
	}})
	return waits
}

func TestAccKillProvider(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(acctest.ProviderConfig(e) + aDataSource)
	waits := blocked(e)
	run := tf.Processes().Start("plan", "-no-color")
	<-waits
	run.AwaitOutput("Reading...")
	if n := run.KillProvider(); n != 1 {
		t.Errorf("%d providers were killed", n)
	}
	// Which of the two Terraform says depends on how far the call had come.
	if out := run.Wait().Fails(); !strings.Contains(out.Text(), "Plugin did not respond") && !strings.Contains(out.Text(), "Request cancelled") {
		t.Errorf("terraform does not say that its provider is gone:\n%s", out.Output())
	}
}

func TestAccInterrupt(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(acctest.ProviderConfig(e) + aDataSource)
	waits := blocked(e)
	run := tf.Start("plan", "-no-color")
	<-waits
	run.Interrupt()
	run.Wait().Fails("Interrupt received.")
}

func TestAccStateAndPlan(t *testing.T) {
	t.Parallel()
	tf := acctest.CLI(t, acctest.Emulator(t))
	tf.Write(`resource "terraform_data" "a" { input = "x" }`)
	p := tf.Plan()
	if got := p.Actions("terraform_data.a"); p.Code != 2 || got != "create" {
		t.Errorf("the plan ends with %d and has %q", p.Code, got)
	}
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	s := tf.State()
	if got := s.Attribute("terraform_data.a", "input"); got != "x" || !slices.Equal(s.Addresses(), []string{"terraform_data.a"}) {
		t.Errorf("input is %v in %v", got, s.Addresses())
	}
	if p := tf.Plan("-replace=terraform_data.a"); p.Actions("terraform_data.a") != "delete,create" {
		t.Errorf("the plan is %q", p.Actions("terraform_data.a"))
	}
	tf.Run("taint", "terraform_data.a").Succeeds()
	if !tf.State().Resource("terraform_data.a").Tainted {
		t.Error("the resource is not tainted")
	}
	tf.Destroy().Succeeds()
	if s := tf.State(); s.Resource("terraform_data.a") != nil || s.Attribute("terraform_data.a", "input") != nil {
		t.Errorf("left: %v", s.Addresses())
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	record := func(method string) {
		_, end, err := e.Faults().Begin(t.Context(), faults.Call{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		end(0)
	}
	record(acctest.RunJob)
	since := acctest.Since(e)
	for _, method := range []string{
		acctest.GetJob, acctest.UpdateJob, acctest.ListExecutions, acctest.SetBucketPolicy, acctest.GetBucketPolicy,
		"storage.buckets.testIamPermissions", acctest.PatchBucket, acctest.UpdateJob,
	} {
		record(method)
	}
	if since.Count(acctest.RunJob) != 0 || since.Count(acctest.UpdateJob) != 2 || since.Count("storage.*") != 4 || len(since.Methods()) != 8 {
		t.Errorf("counted %v", since.Methods())
	}
	if want := []string{acctest.UpdateJob, acctest.SetBucketPolicy, acctest.PatchBucket, acctest.UpdateJob}; !slices.Equal(since.Writes(), want) {
		t.Errorf("writes %v; want %v", since.Writes(), want)
	}
}
