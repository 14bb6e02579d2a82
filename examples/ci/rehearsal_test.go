// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package ci is a test of a module in Go, for the CI of whoever uses the provider.
// It needs Go's standard library, terraform, and an emulator that runs:
//
//	resilientjob-emulator --control-token-file token --image '*/checkpointed-training:*=python3 .../train.py'
//	RESILIENTJOB_EMULATOR_HOST=127.0.0.1:8085 CONTROL_TOKEN_FILE=$PWD/token MODULE=$PWD/modules/resilient-gpu-job go test ./...
//
// It imports nothing of this project; with Terratest or terraform-plugin-testing
// in place of the function terraform, the rest stays as it is.
package ci

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const configuration = `
module "job" {
  source = %q

  project         = "rehearsal"
  region          = "us-central1"
  team            = "vision"
  environment     = "dev"
  workload        = "segmenter"
  cost_center     = "cc-1234"
  image           = "us-central1-docker.pkg.dev/rehearsal/images/checkpointed-training:v1"
  task_timeout    = "1h"
  checkpoint      = { work_time = "10m" }
  gpu_hour_budget = 10
  force_destroy   = true
  run             = { wait_for = "completed" }
  env             = { TRAIN_STEPS = "30", TRAIN_SECONDS_PER_STEP = "0.1", TRAIN_SAVE_EVERY = "0.5" }
}

output "state" {
  value = module.job.execution.state
}
`

// A job that is interrupted in the middle finishes, and was run once.
func TestJobSurvivesInterruption(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"RESILIENTJOB_EMULATOR_HOST", "CONTROL_TOKEN_FILE", "MODULE"} {
		if os.Getenv(name) == "" {
			t.Skipf("%s is not set: it says where the emulator, its control token or the module is, and a workflow sets it", name)
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.tf"), fmt.Appendf(nil, configuration, os.Getenv("MODULE")), 0o600); err != nil {
		t.Fatal(err)
	}
	terraform(t, folder, "init")
	t.Cleanup(func() { terraform(t, folder, "destroy", "-auto-approve") })

	interrupted := make(chan error, 1)
	go func() { interrupted <- interrupt("vision-dev-segmenter") }()
	terraform(t, folder, "apply", "-auto-approve") // returns when the run has ended
	if err := <-interrupted; err != nil {
		t.Fatal(err)
	}

	if state := terraform(t, folder, "output", "-raw", "state"); state != "succeeded" {
		t.Errorf("the run is %s", state)
	}
	var recorded struct {
		Calls []struct{ Resource, Code string }
	}
	if err := control("GET", "calls?method=google.cloud.run.v2.Jobs/RunJob", "", &recorded); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, call := range recorded.Calls {
		if strings.HasPrefix(call.Resource, "projects/rehearsal/") {
			runs++
		}
	}
	if runs != 1 {
		t.Errorf("the job was run %d times", runs)
	}
}

// interrupt preempts task 0 of the job as soon as it runs.
func interrupt(job string) error {
	var err error
	for range 600 {
		if err = control("POST", "preempt", `{"job": "`+job+`", "task": 0}`, nil); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond) // it does not run yet
	}
	return err
}

// control makes a call of the emulator's control API.
func control(method, path, body string, answer any) error {
	token, err := os.ReadFile(os.Getenv("CONTROL_TOKEN_FILE"))
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, "http://"+os.Getenv("RESILIENTJOB_EMULATOR_HOST")+"/control/v1/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// terraform runs a command and returns what it prints.
func terraform(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.Command("terraform", append([]string{"-chdir=" + folder}, args...)...)
	command.Env = append(os.Environ(), "TF_INPUT=0", "TF_IN_AUTOMATION=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("terraform %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}
