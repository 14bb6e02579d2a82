// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/jonboulle/clockwork"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	moduleProject     = "ml-platform"
	requiredProviders = "terraform {\n  required_providers {\n    resilientjob = { source = \"resilientjob/resilientjob\" }\n  }\n}\n"
)

// moduleEmulator starts what the modules' tests say that it is started with.
func moduleEmulator(t *testing.T) *emulator.Emulator {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(examples, "apps/checkpointed-training/train.py"))
	if err != nil {
		t.Fatal(err)
	}
	return acctest.Emulator(t, func(o *emulator.Options) {
		o.Images = []runner.Image{{Pattern: "*/checkpointed-training:*", Command: []string{"python3", program}}}
	})
}

// modules returns a command line in a copy of examples/, in one of its folders,
// which has required_providers of its own.
func modules(t *testing.T, e *emulator.Emulator, folder string) *acctest.Terraform {
	t.Helper()
	tf := acctest.CLI(t, e)
	tf.Needs(acctest.Functions)
	tf.Needs(acctest.TestMocks)
	root := filepath.Join(filepath.Dir(tf.Dir), "examples")
	for _, part := range []string{"modules", "guides/platform-team-modules"} {
		if err := os.CopyFS(filepath.Join(root, part), os.DirFS(filepath.Join(examples, part))); err != nil {
			t.Fatal(err)
		}
	}
	tf.Dir = filepath.Join(root, folder)
	return tf
}

var testResult = regexp.MustCompile(`(?:Success|Failure)! (\d+) passed, (\d+) failed`)

// passed returns the counts of a terraform test.
func passed(t *testing.T, r *acctest.Result) (good, bad int) {
	t.Helper()
	m := testResult.FindStringSubmatch(r.Output())
	if m == nil {
		t.Fatalf("terraform test does not say how many passed:\n%s", r.Output())
	}
	good, _ = strconv.Atoi(m[1])
	bad, _ = strconv.Atoi(m[2])
	return good, bad
}

// nothingLeft fails the test when a project has a job, a bucket or an account.
func nothingLeft(t *testing.T, e *emulator.Emulator, project string) {
	t.Helper()
	for _, list := range []string{
		"/v2/projects/" + project + "/locations/us-central1/jobs",
		"/storage/v1/b?project=" + project,
		"/v1/projects/" + project + "/serviceAccounts",
	} {
		if answer := callEmulator(t, e, "GET", list, ""); strings.Contains(answer, `"name"`) {
			t.Errorf("left behind: GET %s: %s", list, answer)
		}
	}
}

// The modules' own tests pass on the emulator, make what they say, and leave
// nothing.
func TestAccModules(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ jobs, runs int }{"resilient-gpu-job": {2, 1}, "training-fleet": {2, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := moduleEmulator(t)
			tf := modules(t, e, "modules/"+name)
			tf.Run("init", "-no-color").Succeeds()
			requests := acctest.Since(e)
			good, bad := passed(t, tf.Run("test", "-no-color").Succeeds())
			if good < 3 || bad != 0 {
				t.Errorf("%d runs passed, %d failed", good, bad)
			}
			if n := requests.Count(acctest.CreateJob); n != want.jobs {
				t.Errorf("%d jobs were made, want %d: the tests of the module do not apply it", n, want.jobs)
			}
			// A change of the job with the same triggers runs nothing again.
			if n := requests.Count(acctest.RunJob); n != want.runs {
				t.Errorf("%d runs, want %d", n, want.runs)
			}
			nothingLeft(t, e, moduleProject)
		})
	}
}

