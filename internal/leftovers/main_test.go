// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	project = "leftovers-project"
	jobs    = "/v2/projects/" + project + "/locations/us-central1/jobs"
)

func TestMain(m *testing.M) {
	runner.MaybeInit()
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	t.Parallel()
	e, err := emulator.Start(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	post := func(path, body string) {
		t.Helper()
		resp, err := http.Post("http://"+e.Addr()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	left := acctest.Name("left") // as tests name what they make
	for _, name := range []string{left, "mine"} {
		post(jobs+"?jobId="+name, `{"template":{"template":{"containers":[{"image":"x"}]}}}`)
		post("/storage/v1/b?project="+project, fmt.Sprintf(`{"name":%q}`, name+"-bucket"))
		post("/upload/storage/v1/b/"+name+"-bucket/o?uploadType=media&name=step-1", "saved")
		post("/v1/projects/"+project+"/serviceAccounts", fmt.Sprintf(`{"accountId":%q}`, name+"-sa"))
	}
	post("/storage/v1/b?project="+project, `{"name":"not-tfacc-bucket"}`)

	environment := map[string]string{"RESILIENTJOB_EMULATOR_HOST": e.Addr(), "GOOGLE_PROJECT": project, "GOOGLE_REGION": "us-central1"}
	getenv := func(name string) string { return environment[name] }
	var out bytes.Buffer
	if err := run(t.Context(), getenv, &out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"deleted projects/" + project + "/locations/us-central1/jobs/" + left,
		"deleted " + left + "-bucket",
		"deleted " + left + "-sa@" + project + ".iam.gserviceaccount.com",
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	for path, kept := range map[string]string{
		jobs:                               "/jobs/mine",
		"/storage/v1/b?project=" + project: `"mine-bucket"`,
		"/v1/projects/" + project + "/serviceAccounts": "mine-sa@",
	} {
		resp, err := http.Get("http://" + e.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(text), kept) || strings.Contains(string(text), left) {
			t.Errorf("%s, %v: %s", path, err, text)
		}
	}

	out.Reset()
	if err := run(t.Context(), getenv, &out); err != nil || out.Len() > 0 {
		t.Errorf("again: %v, %s", err, out.String())
	}
	delete(environment, "GOOGLE_REGION")
	if err := run(t.Context(), getenv, &out); err == nil || !strings.Contains(err.Error(), "GOOGLE_REGION") {
		t.Errorf("without a region: %v", err)
	}
}
