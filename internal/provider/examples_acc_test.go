// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const examples = "../../examples"

// tried says which test plans and applies a file of examples/, and where that
// test is. before.tf is for Google's provider: the world that it makes is made
// by the test, with the state that Google's provider writes of it.
var tried = map[string]string{
	"data-sources/resilientjob_checkpoints/data-source.tf":   "checkpoints.TestAccCheckpoints",
	"data-sources/resilientjob_execution/data-source.tf":     ".TestAccExamples",
	"data-sources/resilientjob_executions/data-source.tf":    ".TestAccExamples",
	"data-sources/resilientjob_gpu_job/data-source.tf":       "gpujob.TestAccDataSource",
	"data-sources/resilientjob_interruptions/data-source.tf": "interruptions.TestAccInterruptions",
	"functions/checkpoint_interval/function.tf":              "functions.TestAccExamples",
	"functions/exposure/function.tf":                         "functions.TestAccExamples",
	"functions/required_retries/function.tf":                 "functions.TestAccExamples",
	"guides/coming-from-the-google-provider/after.tf":        "gpujob.TestAccMoveAsTheGuideSays",
	"guides/coming-from-the-google-provider/before.tf":       "gpujob.TestAccMoveAsTheGuideSays",
	"guides/coming-from-the-google-provider/own-account.tf":  "gpujob.TestAccMoveAsTheGuideSays",
	"guides/monitoring-and-interruptions/checks.tf":          ".TestAccMonitoringChecks",
	"guides/monitoring-and-interruptions/exposure.tf":        ".TestAccMonitoringExposure",
	"guides/monitoring-and-interruptions/interruptions.tf":   ".TestAccMonitoringInterruptions",
	"guides/monitoring-and-interruptions/job.tf":             ".TestAccMonitoringChecks",
	"guides/monitoring-and-interruptions/measured.tf":        ".TestAccMonitoringMeasured",
	"provider/provider.tf":                                   ".TestAccExamples",
	"quickstart/main.tf":                                     ".TestAccQuickstartConfiguration",
	"resources/resilientjob_checkpoint_bucket/resource.tf":   ".TestAccExamples",
	"resources/resilientjob_execution/resource.tf":           ".TestAccExamples",
	"resources/resilientjob_gpu_job/resource.tf":             ".TestAccExamples",
}

// Every configuration of examples/ is planned and applied by a test that exists.
func TestEveryExampleIsTried(t *testing.T) {
	t.Parallel()
	tests := map[string]string{} // the text of a room's tests, by the room
	seen := map[string]bool{}
	if err := filepath.WalkDir(examples, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".tf" {
			return err
		}
		name, err := filepath.Rel(examples, path)
		if err != nil {
			return err
		}
		seen[filepath.ToSlash(name)] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name := range seen {
		if tried[name] == "" {
			t.Errorf("no test plans and applies examples/%s", name)
		}
	}
	for name, by := range tried {
		if !seen[name] {
			t.Errorf("examples/%s is not there", name)
		}
		room, test, _ := strings.Cut(by, ".")
		if tests[room] == "" {
			files, err := filepath.Glob(filepath.Join(room, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				tests[room] += readExample(t, file)
			}
		}
		if !strings.Contains(tests[room], "\nfunc "+test+"(t *testing.T)") {
			t.Errorf("examples/%s: there is no test %s in internal/provider/%s", name, test, room)
		}
	}
}

func readExample(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The examples of the provider, the resources, and the data sources of
// executions, in one folder as their pages show them: they are applied without a
// warning of their own, the data sources write nothing, and a plan after that is
// empty.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })
	// What the example says is there before the job.
	callEmulator(t, e, "POST", "/storage/v1/b?project="+exampleProject, `{"name": "my-project-datasets", "location": "US-CENTRAL1"}`)
	if _, err := e.Secrets().AddSecret(exampleProject, "hf-token", []byte("token")); err != nil {
		t.Fatal(err)
	}
	tf := acctest.CLI(t, e)
	add := func(path, as string) {
		t.Helper()
		tf.WriteFile(as, readExample(t, filepath.Join(examples, path)))
	}
	add("provider/provider.tf", "required_providers.tf") // instead of the test's own
	add("resources/resilientjob_execution/resource.tf", "execution.tf")
	add("resources/resilientjob_gpu_job/resource.tf", "job.tf")
	// The example of a job has a bucket of this name, too.
	tf.WriteFile("bucket.tf", strings.ReplaceAll(readExample(t, filepath.Join(examples, "resources/resilientjob_checkpoint_bucket/resource.tf")), "checkpoints", "finished-runs"))
	applied := tf.Apply().Succeeds().Says("5 added, 0 changed, 0 destroyed")
	others := strings.NewReplacer("Warning: Using the local emulator", "", "Warning: Provider development overrides", "").Replace(applied.Output())
	if strings.Contains(others, "Warning: ") {
		t.Errorf("an example warns:\n%s", others)
	}

	requests := acctest.Since(e)
	add("data-sources/resilientjob_execution/data-source.tf", "latest.tf")
	add("data-sources/resilientjob_executions/data-source.tf", "trouble.tf")
	tf.Apply().Succeeds().Says(`"state" = "running"`, "trouble = []")
	if writes := requests.Writes(); len(writes) != 0 {
		t.Errorf("data sources wrote: %v", writes)
	}
	tf.Plan().IsEmpty()
}

// The quickstart's configuration, with a program that ends at once. The whole
// story, with a real program and real interruptions, is make quickstart.
func TestAccQuickstartConfiguration(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	tf := acctest.CLI(t, e)
	tf.WriteFile("required_providers.tf", readExample(t, filepath.Join(examples, "quickstart/main.tf")))
	apply := tf.Start("apply", "-auto-approve", "-no-color")
	attempt, err := tasks.Await(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	attempt.Exit(0)
	apply.Wait().Succeeds().Says("3 added, 0 changed, 0 destroyed", `"state" = "succeeded"`, `"attempts_used" = 1`, "interruptions = []")
	tf.Plan().IsEmpty()
}
