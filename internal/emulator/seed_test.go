// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

const everything = `{"projects": {"p": {
  "serviceAccounts": [{"accountId": "trainer", "serviceAccount": {"displayName": "Trainer"}}],
  "buckets": [{
    "bucket": {"name": "ckpt-bucket", "location": "us-central1", "versioning": {"enabled": true},
      "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": true}}},
    "policy": {"bindings": [{"role": "roles/storage.objectUser", "members": ["serviceAccount:trainer@p.iam.gserviceaccount.com"]}]},
    "objects": [
      {"name": "run/latest", "content": "step-1"},
      {"name": "run/latest", "content": "step-2", "contentType": "text/plain", "metadata": {"by": "seed"}},
      {"name": "run/binary", "contentBase64": "AAEC"},
      {"name": "run/empty"}
    ]
  }, {
    "bucket": {"name": "folders-bucket", "hierarchicalNamespace": {"enabled": true}, "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": true}}},
    "folders": [{"name": "a/b/"}]
  }],
  "secrets": [{
    "secretId": "api-key", "secret": {"replication": {"automatic": {}}}, "versions": [{"payload": {"data": "b25l"}}, {"payload": {"data": "dHdv"}}],
    "policy": {"bindings": [{"role": "roles/secretmanager.secretAccessor", "members": ["serviceAccount:trainer@p.iam.gserviceaccount.com"]}]}
  }],
  "jobs": [{
    "location": "us-central1", "jobId": "train",
    "job": {"template": {"template": {"maxRetries": 2, "timeout": "14400s", "serviceAccount": "trainer@p.iam.gserviceaccount.com", "containers": [
      {"image": "x", "env": [{"name": "KEY", "valueSource": {"secretKeyRef": {"secret": "api-key", "version": "latest"}}}]}]}}},
    "policy": {"bindings": [{"role": "roles/run.invoker", "members": ["user:a@example.com"]}]},
    "executions": [
      {"executionId": "train-first", "attempts": [
        {"ends": "preempted", "after": "3h", "output": ["step 1"]}, {"ends": "timedOut"}, {"ends": "succeeded", "after": "30m", "output": ["done"]}]},
      {"executionId": "train-bad", "attempts": [{"ends": "failed", "after": "1m", "exitCode": 3}, {"ends": "failed"}, {"ends": "failed"}]},
      {"executionId": "train-quick"},
      {"executionId": "train-off", "attempts": [{"ends": "cancelled", "after": "1h"}]},
      {"executionId": "train-two", "run": {"overrides": {"taskCount": 2}}, "attempts": [{"ends": "succeeded", "after": "1h"}]},
      {"executionId": "train-now", "attempts": [{"ends": "preempted", "after": "2h"}, {"ends": "running", "output": ["step 2"]}]}
    ]
  }],
  "logEntries": [{"logName": "projects/p/logs/l", "resource": {"type": "global"}, "entries": [{"textPayload": "seeded"}]}]
}}}`

