// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// fill makes something of everything and returns the paths to read it by.
func fill(t *testing.T, e *emulator.Emulator) []string {
	t.Helper()
	must(t, e, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`)
	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	must(t, e, "POST", "/upload/storage/v1/b/ckpt-bucket/o?uploadType=media&name=run/step-1", "checkpoint", "Content-Type", "text/plain")
	must(t, e, "POST", "/v1/projects/p/secrets?secretId=api-key", `{"replication":{"automatic":{}}}`)
	must(t, e, "POST", "/v2/entries:write", `{"logName":"projects/p/logs/l","resource":{"type":"global"},"entries":[{"textPayload":"kept"}]}`)
	operation, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal).at("name").(string)
	must(t, e, "GET", "/v2/"+operation, "")
	return []string{
		"/v1/projects/p/serviceAccounts/trainer@p.iam.gserviceaccount.com", "/storage/v1/b/ckpt-bucket", "/storage/v1/b/ckpt-bucket/o/run%2Fstep-1",
		"/v1/projects/p/secrets/api-key", "/v2/" + parent + "/jobs/train", "/v2/" + operation,
	}
}

// After a reset the emulator is as a new one, and serves the next test.
func TestReset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, change := range map[string]func(*emulator.Options){
		"memory": func(*emulator.Options) {}, "folder": func(o *emulator.Options) { o.Data = dir },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasks := runner.NewScripted()
			e := start(t, change, func(o *emulator.Options) { o.Launcher = tasks })
			auth := []string{"Authorization", "Bearer " + e.ControlToken()}
			client := jobs(t, e)
			for range 2 {
				paths := fill(t, e)
				must(t, e, "POST", "/control/v1/timing", `{"import":"5s"}`, auth...)
				must(t, e, "POST", "/control/v1/fast-forward", `{"by":"6h"}`, auth...)
				must(t, e, "POST", "/v2/"+parent+"/jobs/train:run", "{}")
				must(t, e, "POST", "/control/v1/fast-forward", `{"by":"6h"}`, auth...)
				attempt, err := tasks.Await(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					<-attempt.Stopping()
					attempt.Exit(0)
				}()
				must(t, e, "POST", "/control/v1/faults", `{"method":"*/ListJobs","times":-1,"code":"UNAVAILABLE"}`, auth...)
				last := lastCall(t, e)

				must(t, e, "POST", "/control/v1/reset", "", auth...)

				select {
				case <-attempt.Done():
				default:
					t.Error("a task has outlived the reset")
				}
				for _, path := range paths {
					if got := rest(t, e, "GET", path, ""); got.code != http.StatusNotFound {
						t.Errorf("%s after the reset: %d %s", path, got.code, got.text)
					}
				}
				must(t, e, "DELETE", "/control/v1/calls", "", auth...)
				if got := must(t, e, "POST", "/v2/entries:list", `{"resourceNames":["projects/p"]}`); got.at("entries") != nil {
					t.Errorf("entries after the reset: %s", got.text)
				}
				if first := lastCall(t, e); first <= last {
					t.Errorf("call %d after the reset, %d before", first, last)
				}
				if ahead := time.Until(e.Now()); ahead > time.Minute {
					t.Errorf("the clock is %s ahead after the reset", ahead)
				}
				must(t, e, "GET", "/v2/"+parent+"/jobs", "") // no fault strikes
				if _, err := client.ListJobs(t.Context(), &runpb.ListJobsRequest{Parent: parent}).Next(); err == nil || !strings.Contains(err.Error(), "no more items") {
					t.Errorf("a client that was there before the reset: %v", err)
				}
				if name == "memory" {
					continue
				}
				err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
					if err == nil && !entry.IsDir() && (strings.Contains(path, "train") || strings.Contains(path, "ckpt-bucket")) {
						t.Errorf("%s is left", path)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// An upload that is still to come does not hold a reset up. It is answered as any
// call meanwhile, and the connection serves the next world.
func TestResetDuringAnUpload(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	content, more := io.Pipe()
	type answer struct {
		code int
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		resp, err := http.Post("http://"+e.Addr()+"/upload/storage/v1/b/ckpt-bucket/o?uploadType=media&name=large", "text/plain", content)
		if err != nil {
			answered <- answer{err: err}
			return
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		answered <- answer{resp.StatusCode, string(raw), err}
	}()
	if _, err := more.Write([]byte(strings.Repeat("x", 1<<20))); err != nil {
		t.Fatal(err)
	}
	must(t, e, "POST", "/control/v1/reset", "", "Authorization", "Bearer "+e.ControlToken())
	a := <-answered
	if err := more.Close(); err != nil {
		t.Error(err)
	}
	if a.err != nil || a.code != http.StatusServiceUnavailable || !strings.Contains(a.text, "The emulator is being reset or stopped") {
		t.Errorf("%d %s, %v", a.code, a.text, a.err)
	}
	if got := rest(t, e, "GET", "/storage/v1/b/ckpt-bucket", ""); got.code != http.StatusNotFound {
		t.Errorf("after the reset: %d %s", got.code, got.text)
	}
}

// lastCall is the number of the newest call in the record.
func lastCall(t *testing.T, e *emulator.Emulator) int {
	t.Helper()
	calls := e.Faults().Calls()
	if len(calls) == 0 {
		t.Fatal("no call is recorded")
	}
	return calls[len(calls)-1].Seq
}

// While a reset waits for a task to end, others are told.
func TestResetIsForOne(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	// A task takes SIGKILL of nobody here: it ends when this test says so.
	stubborn := stubbornLauncher{Scripted: tasks, end: make(chan struct{})}
	e := start(t, func(o *emulator.Options) { o.Launcher = stubborn })
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}
	runJob(t, e, "train", minimal)
	attempt, err := tasks.Await(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- e.Reset() }()
	<-attempt.Stopping()
	for path, want := range map[string]string{
		"/control/v1/reset":                     "409 Another reset is under way: wait for its answer and try again.",
		"/control/v1/hide":                      "503 The emulator is being reset or stopped",
		"/v2/" + parent + "/jobs?jobId=another": "503 The emulator is being reset or stopped",
		"/storage/v1/b?project=p":               "503 The emulator is being reset or stopped",
	} {
		if got := rest(t, e, "POST", path, "{}", auth...); !strings.HasPrefix(quoteAnswer(got), want) {
			t.Errorf("%s: %s, want %s", path, quoteAnswer(got), want)
		}
	}
	if got := must(t, e, "GET", "/healthz", ""); got.text != "ok\n" {
		t.Errorf("health: %q", got.text)
	}
	close(stubborn.end)
	if err := <-done; err != nil {
		t.Error(err)
	}
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=another", minimal)
}

func quoteAnswer(a answer) string {
	text, _ := a.at("error.message").(string)
	return quote(a.code) + " " + text
}

// stubbornLauncher ends its attempts when it is told to, whatever they are asked.
type stubbornLauncher struct {
	*runner.Scripted
	end chan struct{}
}

func (s stubbornLauncher) Launch(t runner.Task, output func(stream, line string)) (runner.Attempt, error) {
	a, err := s.Scripted.Launch(t, output)
	if err != nil {
		return nil, err
	}
	go func() {
		<-s.end
		if scripted, ok := a.(*runner.ScriptedAttempt); ok {
			scripted.Exit(0)
		}
	}()
	return struct{ runner.Attempt }{a}, nil // without Signal
}

// sink is a record that a test reads while it grows.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *sink) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *sink) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The record has a line for each call of an API, and nothing that admits to
// anything; the list can be narrowed.
func TestRecord(t *testing.T) {
	t.Parallel()
	out := &sink{}
	e := start(t, func(o *emulator.Options) { o.Record = out })
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}
	fill(t, e)
	const payload = "aHVudGVyMg=="
	must(t, e, "POST", "/v1/projects/p/secrets/api-key:addVersion", `{"payload":{"data":"`+payload+`"}}`, "Authorization", "Bearer ya29.access")
	must(t, e, "GET", "/v1/projects/p/secrets/api-key/versions/1:access?access_token=ya29.access", "")
	must(t, e, "GET", "/storage/v1/b/ckpt-bucket?access_token=ya29.access&projection=full", "")
	rest(t, e, "GET", "/storage/v1/b/none", "")
	must(t, e, "POST", "/control/v1/reset", "", auth...)
	must(t, e, "GET", "/v2/"+parent+"/jobs", "")
	var methods []string
	for line := range strings.Lines(out.String()) {
		var call struct {
			Seq                                 int
			Method, Resource, Code, Query, Time string
			Request                             map[string]any
		}
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			t.Fatal(errors.Join(err, errors.New(line)))
		}
		methods = append(methods, call.Method[strings.LastIndexAny(call.Method, "/")+1:]+" "+call.Code)
		if call.Seq != len(methods) || call.Time == "" {
			t.Errorf("line %d is call %d at %q", len(methods), call.Seq, call.Time)
		}
		if strings.HasSuffix(call.Method, "CreateJob") && (call.Resource != parent+"/jobs/train" || call.Request["jobId"] != "train") {
			t.Errorf("line %s", line)
		}
		if call.Method == "storage.buckets.get" && call.Code == "OK" && call.Query != "projection=full" {
			t.Errorf("line %s", line)
		}
	}
	want := "CreateServiceAccount OK, storage.buckets.insert OK, storage.objects.insert OK, CreateSecret OK, WriteLogEntries OK, CreateJob OK, GetOperation OK, " +
		"AddSecretVersion OK, AccessSecretVersion OK, storage.buckets.get OK, storage.buckets.get NOT_FOUND, ListJobs OK"
	if got := strings.Join(methods, ", "); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
	for _, secret := range []string{payload, "hunter2", "ya29", e.ControlToken()} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is in the record", secret)
		}
	}

	fill(t, e)
	rest(t, e, "GET", "/storage/v1/b/none", "")
	now := e.Now().UTC().Format(time.RFC3339Nano)
	must(t, e, "GET", "/storage/v1/b?project=p", "")
	for filter, want := range map[string]int{
		"": 10, "method=*/CreateJob": 1, "method=storage.buckets.*": 3, "resource=ckpt": 2, "code=NOT_FOUND": 1, "code=not_found&resource=ckpt": 0,
		"since=" + now: 1, "after=12": 9, "after=20": 1, "method=storage.*&after=13": 4,
	} {
		got := must(t, e, "GET", "/control/v1/calls?"+filter, "", auth...)
		if list, _ := got.at("calls").([]any); len(list) != want {
			t.Errorf("%s: %d calls, want %d\n%s", filter, len(list), want, got.text)
		}
	}
}

// A reset of a closed emulator makes nothing.
func TestResetAfterClose(t *testing.T) {
	t.Parallel()
	e, err := emulator.Start(emulator.Options{Launcher: runner.NewScripted(), Data: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Reset(); err == nil || !strings.Contains(err.Error(), "reset or stopped") {
		t.Errorf("%v", err)
	}
}
