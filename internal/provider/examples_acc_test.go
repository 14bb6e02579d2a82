// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

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
	"first-job/main.tf":                                           ".TestAccFirstJob",
	"functions/checkpoint_interval/function.tf":                   "functions.TestAccExamples",
	"functions/exposure/function.tf":                              "functions.TestAccExamples",
	"functions/required_retries/function.tf":                      "functions.TestAccExamples",
	"guides/coming-from-the-google-provider/after.tf":             "gpujob.TestAccMoveAsTheGuideSays",
	"guides/coming-from-the-google-provider/before.tf":            "gpujob.TestAccMoveAsTheGuideSays",
	"guides/coming-from-the-google-provider/own-account.tf":       "gpujob.TestAccMoveAsTheGuideSays",
	"guides/monitoring-and-interruptions/checks.tf":               ".TestAccMonitoringChecks",
	"guides/monitoring-and-interruptions/exposure.tf":             ".TestAccMonitoringExposure",
	"guides/monitoring-and-interruptions/interruptions.tf":        ".TestAccMonitoringInterruptions",
	"guides/monitoring-and-interruptions/job.tf":                  ".TestAccMonitoringChecks",
	"guides/monitoring-and-interruptions/measured.tf":             ".TestAccMonitoringMeasured",
	"guides/platform-team-modules/adopt.tf":                       ".TestAccPlatformTeamMoves",
	"guides/platform-team-modules/before.tf":                      ".TestAccPlatformTeamMoves",
	"guides/platform-team-modules/environments.tf":                ".TestAccPlatformTeamEnvironments",
	"guides/platform-team-modules/fleet.tf":                       ".TestAccPlatformTeamEnvironments",
	"guides/platform-team-modules/root.tf":                        ".TestAccPlatformTeamRoot",
	"guides/platform-team-modules/two-projects.tf":                ".TestAccPlatformTeamEnvironments",
	"guides/quickstart/main.tf":                                   ".TestAccQuickstartGuide",
	"modules/resilient-gpu-job/checks.tf":                         ".TestAccModuleChecks",
	"modules/resilient-gpu-job/main.tf":                           ".TestAccModules",
	"modules/resilient-gpu-job/moved.tf":                          ".TestAccPlatformTeamMoves",
	"modules/resilient-gpu-job/outputs.tf":                        ".TestAccModules",
	"modules/resilient-gpu-job/variables.tf":                      ".TestAccModules",
	"modules/resilient-gpu-job/versions.tf":                       ".TestAccModules",
	"modules/training-fleet/main.tf":                              ".TestAccModules",
	"modules/training-fleet/outputs.tf":                           ".TestAccModules",
	"modules/training-fleet/variables.tf":                         ".TestAccModules",
	"modules/training-fleet/versions.tf":                          ".TestAccModules",
	"provider/provider.tf":                                        ".TestAccExamples",
	"quickstart/main.tf":                                          ".TestAccQuickstartConfiguration",
	"resources/resilientjob_checkpoint_bucket/import-id.tf":       ".TestImportsOfTheExamples",
	"resources/resilientjob_checkpoint_bucket/import-identity.tf": ".TestImportsOfTheExamples",
	"resources/resilientjob_checkpoint_bucket/resource.tf":        ".TestAccExamples",
	"resources/resilientjob_checkpoint_bucket/resource_kept.tf":   ".TestAccExamples",
	"resources/resilientjob_checkpoint_bucket/resource_shared.tf": ".TestAccExamples",
	"resources/resilientjob_execution/import-id.tf":               ".TestImportsOfTheExamples",
	"resources/resilientjob_execution/import-identity.tf":         ".TestImportsOfTheExamples",
	"resources/resilientjob_execution/resource.tf":                ".TestAccExamples",
	"resources/resilientjob_execution/resource_completed.tf":      ".TestAccExamples",
	"resources/resilientjob_gpu_job/import-id.tf":                 ".TestImportsOfTheExamples",
	"resources/resilientjob_gpu_job/import-identity.tf":           ".TestImportsOfTheExamples",
	"resources/resilientjob_gpu_job/resource.tf":                  ".TestAccExamples",
	"resources/resilientjob_gpu_job/resource_inputs.tf":           ".TestAccExamples",
	"resources/resilientjob_gpu_job/resource_rehearsal.tf":        ".TestAccExamples",
	"resources/resilientjob_gpu_job/resource_tasks.tf":            ".TestAccExamples",
	"tutorial/main.tf":                                            ".TestAccTutorial",
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
	tasks := runner.NewScripted()
	tasks.OnLaunch(func(a *runner.ScriptedAttempt) {
		if slices.Contains(a.Task.Env, "CLOUD_RUN_JOB=evaluate") {
			a.Exit(0)
		}
	})
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	// What the examples say is there before.
	callEmulator(t, e, "POST", "/storage/v1/b?project="+exampleProject, `{"name": "my-project-datasets", "location": "US-CENTRAL1"}`)
	callEmulator(t, e, "POST", "/v1/projects/"+exampleProject+"/serviceAccounts", `{"accountId": "trainer"}`)
	if _, err := e.Secrets().AddSecret(exampleProject, "hf-token", []byte("token")); err != nil {
		t.Fatal(err)
	}
	tf := acctest.CLI(t, e)
	add := func(path, as string) {
		t.Helper()
		tf.WriteFile(as, readExample(t, filepath.Join(examples, path)))
	}
	add("provider/provider.tf", "required_providers.tf") // instead of the test's own
	for _, resource := range []string{"gpu_job", "checkpoint_bucket", "execution"} {
		files, err := filepath.Glob(filepath.Join(examples, "resources/resilientjob_"+resource+"/resource*.tf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text := readExample(t, file)
			if resource == "checkpoint_bucket" && filepath.Base(file) == "resource.tf" {
				text = strings.ReplaceAll(text, "checkpoints", "plain") // the example of a job has it, too
			}
			tf.WriteFile(resource+"_"+filepath.Base(file), text)
		}
	}
	applied := tf.Apply().Succeeds().Says("10 added, 0 changed, 0 destroyed")
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

// The configuration that the first page of the documentation and the README begin
// with is applied without a warning of its own.
func TestAccFirstJob(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })
	tf := acctest.CLI(t, e)
	tf.WriteFile("required_providers.tf", readExample(t, filepath.Join(examples, "first-job/main.tf")))
	out := tf.Apply().Succeeds().Says("3 added, 0 changed, 0 destroyed", `state = "running"`).Output()
	if n := strings.Count(out, "Warning: "); n != strings.Count(out, "Warning: Using the local emulator")+strings.Count(out, "Warning: Provider development overrides") {
		t.Errorf("it warns:\n%s", out)
	}
	tf.Plan().IsEmpty()
}

