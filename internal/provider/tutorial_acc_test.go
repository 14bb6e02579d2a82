// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

const tutorialProject = "tutorial"

// What the tutorial's commands make is what its configuration makes, but for what
// the page lists as different on purpose. The commands are those of the page.
func TestAccTutorial(t *testing.T) {
	t.Parallel()
	e := moduleEmulator(t) // the program runs, and ends when the destroy cancels it
	commands := tutorialCommands(t)
	flags := map[string]string{}
	for _, command := range commands {
		if strings.HasPrefix(command, "gcloud beta run jobs deploy ") || strings.HasPrefix(command, "--") {
			for _, flag := range tutorialFlag.FindAllStringSubmatch(command, -1) {
				flags[flag[1]] = strings.Trim(flag[2], " =")
			}
		}
	}

	tf := acctest.CLI(t, e)
	tf.WriteFile("required_providers.tf", readExample(t, filepath.Join(examples, "tutorial/main.tf")))
	requests := acctest.Since(e)
	variables := []string{"-var=project=" + tutorialProject, "-var=region=us-central1", "-var=image=us-central1-docker.pkg.dev/tutorial/images/checkpointed-training:v1"}
	tf.Apply(variables...).Succeeds().Says("3 added", "gpu_hours\" = 48", "interruptions = []")

	job := createdJob(t, requests)
	task := job.GetTemplate().GetTemplate()
	container := task.GetContainers()[0]
	volume, mount := task.GetVolumes()[0], container.GetVolumeMounts()[0]
	bucket, path := flags["add-volume"], flags["add-volume-mount"]
	for _, held := range []struct {
		what      string
		got, want any
	}{
		{"--gpu-type", task.GetNodeSelector().GetAccelerator(), flags["gpu-type"]},
		{"--gpu", container.GetResources().GetLimits()["nvidia.com/gpu"], flags["gpu"]},
		{"--no-gpu-zonal-redundancy", task.GetGpuZonalRedundancyDisabled(), true},
		{"--max-retries", int(task.GetMaxRetries()), int(flags["max-retries"][0] - '0')},
		{"--service-account", task.GetServiceAccount(), flags["service-account"]},
		{"the bucket of --add-volume", "name=checkpoint-volume,type=cloud-storage,bucket=" + volume.GetGcs().GetBucket(), bucket},
		{"whether it can be written", volume.GetGcs().GetReadOnly(), false},
		{"the path of --add-volume-mount", "volume=checkpoint-volume,mount-path=" + mount.GetMountPath(), path},
		{"the mounted volume", mount.GetName(), volume.GetName()},
		// 168h are asked for there, and 12 hours are what a GPU gets.
		{"--task-timeout", task.GetTimeout().AsDuration().String(), "12h0m0s"},
		{"gcloud beta", job.GetLaunchStage().String(), "BETA"},
		{"gcloud run jobs execute", requests.Count(acctest.RunJob), 1},
	} {
		if held.got != held.want {
			t.Errorf("%s: the configuration makes %v, the command %v", held.what, held.got, held.want)
		}
	}
	if flags["task-timeout"] != "168h" || len(flags) != 10 {
		t.Errorf("the flags of the page are %v", flags)
	}
	tf.Plan(variables...).IsEmpty()

	// The other commands, by gcloud itself.
	t.Run("gcloud", func(t *testing.T) {
		const theirs = "tutorial-gcloud"
		gcloud := tutorialGcloud(t, e, theirs)
		for _, command := range commands {
			if strings.HasPrefix(command, "gcloud iam service-accounts create") || strings.HasPrefix(command, "gcloud storage buckets create") || strings.HasPrefix(command, "gcloud storage buckets add-iam-policy-binding") {
				gcloud(command)
			}
		}
		ours, other := worldOf(t, e, tutorialProject), worldOf(t, e, theirs)
		// What the page lists.
		if !slices.Equal(other.grants, []string{"roles/storage.objectAdmin gpu-job-sa"}) || !slices.Equal(ours.grants, []string{"roles/storage.objectUser gpu-job-sa"}) {
			t.Errorf("grants: gcloud %v, the configuration %v", other.grants, ours.grants)
		}
		for _, key := range []string{"hierarchicalNamespace", "softDeletePolicy", "lifecycle", "iamConfiguration"} {
			if cmp.Equal(ours.bucket[key], other.bucket[key]) {
				t.Errorf("the page lists %s as different, and it is the same: %v", key, ours.bucket[key])
			}
			delete(ours.bucket, key)
			delete(other.bucket, key)
		}
		if diff := cmp.Diff(other.bucket, ours.bucket); diff != "" {
			t.Errorf("the bucket differs in what the page does not list (-gcloud +configuration):\n%s", diff)
		}
		if !slices.Equal(other.accounts, ours.accounts) || len(ours.accounts) != 1 {
			t.Errorf("accounts: gcloud %v, the configuration %v", other.accounts, ours.accounts)
		}
	})

	tf.Destroy(variables...).Succeeds().Says("3 destroyed")
	nothingLeft(t, e, tutorialProject)
}