// A module whose guard rail is broken fails its tests: in plans of the real
// provider, and with a mock.
func TestAccModuleTestsCanFail(t *testing.T) {
	t.Parallel()
	e := moduleEmulator(t)
	tf := modules(t, e, "modules/resilient-gpu-job")
	main := readExample(t, filepath.Join(tf.Dir, "main.tf"))
	const rail = "local.exposure.gpu_hours <= var.gpu_hour_budget"
	if strings.Count(main, rail) != 1 {
		t.Fatalf("main.tf does not have %q once", rail)
	}
	tf.WriteFile("main.tf", strings.Replace(main, rail, "local.exposure.gpu_hours >= 0", 1))
	tf.Run("init", "-no-color").Succeeds()
	for _, file := range []string{"guard_rails", "mocked"} {
		broken := tf.Run("test", "-no-color", "-filter=tests/"+file+".tftest.hcl").Fails("Missing expected failure", `run "refuses_more_than_the_budget"... fail`)
		if good, bad := passed(t, broken); good == 0 || bad != 1 {
			t.Errorf("%s: %d runs passed, %d failed", file, good, bad)
		}
	}
	nothingLeft(t, e, moduleProject)
}

// guideRoot returns a command line in a folder with files of the guide's
// examples, which call the modules.
func guideRoot(t *testing.T, e *emulator.Emulator, files ...string) *acctest.Terraform {
	t.Helper()
	tf := modules(t, e, "guides/try")
	if err := os.Mkdir(tf.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tf.WriteFile(file, readExample(t, filepath.Join(examples, "guides/platform-team-modules", file)))
	}
	return tf
}

// What the guide says of roots: labels of the provider reach the resources of the
// module, and the outputs are there; an apply warns of nothing else than the checks
// that a first plan cannot know.
func TestAccPlatformTeamRoot(t *testing.T) {
	t.Parallel()
	e := moduleEmulator(t)
	tf := guideRoot(t, e, "root.tf")
	tf.Run("init", "-no-color").Succeeds()
	requests := acctest.Since(e)
	applied := tf.Apply().Succeeds().Says("2 added", `"job" = "projects/ml-platform/locations/us-central1/jobs/vision-prod-segmenter"`,
		`"checkpoints" = "gs://ml-platform-vision-prod-segmenter"`)
	warnings := strings.Count(applied.Output(), "Warning: ")
	if usual := strings.Count(applied.Output(), "Warning: Using the local emulator") + strings.Count(applied.Output(), "Warning: Check block assertion known after apply") +
		strings.Count(applied.Output(), "Warning: Provider development overrides"); warnings != usual {
		t.Errorf("the example warns:\n%s", applied.Output())
	}
	job := createdJob(t, requests)
	for name, value := range map[string]string{"managed_by": "terraform", "team": "vision", "environment": "prod", "cost_center": "cc-1234"} {
		if job.GetLabels()[name] != value {
			t.Errorf("label %s is %q", name, job.GetLabels()[name])
		}
	}
	tf.Plan().IsEmpty()
	tf.Destroy().Succeeds()
	nothingLeft(t, e, moduleProject)
}

// Two environments of one configuration, and two projects in one.
func TestAccPlatformTeamEnvironments(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })
	tf := guideRoot(t, e, "environments.tf")
	tf.WriteFile("required_providers.tf", requiredProviders)
	tf.Run("init", "-no-color").Succeeds()
	requests := acctest.Since(e)
	tf.Plan("-var=environment=prod").Says("2 to add", `"vision-prod-segmenter"`)
	tf.Apply("-var=environment=dev").Succeeds().Says("3 added")
	if job := createdJob(t, requests); job.GetLabels()["environment"] != "dev" || requests.Count(acctest.RunJob) != 1 {
		t.Errorf("labels %v, %d runs", job.GetLabels(), requests.Count(acctest.RunJob))
	}

	tf = guideRoot(t, e, "fleet.tf")
	tf.WriteFile("required_providers.tf", requiredProviders)
	tf.Run("init", "-no-color").Succeeds()
	tf.Plan().Says("3 to add", `"vision-dev-classifier"`)

	tf = guideRoot(t, e, "two-projects.tf")
	tf.WriteFile("required_providers.tf", requiredProviders)
	tf.Run("init", "-no-color").Succeeds()
	requests = acctest.Since(e)
	tf.Apply().Succeeds().Says("4 added")
	parents := map[string]bool{}
	for _, call := range requests.Find(acctest.CreateJob) {
		if r, ok := call.Request.(*runpb.CreateJobRequest); ok {
			parents[r.GetParent()] = true
		}
	}
	if !parents["projects/ml-vision/locations/us-central1"] || !parents["projects/ml-speech/locations/europe-west4"] {
		t.Errorf("jobs were made in %v", parents)
	}
}