// The configuration of the guide Quickstart, with a program that is interrupted
// once and then ends: the outputs say what the guide says that they do, and a
// trigger runs the job again.
func TestAccQuickstartGuide(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	tf := acctest.CLI(t, e)
	text := readExample(t, filepath.Join(examples, "guides/quickstart/main.tf"))
	run := func(interruptions int) *acctest.Result {
		t.Helper()
		apply := tf.Start("apply", "-auto-approve", "-no-color")
		for i := range interruptions + 1 {
			attempt, err := tasks.Await(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if i < interruptions {
				for _, name := range e.Run().Running("quickstart") {
					if err := e.Run().Preempt(name, 0); err != nil {
						t.Fatal(err)
					}
				}
				attempt.Exit(143)
			} else {
				attempt.Exit(0)
			}
		}
		return apply.Wait().Succeeds()
	}
	tf.WriteFile("required_providers.tf", text)
	run(1).Says("3 added, 0 changed, 0 destroyed", `"gpu_hours" = 2`, `"attempts_used" = 2`, `"attempts_left" = 2`, `"state" = "succeeded"`,
		"attempt 0: the platform preempted the task; the program handled SIGTERM and asked for a retry with exit code 143")
	tf.Plan().IsEmpty()
	again := strings.Replace(text, `wait_for = "completed"`, "wait_for = \"completed\"\n  triggers = { run = \"2\" }", 1)
	tf.WriteFile("required_providers.tf", strings.Replace(again, `"60"`, `"90"`, 1))
	run(0).Says("1 added, 1 changed, 1 destroyed", `"attempts_used" = 1`, "interruptions = []")
	tf.Destroy().Succeeds()
}

// Each form of import that the pages show takes what is there: the blocks and the
// commands.
func TestImportsOfTheExamples(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	opts := env("RESILIENTJOB_EMULATOR_HOST", e.Addr(), "GOOGLE_PROJECT", exampleProject, "GOOGLE_REGION", "us-central1")
	world := parseConfig(t, `
resource "resilientjob_checkpoint_bucket" "checkpoints" { name = "my-project-checkpoints" }
resource "resilientjob_gpu_job" "train" { checkpoint = { bucket = "my-project-checkpoints" } }
resource "resilientjob_execution" "train" { wait_for = "created" }`)
	made := &hands{Protocol: acctest.NewProtocol(t, opts), t: t}
	made.configure(world)
	made.apply(world)
	if made.stopped() {
		t.Fatal(told(messagesSaid(made.said)))
	}
	var run string // made by the platform
	attributes := map[string]tftypes.Value{}
	if err := made.lives["resilientjob_execution"].state.As(&attributes); err != nil {
		t.Fatal(err)
	}
	if err := attributes["name"].As(&run); err != nil {
		t.Fatal(err)
	}

	var blocks []string
	for _, glob := range []string{"import-*.tf", "import.sh"} {
		files, err := filepath.Glob(filepath.Join(examples, "resources/*", glob))
		if err != nil || len(files) < 3 {
			t.Fatalf("%d files %s, %v", len(files), glob, err)
		}
		for _, file := range files {
			text := strings.ReplaceAll(readExample(t, file), "train-bx4kz", run)
			if glob != "import.sh" {
				blocks = append(blocks, text)
				continue
			}
			for _, command := range regexp.MustCompile(`(?m)^terraform import (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
				blocks = append(blocks, fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", command[1], command[2]))
			}
		}
	}
	if len(blocks) != 6+11 {
		t.Errorf("%d forms", len(blocks))
	}
	for _, block := range blocks {
		h := &hands{Protocol: acctest.NewProtocol(t, opts), t: t}
		w := parseConfig(t, block)
		h.configure(w)
		h.take(w)
		for typeName, l := range h.lives {
			read, err := h.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: h.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
			h.hear(err, read.Diagnostics)
			if err == nil && !h.stopped() {
				if state, err := read.NewState.Unmarshal(l.state.Type()); err != nil || state.IsNull() {
					t.Errorf("it is not there: %s %v", block, err)
				}
			}
		}
		if h.stopped() || len(h.lives) != 1 {
			t.Errorf("%s%s", block, told(messagesSaid(h.said)))
		}
	}
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
