// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"net/http"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
)

// life is what a resource goes through.
type life struct {
	name  string
	steps []step
	// fewer means that it goes through the faults of everyday alone, and not in a
	// usual test run: its calls are those of another life in another order.
	fewer bool
	// keeps is of what a killed provider may leave: a role that it gave a named
	// account, of which nobody can tell whether somebody else had given it. To
	// revoke it could take from others what is theirs.
	keeps string
}

// step is one apply, or with no configuration the destroy of the one before.
type step struct {
	name   string
	config string
	// runs is how many executions this step starts.
	runs int
	// first is done before the step: terraform taint.
	first func(*world)
	// refused is the summary of the error with which the step ends without any
	// fault; "" for none.
	refused string
	// cancels means that no execution that others started runs when it is done.
	cancels bool
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

// filled is that others write into our bucket.
func filled(w *world) {
	for _, name := range []string{"step-1/model", "step-2/model"} {
		w.storage(http.MethodPost, "/upload/storage/v1/b/our-checkpoints/o?uploadType=media&name="+name, nil)
	}
	w.before = w.look()
	for line := range known(w.things()) {
		delete(w.before, line)
	}
}

// started is that somebody else runs our job, for ever.
func started(w *world) {
	w.t.Helper()
	if _, err := w.e.Run().RunJob(w.t.Context(), &runpb.RunJobRequest{Name: location + "/jobs/train"}); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range w.executions("train") {
		w.started["execution "+strings.TrimPrefix(e.GetName(), location+"/")] = true
	}
}

// taint is terraform taint, of what there is.
func taint(address string) func(*world) {
	return func(w *world) { w.core.Taint(address) }
}

// createFirst makes a resource one that is replaced by a new one that is made
// before the old one goes.
func createFirst(config string) string {
	i := strings.LastIndex(config, "}")
	return config[:i] + "  lifecycle { create_before_destroy = true }\n}\n"
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
	}, false, ""},
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
	}, false, ""},
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
	}, false, ""},
	{"execution", []step{
		{name: "create", config: executionWith(`triggers = { n = "1" }`), runs: 1},
		{name: "again", config: executionWith(`triggers = { n = "2" }`), runs: 1},
		{name: "destroy"},
	}, false, ""},
	{"quickstart", []step{
		{name: "create", config: all("1"), runs: 1},
		{name: "version", config: all("2"), runs: 1},
		{name: "destroy"},
	}, false, ""},
	{"bucket tainted", []step{
		{name: "create", config: bucketWith(`labels = { team = "a" }
  readers = ["serviceAccount:` + helper + `"]`)},
		{name: "taint", first: taint("resilientjob_checkpoint_bucket.b"), config: bucketWith(`labels = { team = "a" }
  readers = ["serviceAccount:` + helper + `"]`)},
		{name: "destroy"},
	}, true, ""},
	{"job tainted", []step{
		{name: "create", config: jobWith(`image = "` + image + `1"
  checkpoint = { bucket = "others-checkpoints" }`)},
		{name: "taint", first: taint("resilientjob_gpu_job.j"), config: jobWith(`image = "` + image + `1"
  checkpoint = { bucket = "others-checkpoints" }`)},
		{name: "destroy"},
	}, true, ""},
	{"execution tainted", []step{
		{name: "create", config: executionWith(`triggers = { n = "1" }`), runs: 1},
		{name: "taint", first: taint("resilientjob_execution.x"), config: executionWith(`triggers = { n = "1" }`), runs: 1},
		{name: "destroy"},
	}, true, ""},
	{"execution first", []step{
		{name: "create", config: createFirst(executionWith(`triggers = { n = "1" }`)), runs: 1},
		{name: "again", config: createFirst(executionWith(`triggers = { n = "2" }`)), runs: 1},
		{name: "destroy"},
	}, true, ""},
	{"cancel", []step{
		{name: "create", config: jobWith(`image = "` + image + `1"
  cancel_running_executions = true
  checkpoint = { bucket = "others-checkpoints" }`), then: started},
		{name: "revoke", cancels: true, config: jobWith(`image = "` + image + `1"
  cancel_running_executions = true`), then: started},
		{name: "destroy", cancels: true},
	}, true, ""},
	{"filled", []step{
		{name: "create", config: bucketWith(""), then: filled},
		{name: "destroy", refused: "Bucket is not empty"},
		{name: "force_destroy", config: bucketWith("force_destroy = true")},
		{name: "destroy with force_destroy"},
	}, true, ""},
	{"granted", []step{
		{name: "create", config: jobWith(`image = "` + image + `1"
  service_account = "` + trainer + `"
  checkpoint = { bucket = "others-checkpoints", grant = true }`)},
		{name: "bucket", config: jobWith(`image = "` + image + `1"
  service_account = "` + trainer + `"
  checkpoint = { bucket = "others-data", grant = true }`)},
		{name: "destroy"},
	}, true, " roles/storage.objectUser serviceAccount:" + trainer},
}