// A document makes a whole world: in the past of an empty emulator, and without a
// trace in the record of calls.
func TestSeed(t *testing.T) {
	t.Parallel()
	e := start(t, func(o *emulator.Options) { o.PreemptAfter = time.Minute }) // not of what is only told
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}
	must(t, e, "POST", "/control/v1/faults", `{"times":-1,"code":"UNAVAILABLE"}`, auth...)
	made := must(t, e, "POST", "/control/v1/seed", everything, auth...)
	if got, want := quote(made.at("made")), `{"buckets":2,"executions":6,"folders":1,"jobs":1,"log entries":1,"objects":4,"policies":3,"secret versions":2,"secrets":1,"service accounts":1}`; got != want {
		t.Errorf("made %s, want %s", got, want)
	}
	if calls := e.Faults().Calls(); len(calls) != 0 {
		t.Errorf("the seed is in the record of calls: %v", calls)
	}
	must(t, e, "DELETE", "/control/v1/faults", "", auth...)
	if got := must(t, e, "GET", "/control/v1/clock", "", auth...); got.at("ahead") != "0s" {
		t.Errorf("the clock is away from the present: %s", got.text)
	}

	for path, want := range map[string]string{
		"/v1/projects/p/serviceAccounts/trainer@p.iam.gserviceaccount.com": `"displayName": "Trainer"`,
		"/storage/v1/b/ckpt-bucket/o/run%2Flatest?alt=media":               "step-2",
		"/storage/v1/b/ckpt-bucket/o/run%2Flatest":                         `"by":"seed"`,
		"/storage/v1/b/ckpt-bucket/o/run%2Fbinary?alt=media":               "\x00\x01\x02",
		"/storage/v1/b/ckpt-bucket/o/run%2Fempty":                          `"size":"0"`,
		"/storage/v1/b/ckpt-bucket/iam":                                    "roles/storage.objectUser",
		"/storage/v1/b/folders-bucket/folders/a%2Fb%2F":                    `"a/b/"`,
		"/v1/projects/p/secrets/api-key/versions/latest:access":            `"dHdv"`,
		"/v1/projects/p/secrets/api-key:getIamPolicy":                      "secretAccessor",
		"/v2/" + parent + "/jobs/train":                                    `"CONDITION_SUCCEEDED"`,
		"/v2/" + parent + "/jobs/train:getIamPolicy":                       "roles/run.invoker",
	} {
		if got := must(t, e, "GET", path, ""); !strings.Contains(got.text, want) {
			t.Errorf("%s: want %q in %s", path, want, got.text)
		}
	}
	if got := must(t, e, "GET", "/storage/v1/b/ckpt-bucket/o?versions=true&prefix=run/latest", ""); len(got.at("items").([]any)) != 2 {
		t.Errorf("two versions: %s", got.text)
	}

	for name, want := range map[string]struct {
		lasts                                        time.Duration
		retried, succeeded, failed, cancelled, alive int32
	}{
		"train-first": {7*time.Hour + 30*time.Minute, 1, 1, 0, 0, 0},
		"train-bad":   {time.Minute, 1, 0, 1, 0, 0},
		"train-quick": {0, 0, 1, 0, 0, 0},
		"train-off":   {time.Hour, 0, 0, 0, 1, 0},
		"train-two":   {time.Hour, 0, 2, 0, 0, 0},
		"train-now":   {0, 1, 0, 0, 0, 1},
	} {
		x := e.Run().Execution(parent + "/jobs/train/executions/" + name)
		if x.GetRetriedCount() != want.retried || x.GetSucceededCount() != want.succeeded || x.GetFailedCount() != want.failed || x.GetCancelledCount() != want.cancelled || x.GetRunningCount() != want.alive {
			t.Errorf("%s: %v", name, x)
		}
		if want.alive > 0 {
			if age := e.Now().Sub(x.GetStartTime().AsTime()); !near(age, 2*time.Hour) {
				t.Errorf("%s runs for %s", name, age)
			}
			continue
		}
		if lasted := x.GetCompletionTime().AsTime().Sub(x.GetStartTime().AsTime()); !near(lasted, want.lasts) {
			t.Errorf("%s lasted %s, want %s", name, lasted, want.lasts)
		}
	}
	entries := must(t, e, "POST", "/v2/entries:list", `{"resourceNames":["projects/p"],"orderBy":"timestamp asc"}`).text
	for _, want := range []string{`"step 1"`, "Container instance preemption", "Container called exit(143).", "Container called exit(3).", `"seeded"`, "cancelled"} {
		if !strings.Contains(entries, want) {
			t.Errorf("no %s among the entries", want)
		}
	}

	// What runs can be preempted and cancelled as a real one; in a cloud that is
	// not empty another seed takes the clock along.
	must(t, e, "POST", "/control/v1/preempt", `{"execution":"train-now"}`, auth...)
	if x := e.Run().Execution(parent + "/jobs/train/executions/train-now"); x.GetName() == "" {
		t.Error("it is gone")
	}
	must(t, e, "POST", "/control/v1/seed", `{"projects":{"q":{"jobs":[{"location":"us-central1","jobId":"other","job":`+minimal+`,"executions":[{"attempts":[{"ends":"succeeded","after":"5m"}]}]}]}}}`, auth...)
	if ahead := time.Until(e.Now()); !near(ahead+30*time.Second, 5*time.Minute) {
		t.Errorf("the clock is %s ahead after another seed", ahead)
	}
}

