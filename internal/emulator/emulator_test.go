// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func quote(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	e := start(t)
	if got := must(t, e, "GET", "/healthz", ""); got.text != "ok\n" {
		t.Errorf("%q", got.text)
	}
	if got := rest(t, e, "POST", "/healthz", ""); got.code != http.StatusNotImplemented {
		t.Errorf("by POST: %d", got.code)
	}
}

// What is kept in a folder is there after a restart.
func TestRestartWithData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *emulator.Emulator {
		e, err := emulator.Start(emulator.Options{Launcher: runner.NewScripted(), Data: dir})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	end := func(e *emulator.Emulator) {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first := open()
	operation, _ := must(t, first, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal).at("name").(string)
	must(t, first, "GET", "/v2/"+operation, "") // its end is waited for
	account := must(t, first, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`)
	must(t, first, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	must(t, first, "POST", "/upload/storage/v1/b/ckpt-bucket/o?uploadType=media&name=run/step-1", "checkpoint", "Content-Type", "application/octet-stream")
	must(t, first, "POST", "/v2/entries:write", `{"logName":"projects/p/logs/l","resource":{"type":"global"},"entries":[{"textPayload":"kept"}]}`)
	paths := []string{
		"/v2/" + parent + "/jobs/train", "/v2/" + operation, "/v1/projects/p/serviceAccounts/trainer@p.iam.gserviceaccount.com",
		"/storage/v1/b/ckpt-bucket/iam", "/storage/v1/b/ckpt-bucket/o/run%2Fstep-1?alt=media",
	}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = must(t, first, "GET", path, "").text
	}
	end(first)

	second := open()
	defer end(second)
	for _, path := range paths {
		if got := must(t, second, "GET", path, ""); got.text != before[path] {
			t.Errorf("%s after a restart:\n%s\nbefore:\n%s", path, got.text, before[path])
		}
	}
	if got := must(t, second, "POST", "/v2/entries:list", `{"resourceNames":["projects/p"],"filter":"kept"}`); !strings.Contains(got.text, `"kept"`) {
		t.Errorf("log entries after a restart: %s", got.text)
	}
	if got := rest(t, second, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`); got.code != http.StatusConflict {
		t.Errorf("the account can be made again: %d (unique id was %v)", got.code, account.at("uniqueId"))
	}
}

func TestStartRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, func(o *emulator.Options) { o.Data = dir })
	for want, o := range map[string]emulator.Options{
		"another program, perhaps another emulator, uses this port": {Listen: first.Addr()},
		"is in use by another emulator":                             {Data: dir},
		"not a directory":                                           {Data: os.Args[0]},
	} {
		o.Launcher = runner.NewScripted()
		e, err := emulator.Start(o)
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	must(t, first, "GET", "/healthz", "") // and is not disturbed
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	dir, ok := e.Storage().Dir("ckpt-bucket")
	if !ok {
		t.Fatal("the bucket has no folder")
	}
	for range 2 { // the second call is harmless
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is there after Close: %v", dir, err)
	}
	if _, err := send(t, e, "GET", "/healthz", ""); err == nil {
		t.Error("it still answers")
	}
}

// A request that hangs does not keep the emulator from closing.
func TestCloseWithOpenRequests(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.Operations().SetDelay(1e12)
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal).at("name").(string)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = send(t, e, "POST", "/v2/"+name+":wait", `{}`) // cut off or answered, as it comes
	}()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