// Resources move into the module, and from version 1 of the module to this one,
// and nothing of them is destroyed or made again.
func TestAccPlatformTeamMoves(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })
	provider := "provider \"resilientjob\" {\n  project = \"" + moduleProject + "\"\n}\n"

	tf := guideRoot(t, e, "before.tf")
	tf.WriteFile("required_providers.tf", requiredProviders+provider)
	tf.Apply().Succeeds()
	if err := os.Remove(filepath.Join(tf.Dir, "before.tf")); err != nil {
		t.Fatal(err)
	}
	tf.WriteFile("adopt.tf", readExample(t, filepath.Join(examples, "guides/platform-team-modules/adopt.tf")))
	tf.Run("init", "-no-color").Succeeds()
	requests := acctest.Since(e)
	tf.Apply().Succeeds().Says("0 added, 2 changed, 0 destroyed")
	if n := requests.Count(acctest.CreateJob) + requests.Count(acctest.DeleteJob) + requests.Count(acctest.InsertBucket) + requests.Count(acctest.CreateServiceAccount); n != 0 {
		t.Errorf("%v", requests.Writes())
	}
	tf.Plan().IsEmpty()

	// Version 1, as moved.tf says that it was.
	tf = guideRoot(t, e, "root.tf")
	module := filepath.Join(tf.Dir, "../../modules/resilient-gpu-job")
	now := map[string]string{}
	for _, name := range []string{"main.tf", "checks.tf", "outputs.tf", "moved.tf"} {
		now[name] = readExample(t, filepath.Join(module, name))
		old := strings.NewReplacer(
			"resource \"resilientjob_gpu_job\" \"this\"", "resource \"resilientjob_gpu_job\" \"job\"", "resilientjob_gpu_job.this", "resilientjob_gpu_job.job",
			"resource \"resilientjob_checkpoint_bucket\" \"this\" {\n  count = local.own_bucket ? 1 : 0\n", "resource \"resilientjob_checkpoint_bucket\" \"checkpoints\" {",
			"one(resilientjob_checkpoint_bucket.this[*].name)", "resilientjob_checkpoint_bucket.checkpoints.name",
		).Replace(now[name])
		if name == "moved.tf" {
			old = ""
		}
		tf.WriteFile(filepath.Join("../../modules/resilient-gpu-job", name), old)
	}
	tf.Run("init", "-no-color").Succeeds()
	tf.Apply().Succeeds()
	for name, text := range now {
		tf.WriteFile(filepath.Join("../../modules/resilient-gpu-job", name), text)
	}
	plan := tf.Plan().Says("has moved to module.segmenter.resilientjob_gpu_job.this", "has moved to module.segmenter.resilientjob_checkpoint_bucket.this[0]")
	if strings.Contains(plan.Output(), "must be replaced") || strings.Contains(plan.Output(), "will be destroyed") || !strings.Contains(plan.Output(), "Plan: 0 to add, 0 to change, 0 to destroy.") {
		t.Errorf("version 1 does not become this version in place:\n%s", plan.Output())
	}
}