// What is wrong is told at the entry's path, in the API's words where it is the
// API that refuses.
func TestSeedRefused(t *testing.T) {
	t.Parallel()
	e := start(t)
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}
	job := func(rest string) string {
		return `{"projects":{"p":{"jobs":[{"location":"us-central1","jobId":"train","job":{"template":{"template":{"maxRetries":1,"containers":[{"image":"x"}]}}}` + rest + `}]}}}`
	}
	for document, want := range map[string]struct {
		code int
		text string
	}{
		``:                        {400, "The document makes nothing"},
		`{"projects":{}}`:         {400, "The document makes nothing"},
		`{"project":{}}`:          {400, `unknown field "project": the fields are "projects" (in it "serviceAccounts", "buckets" (in it "bucket", "folders"`},
		`{"projects":{"a/b":{}}}`: {400, `projects: "a/b" is no id of a project.`},
		`{"projects":{"p":{"buckets":[{"bucket":{"name":"ckpt-bucket"}},{"bucket":{"name":"ckpt-bucket"}}]}}}`:                                                        {409, "projects.p.buckets[1].bucket: Your previous request to create the named bucket succeeded and you already own it."},
		`{"projects":{"p":{"buckets":[{"bucket":{"name":"B"}}]}}}`:                                                                                                    {400, "projects.p.buckets[0].bucket: Invalid bucket name"},
		`{"projects":{"p":{"buckets":[{"bucket":{"name":"other-bucket"},"objects":[{"content":"x"}]}]}}}`:                                                             {400, "projects.p.buckets[0].objects[0]: "},
		`{"projects":{"p":{"buckets":[{"bucket":{"name":"third-bucket"},"objects":[{"name":"o","content":"x","contentBase64":"eA=="}]}]}}}`:                           {400, `objects[0]: Give the content as one text`},
		`{"projects":{"p":{"serviceAccounts":[{"accountId":"a"}]}}}`:                                                                                                  {400, `projects.p.serviceAccounts[0]: The account ID "a"`},
		`{"projects":{"p":{"secrets":[{"secretId":"s","secret":{}}]}}}`:                                                                                               {400, "projects.p.secrets[0].secret: "},
		`{"projects":{"p":{"jobs":[{"jobId":"train"}]}}}`:                                                                                                             {400, `projects.p.jobs[0]: Give "location"`},
		job(`,"executions":[{"attempts":[{"ends":"well"}]}]`):                                                                                                         {400, `projects.p.jobs[0].executions[0].attempts[0]: "ends" is "well": write one of succeeded, failed, preempted, timedOut, cancelled or running.`},
		job(`,"executions":[{"attempts":[{"ends":"succeeded"},{"ends":"failed"}]}]`):                                                                                  {400, `attempts[0]: No attempt follows one that ends "succeeded"`},
		job(`,"executions":[{"attempts":[{"ends":"failed","exitCode":0}]}]`):                                                                                          {400, `"exitCode" is 0`},
		job(`,"executions":[{"attempts":[{"ends":"succeeded","exitCode":1}]}]`):                                                                                       {400, `"exitCode" is for an attempt that ends`},
		job(`,"executions":[{"attempts":[{"ends":"timedOut","after":"1h"}]}]`):                                                                                        {400, `Leave "after" out`},
		job(`,"executions":[{"attempts":[{"ends":"succeeded","after":"11m"}]}]`):                                                                                      {400, `executions[0].attempts[0]: "after" is 11m, and the timeout ends the attempt after 10m: `},
		job(`,"executions":[{"run":{"overrides":{"timeout":"9223372036s"}},"attempts":[{"ends":"failed","after":"2562047h"},{"ends":"failed","after":"2562047h"}]}]`): {400, "projects: The executions take longer than 87600h, one after the other"},
		job(`,"executions":[{"attempts":[{"ends":"preempted"}]}]`):                                                                                                    {400, `projects.p.jobs[0].executions[0]: A task whose attempt ends "preempted" is tried again, up to 1 times`},
	} {
		got := rest(t, e, "POST", "/control/v1/seed", document, append(auth, "Content-Type", "application/json")...)
		if text, _ := got.at("error.message").(string); got.code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s:\n%d %s\nwant %d %s", document, got.code, text, want.code, want.text)
		}
		if strings.HasPrefix(document, `{"projects":{"p":{"jobs":[{"location"`) {
			must(t, e, "POST", "/control/v1/reset", "", auth...)
		}
	}
	for document, want := range map[string]string{
		job(`,"executions":[{"attempts":[{"ends":"failed"},{"ends":"failed"},{"ends":"failed"}]}]`): "have 2 attempts at most (maxRetries 1), and here are 3",
		job(`,"executions":[{"executionId":"other-x"}]`):                                            `"other-x" is none of job train; write train-first.`,
		job(`,"executions":[{"executionId":"train-x"},{"executionId":"train-x"}]`):                  "executions[1]: Resource 'train-x' already exists.",
		job(`,"executions":[{"run":{"overrides":{"taskCount":-1}}}]`):                               "projects.p.jobs[0].executions[0]: ",
	} {
		must(t, e, "POST", "/control/v1/reset", "", auth...)
		got := rest(t, e, "POST", "/control/v1/seed", document, auth...)
		if text, _ := got.at("error.message").(string); got.code < http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s:\n%d %s\nwant %s", document, got.code, text, want)
		}
	}
}

// A seed that is refused half way leaves the clock where it was, and not in the
// past in which its executions were to lie.
func TestSeedRefusedLeavesTheClock(t *testing.T) {
	t.Parallel()
	e := start(t)
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}
	got := rest(t, e, "POST", "/control/v1/seed", `{"projects":{"p":{"jobs":[{"location":"us-central1","jobId":"train","job":`+minimal+`,
		"executions":[{"attempts":[{"ends":"succeeded","after":"9m"}]},{"executionId":"other","attempts":[{"ends":"succeeded","after":"8m"}]}]}]}}}`, auth...)
	if text, _ := got.at("error.message").(string); got.code != http.StatusBadRequest || !strings.Contains(text, "executions[1]") {
		t.Fatalf("%d %s", got.code, text)
	}
	if ahead := time.Until(e.Now()); !near(ahead+30*time.Second, 0) {
		t.Errorf("the clock is %s ahead", ahead)
	}
}