var (
	tutorialCode = regexp.MustCompile("`((?:gcloud|--)[^`]*)`")
	tutorialFlag = regexp.MustCompile(`--([a-z-]+)((?:[ =])[^ -][^ ]*)?`)
)

// tutorialCommands are the commands and flags in the first column of the page's
// table, for the test's project.
func tutorialCommands(t *testing.T) []string {
	t.Helper()
	_, table, _ := strings.Cut(readExample(t, filepath.Join(examples, "tutorial/README.md")), "## Side by side")
	table, _, _ = strings.Cut(table, "## What is different")
	var all []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, code := range tutorialCode.FindAllStringSubmatch(cells[0], -1) {
			all = append(all, strings.NewReplacer("PROJECT_ID", tutorialProject, "REGION", "us-central1", `"`, "").Replace(code[1]))
		}
	}
	if len(all) < 15 {
		t.Fatalf("the page has %d commands and flags", len(all))
	}
	return all
}

// tutorialGcloud returns a function that runs a command of gcloud in another
// project of the emulator.
func tutorialGcloud(t *testing.T, e *emulator.Emulator, project string) func(command string) {
	t.Helper()
	path, err := exec.LookPath("gcloud")
	if err != nil {
		t.Skip("NOT TESTED: gcloud is not installed, and the commands of the page are not run")
	}
	config, base := t.TempDir(), "http://"+e.Addr()
	return func(command string) {
		t.Helper()
		words := strings.Fields(strings.NewReplacer("@"+tutorialProject+".", "@"+project+".", "gpu-checkpoints-"+tutorialProject, "gpu-checkpoints-"+project).Replace(command))
		cmd := exec.CommandContext(t.Context(), path, append(words[1:], "--quiet", "--project", project)...)
		cmd.Env = append(os.Environ(), "CLOUDSDK_CONFIG="+config, "CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true",
			"CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true", "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE="+base+"/storage/v1/", "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM="+base+"/")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

// tutorialWorld is what a project has, without what names the project or tells a moment.
type tutorialWorld struct {
	bucket           map[string]any
	grants, accounts []string
}

func worldOf(t *testing.T, e *emulator.Emulator, project string) tutorialWorld {
	t.Helper()
	var w tutorialWorld
	read := func(path string, v any) {
		t.Helper()
		if err := json.Unmarshal([]byte(callEmulator(t, e, "GET", path, "")), v); err != nil {
			t.Fatal(err)
		}
	}
	read("/storage/v1/b/gpu-checkpoints-"+project, &w.bucket)
	for _, key := range []string{"id", "name", "selfLink", "projectNumber", "etag", "metageneration", "generation", "timeCreated", "updated"} {
		delete(w.bucket, key)
	}
	var policy struct {
		Bindings []struct {
			Role    string
			Members []string
		}
	}
	read("/storage/v1/b/gpu-checkpoints-"+project+"/iam", &policy)
	for _, b := range policy.Bindings {
		for _, member := range b.Members {
			if account, ok := strings.CutPrefix(member, "serviceAccount:"); ok {
				name, _, _ := strings.Cut(account, "@")
				w.grants = append(w.grants, b.Role+" "+name)
			}
		}
	}
	var accounts struct{ Accounts []struct{ Email string } }
	read("/v1/projects/"+project+"/serviceAccounts", &accounts)
	for _, account := range accounts.Accounts {
		name, _, _ := strings.Cut(account.Email, "@")
		w.accounts = append(w.accounts, name)
	}
	return w
}