// The checks of the module turn red for a run that failed, and for one that saves
// no more, and are green for one that has only begun.
func TestAccModuleChecks(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(time.Now().Add(-2 * time.Hour))
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Clock, o.Launcher = clock, runner.NewScripted() })
	tf := guideRoot(t, e, "root.tf")
	tf.Run("init", "-no-color").Succeeds()
	tf.Apply().Succeeds()
	const job = "projects/" + moduleProject + "/locations/us-central1/jobs/vision-prod-segmenter"
	add := func(execution *runpb.Execution) {
		t.Helper()
		if err := e.Run().AddExecution(execution); err != nil {
			t.Fatal(err)
		}
	}
	ago := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(-d)) }
	tf.Plan().IsEmpty().SaysNot("Check block assertion")

	add(&runpb.Execution{Name: job + "/executions/vision-prod-segmenter-aaaaa", TaskCount: 1, FailedCount: 1, CreateTime: ago(30 * time.Hour), StartTime: ago(30 * time.Hour), CompletionTime: ago(29 * time.Hour)})
	tf.Plan().IsEmpty().Says("Check block assertion failed", "Run vision-prod-segmenter-aaaaa of vision-prod-segmenter is failed")

	add(&runpb.Execution{Name: job + "/executions/vision-prod-segmenter-bbbbb", TaskCount: 1, RunningCount: 1, CreateTime: ago(10 * time.Hour), StartTime: ago(10 * time.Hour)})
	tf.Plan().IsEmpty().Says("Run vision-prod-segmenter-bbbbb of vision-prod-segmenter has not saved for two intervals of", "newest checkpoint: none").SaysNot("is failed")
}

// createdJob returns the only job that was made.
func createdJob(t *testing.T, requests *acctest.Requests) *runpb.Job {
	t.Helper()
	calls := requests.Find(acctest.CreateJob)
	if len(calls) != 1 {
		t.Fatalf("%d jobs were made", len(calls))
	}
	request, ok := calls[0].Request.(*runpb.CreateJobRequest)
	if !ok {
		t.Fatalf("the request is a %T", calls[0].Request)
	}
	return request.GetJob()
}

// The tables of a module's README are its variables and outputs, in their order.
func TestModuleReadmes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"resilient-gpu-job", "training-fleet"} {
		folder := filepath.Join(examples, "modules", name)
		want := "## Inputs\n\n| name | default | description |\n|---|---|---|\n"
		for _, b := range moduleBlocks(t, filepath.Join(folder, "variables.tf"), "variable") {
			standard := "required"
			if b.standard != "" {
				standard = "`" + b.standard + "`"
			}
			want += "| `" + b.name + "` | " + standard + " | " + b.description + " |\n"
		}
		want += "\n## Outputs\n\n| name | description |\n|---|---|\n"
		for _, b := range moduleBlocks(t, filepath.Join(folder, "outputs.tf"), "output") {
			want += "| `" + b.name + "` | " + b.description + " |\n"
		}
		if readme := readExample(t, filepath.Join(folder, "README.md")); !strings.Contains(readme, want) {
			t.Errorf("examples/modules/%s/README.md does not have these tables:\n%s", name, want)
		}
	}
}

type moduleBlock struct{ name, standard, description string }

// moduleBlocks reads the blocks of a type.
func moduleBlocks(t *testing.T, path, kind string) []moduleBlock {
	t.Helper()
	raw := []byte(readExample(t, path))
	file, diags := hclsyntax.ParseConfig(raw, path, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		t.Fatalf("%s is not in HCL's own syntax", path)
	}
	var all []moduleBlock
	for _, b := range body.Blocks {
		if b.Type != kind {
			continue
		}
		one := moduleBlock{name: b.Labels[0]}
		description := b.Body.Attributes["description"]
		if description == nil {
			t.Fatalf("%s: %s has no description", path, one.name)
		}
		value, diags := description.Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		one.description = strings.ReplaceAll(strings.TrimSpace(value.AsString()), "\n- ", " ")
		if standard := b.Body.Attributes["default"]; standard != nil {
			one.standard = string(standard.Expr.Range().SliceBytes(raw))
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no %s", path, kind)
	}
	return all
}