// With real processes: output, an end by itself, an end by Close.
func TestRealTasks(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 100)
	e := start(t, func(o *emulator.Options) {
		o.Launcher = nil
		o.Images = []runner.Image{{Pattern: "*/train:*", Command: []string{"/bin/sh", "-c"}}}
		o.TaskOutput = func(_, stream, line string) { lines <- stream + " " + line }
	})
	if e.TaskMode() == "" {
		t.Error("no mode with real processes")
	}
	job := `{"template":{"template":{"maxRetries":0,"containers":[{"image":"example.com/train:1","args":["echo $CLOUD_RUN_JOB; %s"]}]}}}`
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=short", strings.ReplaceAll(job, "%s", "exit 0"))
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=long", strings.ReplaceAll(job, "%s", "exec sleep 1000"))
	short := must(t, e, "POST", "/v2/"+parent+"/jobs/short:run", "{}")
	if line := <-lines; line != "stdout short" {
		t.Errorf("output %q", line)
	}
	name, _ := short.at("metadata.name").(string)
	if x, err := e.Run().Await(t.Context(), name, run.Finished); err != nil || x.GetSucceededCount() != 1 {
		t.Errorf("%v, %v", x, err)
	}
	must(t, e, "POST", "/v2/"+parent+"/jobs/long:run", "{}")
	<-lines
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := start(t, func(o *emulator.Options) { o.Launcher = tasks })
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}
	for name, header := range map[string][]string{
		"none": nil, "wrong": {"Authorization", "Bearer x"}, "bare": {"Authorization", e.ControlToken()}, "empty": {"Authorization", "Bearer "},
	} {
		for _, path := range []string{"/control/v1/calls", "/control/v1/nonsense"} {
			if got := rest(t, e, "GET", path, "", header...); got.code != http.StatusUnauthorized || strings.Contains(got.text, e.ControlToken()) {
				t.Errorf("token %s, %s: %d %s", name, path, got.code, got.text)
			}
		}
	}
	if got := rest(t, e, "GET", "/control/v1/nonsense", "", auth...); got.code != http.StatusNotFound {
		t.Errorf("an unknown method: %d", got.code)
	}

	// Preempt the task of the job's only execution.
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs/train:run", "{}").at("metadata.name").(string)
	attempt, err := tasks.Await(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := must(t, e, "GET", "/control/v1/executions?job=train", "", auth...); quote(got.at("running")) != quote([]string{name}) {
		t.Errorf("running: %s", got.text)
	}
	if got := must(t, e, "POST", "/control/v1/preempt", `{"job":"train"}`, auth...); got.at("execution") != name {
		t.Errorf("preempted: %s", got.text)
	}
	<-attempt.Stopping()
	attempt.Exit(143)
	if attempt, err = tasks.Await(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	must(t, e, "POST", "/v2/"+parent+"/jobs/train:run", "{}")
	other, err := tasks.Await(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]struct {
		code int
		text string
	}{
		`{"job":"train"}`:                 {400, "several running executions"},
		`{"job":"none"}`:                  {400, "No execution of job none"},
		`{}`:                              {400, "either an execution or a job"},
		`{"job":"train","execution":"x"}`: {400, "either an execution or a job"},
		`{"execution":"none"}`:            {404, "There is no execution none. Running are: " + parent + "/jobs/train/executions/train-"},
		`{"execution":` + quote(name) + `,"task":7}`:   {400, "Task 7 of execution train-"},
		`{"execution":` + quote(name) + `,"task":"0"}`: {400, "task cannot be a JSON string."},
		`{"jobs":"train"}`:                             {400, `unknown field \"jobs\": the fields are \"execution\", \"job\" and \"task\".`},
		`{"job":"train"} {}`:                           {400, "more than one JSON value"},
		`{"job":"train"`:                               {400, "it is no JSON"},
		`[]`:                                           {400, "the body cannot be a JSON array."},
	} {
		if got := rest(t, e, "POST", "/control/v1/preempt", body, auth...); got.code != want.code || !strings.Contains(got.text, want.text) {
			t.Errorf("preempt %s: %d %s\nwant %d %s", body, got.code, got.text, want.code, want.text)
		}
	}
	attempt.Exit(0)
	other.Exit(0)
	x, err := e.Run().Await(t.Context(), name, run.Finished)
	if err != nil || x.GetRetriedCount() != 1 || x.GetSucceededCount() != 1 {
		t.Errorf("%v, %v", x, err)
	}

	// Faults, hidden accounts, the record.
	must(t, e, "POST", "/control/v1/faults", `{"method":"*/GetJob","code":"UNAVAILABLE","message":"try later"}`, auth...)
	if got := rest(t, e, "GET", "/v2/"+parent+"/jobs/train", ""); got.code != http.StatusServiceUnavailable || got.at("error.message") != "try later" {
		t.Errorf("a scripted refusal: %d %s", got.code, got.text)
	}
	must(t, e, "POST", "/control/v1/faults", `{"method":"*/CreateJob","operation":{"code":5,"message":"gone","delay":"0s"}}`, auth...)
	operation, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=failed", minimal).at("name").(string)
	if got := must(t, e, "GET", "/v2/"+operation, ""); got.at("error.message") != "gone" {
		t.Errorf("a scripted end of an operation: %s", got.text)
	}
	must(t, e, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`)
	must(t, e, "POST", "/control/v1/hide", `{"email":"trainer@p.iam.gserviceaccount.com","view":"read","times":1}`, auth...)
	for _, want := range []int{404, 200} {
		if got := rest(t, e, "GET", "/v1/projects/p/serviceAccounts/trainer@p.iam.gserviceaccount.com", ""); got.code != want {
			t.Errorf("a hidden account: %d, want %d", got.code, want)
		}
	}
	calls := must(t, e, "GET", "/control/v1/calls?method=*/CreateJob", "", auth...)
	if list, _ := calls.at("calls").([]any); len(list) != 2 || !strings.Contains(calls.text, "example.com/train:1") || !strings.Contains(calls.text, `"code": "OK"`) {
		t.Errorf("calls: %s", calls.text)
	}
	must(t, e, "POST", "/control/v1/timing", `{"operations":"1h","import":"1ms"}`, auth...)
	operation, _ = must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=slow", minimal).at("name").(string)
	if got := must(t, e, "GET", "/v2/"+operation, ""); got.at("done") != nil {
		t.Errorf("an operation that takes an hour: %s", got.text)
	}
	must(t, e, "DELETE", "/control/v1/faults", "", auth...)
	if got := must(t, e, "GET", "/control/v1/calls", "", auth...); quote(got.at("calls")) == "[]" {
		t.Error("the end of the faults took the record of calls with it")
	}
	must(t, e, "DELETE", "/control/v1/calls", "", auth...)
	if got := must(t, e, "GET", "/control/v1/calls", "", auth...); quote(got.at("calls")) != "[]" {
		t.Errorf("after the record was forgotten: %s", got.text)
	}
	if got := rest(t, e, "POST", "/control/v1/preempt", `{"execution":`+quote(name)+`}`, auth...); got.code != 400 || !strings.Contains(got.text, "is not running: it has ended") {
		t.Errorf("preempt an execution that has ended: %d %s", got.code, got.text)
	}
	for _, c := range [][3]string{
		{"POST faults", `{"method":"*"}`, "The fault does nothing"},
		{"POST faults", `{"method":"*/GetJobb","cut":true}`, `No method is called \"*/GetJobb\"`},
		{"POST faults", `{"code":"BUSY"}`, `\"BUSY\" is no status code: write a name such as`},
		{"POST faults", `{"cut":true,"after":-1}`, "how many calls pass first"},
		{"POST faults", `{"cuts":true}`, `\"lose\" and \"operation\" (in it \"code\", \"message\"`},
		{"POST hide", `{"email":"a","view":"all"}`, `a view (\"read\", \"policy\" or \"run\")`},
		{"POST timing", `{"operations":5}`, `5 is no length of time: write a text such as \"90s\"`},
		{"POST fast-forward", `{"by":"2 days"}`, `\"2 days\" is no length of time`},
		{"POST fast-forward", `{"by":"-1h"}`, "The clock goes ahead only, and by 87600h at most: -1h is not possible"},
		{"POST fast-forward", `{}`, `{\"by\": \"6h\"}`},
		{"POST reset", `{"all":true}`, "unknown field"},
		{"GET calls?methods=x", "", `This call has no parameter \"methods\": write method, resource, code, since or after.`},
		{"GET calls?method=x", "", `No method is called \"x\"`},
		{"GET calls?since=yesterday", "", "since=yesterday is no time: write one such as 20"},
		{"GET calls?after=x", "", "after=x is no number"},
		{"GET clock?x=1", "", "it has none"},
	} {
		method, path, _ := strings.Cut(c[0], " ")
		if got := rest(t, e, method, "/control/v1/"+path, c[1], auth...); got.code != http.StatusBadRequest || !strings.Contains(got.text, c[2]) {
			t.Errorf("%s %s: %d %s\nwant %s", c[0], c[1], got.code, got.text, c[2])
		}
	}
	if got := rest(t, e, "GET", "/control/v1/preempt", "", auth...); got.code != 404 || !strings.Contains(got.text, "send POST.") {
		t.Errorf("another method: %d %s", got.code, got.text)
	}
	if got := must(t, e, "GET", "/control/v1/", "", auth...); !strings.Contains(got.text, `"call": "POST /control/v1/fast-forward"`) {
		t.Errorf("the list of calls: %s", got.text)
	}
}

// records is a slog.Handler's output that a test may read while it grows.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *records) messages(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var messages []string
	for line := range strings.Lines(r.b.String()) {
		var record struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, record.Msg)
	}
	return messages
}

