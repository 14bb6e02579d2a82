// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"net/http"
	"strings"
)

// life is what a resource goes through.
type life struct {
	name  string
	steps []step
}

// step is one apply, or with no configuration the destroy of the one before.
type step struct {
	name   string
	config string
	// runs is how many executions this step starts.
	runs int
	// then is done by others after the step.
	then func(*world)
}

const block = "provider \"resilientjob\" {\n  project = \"" + project + "\"\n  region  = \"us-central1\"\n}\n"

func bucketWith(attributes string) string {
	return block + "resource \"resilientjob_checkpoint_bucket\" \"b\" {\n  name = \"our-checkpoints\"\n" + attributes + "\n}\n"
}

func jobWith(attributes string) string {
	if !strings.Contains(attributes, "name ") {
		attributes = "name = \"train\"\n" + attributes
	}
	return block + "resource \"resilientjob_gpu_job\" \"j\" {\n" + attributes + "\n  timeouts = { create = \"20m\", update = \"20m\", delete = \"20m\" }\n}\n"
}

func executionWith(attributes string) string {
	return block + "resource \"resilientjob_execution\" \"x\" {\n  job = \"others\"\n  wait_for = \"completed\"\n" + attributes + "\n}\n"
}

// visited is what somebody else does to our bucket.
func visited(w *world) {
	w.member("our-checkpoints", "roles/storage.objectViewer", "serviceAccount:somebody@"+project+".iam.gserviceaccount.com")
	w.storage(http.MethodPatch, "/storage/v1/b/our-checkpoints", map[string]any{"labels": map[string]any{"theirs": "yes"}})
	w.before = w.look()
	for line := range known(w.things()) {
		delete(w.before, line)
	}
}

const image = "us-docker.pkg.dev/p/apps/train:"

// all is the quickstart, with a version of the program.
func all(version string) string {
	return bucketWith("force_destroy = true") + `
resource "resilientjob_gpu_job" "j" {
  name       = "train"
  image      = "` + image + version + `"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.b.name }
  timeouts   = { create = "20m", update = "20m", delete = "20m" }
}
resource "resilientjob_execution" "x" {
  job      = resilientjob_gpu_job.j.id
  wait_for = "completed"
  triggers = { version = "` + version + `" }
}
`
}

var lives = []life{
	{"bucket", []step{
		{name: "create", config: bucketWith(`labels = { team = "a" }
  readers = ["serviceAccount:` + helper + `"]
  writers = ["serviceAccount:` + trainer + `"]`), then: visited},
		{name: "labels", config: bucketWith(`labels = { team = "b", stage = "test" }
  expire_after_days = 30
  expire_prefixes = ["old/"]
  readers = ["serviceAccount:` + helper + `"]
  writers = ["serviceAccount:` + trainer + `"]`)},
		{name: "members", config: bucketWith(`labels = { team = "b", stage = "test" }
  expire_after_days = 30
  expire_prefixes = ["old/"]
  readers = ["serviceAccount:` + trainer + `"]
  writers = []`)},
		{name: "destroy"},
	}},
	{"job", []step{
		{name: "create", config: jobWith(`image = "` + image + `1"
  checkpoint = { bucket = "others-checkpoints" }
  volumes = { data = { mount_path = "/data", gcs = { bucket = "others-data" } } }
  secret_env = { TOKEN = { secret = "token", version = "1" } }`)},
		{name: "image", config: jobWith(`image = "` + image + `2"
  checkpoint = { bucket = "others-checkpoints" }
  volumes = { data = { mount_path = "/data", gcs = { bucket = "others-data" } } }
  secret_env = { TOKEN = { secret = "token", version = "1" } }`)},
		{name: "bucket", config: jobWith(`image = "` + image + `2"
  checkpoint = { bucket = "others-checkpoints" }
  volumes = { data = { mount_path = "/data", gcs = { bucket = "others-more-data" } } }`)},
		{name: "account", config: jobWith(`image = "` + image + `2"
  service_account_id = "another-one"
  checkpoint = { bucket = "others-checkpoints" }`)},
		{name: "destroy"},
	}},
	{"named", []step{
		{name: "create", config: jobWith(`image = "` + image + `1"
  service_account = "` + trainer + `"
  checkpoint = { bucket = "others-checkpoints" }`)},
		{name: "owned", config: jobWith(`image = "` + image + `1"
  checkpoint = { bucket = "others-checkpoints" }`)},
		{name: "replace", config: jobWith(`name = "train-two"
  image = "` + image + `1"
  checkpoint = { bucket = "others-checkpoints" }`)},
		{name: "destroy"},
	}},
	{"execution", []step{
		{name: "create", config: executionWith(`triggers = { n = "1" }`), runs: 1},
		{name: "again", config: executionWith(`triggers = { n = "2" }`), runs: 1},
		{name: "destroy"},
	}},
	{"quickstart", []step{
		{name: "create", config: all("1"), runs: 1},
		{name: "version", config: all("2"), runs: 1},
		{name: "destroy"},
	}},
}