// The story that the quickstart tells.
func TestNarration(t *testing.T) {
	t.Parallel()
	tasks, out := runner.NewScripted(), &records{}
	e := start(t, func(o *emulator.Options) {
		o.Launcher = tasks
		o.Logger = slog.New(slog.NewJSONHandler(out, nil))
	})
	must(t, e, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`)
	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	must(t, e, "PUT", "/storage/v1/b/ckpt-bucket/iam", `{"bindings":[]}`)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=other&validateOnly=true", minimal) // makes nothing
	rest(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs/train:run", "{}").at("metadata.name").(string)
	execution := name[strings.LastIndex(name, "/")+1:]
	attempt, err := tasks.Await(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	attempt.Write(runner.Stdout, "step 1 saved")
	attempt.Write(runner.Stderr, `{"severity":"INFO","message":"structured"}`)
	if err := e.Run().Preempt(name, 0); err != nil {
		t.Fatal(err)
	}
	attempt.Exit(143)
	if attempt, err = tasks.Await(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	attempt.Write(runner.Stdout, "resumed at step 1")
	attempt.Exit(0)
	if _, err := e.Run().Await(t.Context(), name, run.Finished); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	got := out.messages(t)
	for i, want := range []string{
		"service account trainer created",
		"bucket ckpt-bucket created",
		"policy of bucket ckpt-bucket written",
		"job train created",
		"refused, ALREADY_EXISTS: job train created",
		"job train run",
		execution + " task 0 attempt 0 | step 1 saved",
		execution + " task 0 attempt 0 | structured",
		execution + " task 0 attempt 0: Container instance preemption",
		execution + " task 0 attempt 0: Container called exit(143).",
		execution + " task 0 attempt 1 begins: the task is tried again",
		execution + " task 0 attempt 1 | resumed at step 1",
		execution + " task 0 attempt 1: Container called exit(0).",
		"Execution " + execution + " has completed successfully.",
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("line %d: want %q in\n%s", i+1, want, strings.Join(got, "\n"))
		}
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	e := start(t, func(o *emulator.Options) { o.ControlToken = "chosen" })
	if e.ControlToken() != "chosen" || e.TaskMode() != "" || e.Logging() == nil {
		t.Errorf("token %q, mode %q, logging %v", e.ControlToken(), e.TaskMode(), e.Logging())
	}
	if other := start(t); len(other.ControlToken()) < 20 || other.ControlToken() == start(t).ControlToken() {
		t.Errorf("a random token: %q", other.ControlToken())
	}
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	if e.Run().Job(parent+"/jobs/train").GetName() != parent+"/jobs/train" {
		t.Error("Run() is another service")
	}
}
