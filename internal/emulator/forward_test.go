// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// processes is start with real processes.
func processes(t *testing.T, change ...func(*emulator.Options)) *emulator.Emulator {
	t.Helper()
	return start(t, append([]func(*emulator.Options){func(o *emulator.Options) { o.Launcher = nil }}, change...)...)
}

// program is a job whose attempts run a shell script.
func program(script string, retries int, timeout string) string {
	return `{"template":{"template":{"timeout":` + quote(timeout) + `,"maxRetries":` + quote(retries) +
		`,"containers":[{"image":"x","command":["/bin/sh","-c"],"args":[` + quote(script) + `]}]}}}`
}

// untilAttempt goes on for ever before the n-th attempt, and ends then.
func untilAttempt(n string) string {
	return `trap 'exit 143' TERM; [ $CLOUD_RUN_TASK_ATTEMPT = ` + n + ` ] || while :; do sleep 0.01; done`
}

// runJob makes a job and runs it, and returns the execution's full name.
func runJob(t *testing.T, e *emulator.Emulator, id, job string) string {
	t.Helper()
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId="+id, job)
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs/"+id+":run", "{}").at("metadata.name").(string)
	return name
}

func fastForward(t *testing.T, e *emulator.Emulator, by string) answer {
	t.Helper()
	return must(t, e, "POST", "/control/v1/fast-forward", `{"by":`+quote(by)+`}`, "Authorization", "Bearer "+e.ControlToken())
}

// near reports whether a duration is a little more than it has to be.
func near(got, want time.Duration) bool { return got >= want && got < want+time.Minute }

// A task that runs into its timeout of twelve hours is tried again, and all of it
// has the times that it would have had.
func TestFastForwardOverTimeout(t *testing.T) {
	t.Parallel()
	e := processes(t)
	name := runJob(t, e, "train", program(untilAttempt("1"), 1, "43200s"))
	before := e.Now()
	got := fastForward(t, e, "11h59m")
	if got.at("ahead") != "11h59m" {
		t.Errorf("the clock: %s", got.text)
	}
	if x := e.Run().Execution(name); x.GetRetriedCount() != 0 || x.GetRunningCount() != 1 {
		t.Errorf("a minute before the timeout: %v", x)
	}
	fastForward(t, e, "1m30s")
	if ahead := e.Now().Sub(before); !near(ahead, 12*time.Hour+30*time.Second) {
		t.Errorf("the clock went on by %s", ahead)
	}
	x, err := e.Run().Await(t.Context(), name, run.Finished)
	if err != nil {
		t.Fatal(err)
	}
	if x.GetRetriedCount() != 1 || x.GetSucceededCount() != 1 || !near(x.GetCompletionTime().AsTime().Sub(x.GetStartTime().AsTime()), 12*time.Hour) {
		t.Errorf("an execution whose task ran into its timeout: %v", x)
	}
}

// Two preemptions on a schedule lie within one jump: each happens at its time, and
// the attempt between them begins at its own.
func TestFastForwardOverSchedule(t *testing.T) {
	t.Parallel()
	e := processes(t, func(o *emulator.Options) { o.PreemptAfter, o.PreemptEvery = 3*time.Hour, 2*time.Hour })
	name := runJob(t, e, "train", program(untilAttempt("2"), 3, "86400s"))
	fastForward(t, e, "5h1s") // a program that runs counts as running for all of it
	x, err := e.Run().Await(t.Context(), name, run.Finished)
	if err != nil || x.GetRetriedCount() != 1 || x.GetSucceededCount() != 1 || !near(x.GetCompletionTime().AsTime().Sub(x.GetStartTime().AsTime()), 5*time.Hour) {
		t.Errorf("%v, %v", x, err)
	}
	entries := must(t, e, "POST", "/v2/entries:list", `{"resourceNames":["projects/p"],"filter":"textPayload:preemption"}`)
	list, _ := entries.at("entries").([]any)
	var times []time.Duration
	for _, entry := range list {
		text, _ := entry.(map[string]any)["timestamp"].(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at.Sub(x.GetStartTime().AsTime()))
	}
	if len(times) != 2 || !near(times[0], 3*time.Hour) || !near(times[1], 5*time.Hour) {
		t.Errorf("preempted after %s: %s", times, entries.text)
	}
}

// The jump reaches every room.
func TestFastForwardEverywhere(t *testing.T) {
	t.Parallel()
	e := start(t)
	auth := []string{"Authorization", "Bearer " + e.ControlToken()}

	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket","softDeletePolicy":{"retentionDurationSeconds":"604800"}}`)
	must(t, e, "POST", "/upload/storage/v1/b/ckpt-bucket/o?uploadType=media&name=old", "old", "Content-Type", "text/plain")
	if got := rest(t, e, "DELETE", "/storage/v1/b/ckpt-bucket/o/old", ""); got.code != http.StatusNoContent {
		t.Fatal(got.text)
	}
	dir, _ := e.Storage().Dir("ckpt-bucket")
	if err := os.WriteFile(filepath.Join(dir, "by-a-task"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := e.Now()

	must(t, e, "POST", "/v1/projects/p/secrets?secretId=short", `{"replication":{"automatic":{}},"ttl":"3600s"}`)
	must(t, e, "POST", "/v1/projects/p/secrets?secretId=long", `{"replication":{"automatic":{}},"ttl":"864000s"}`)

	must(t, e, "POST", "/control/v1/timing", `{"operations":"5h","provision":"6h"}`, auth...)
	operation, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal).at("name").(string)
	for _, step := range []struct {
		by                 string
		done, secret, kept bool
	}{
		{"30m", false, true, true}, {"5h", true, false, true}, {"162h", true, false, true}, {"1h", true, false, false},
	} {
		fastForward(t, e, step.by)
		if got := must(t, e, "GET", "/v2/"+operation, ""); (got.at("done") == true) != step.done {
			t.Errorf("after %s: operation %s", step.by, got.text)
		}
		if got := rest(t, e, "GET", "/v1/projects/p/secrets/short", ""); (got.code == 200) != step.secret {
			t.Errorf("after %s: secret %s", step.by, got.text)
		}
		if got := must(t, e, "GET", "/storage/v1/b/ckpt-bucket/o?softDeleted=true", ""); (got.at("items") != nil) != step.kept {
			t.Errorf("after %s: soft-deleted objects %s", step.by, got.text)
		}
	}
	must(t, e, "GET", "/v1/projects/p/secrets/long", "")

	// A file that nobody has looked at was written when it was.
	text, _ := must(t, e, "GET", "/storage/v1/b/ckpt-bucket/o/by-a-task", "").at("timeCreated").(string)
	if at, err := time.Parse(time.RFC3339, text); err != nil || at.Sub(written).Abs() > time.Minute {
		t.Errorf("a file of %s was created at %s", written, text)
	}

	// An execution waits for its resources, which take six hours here.
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs/train:run", "{}").at("metadata.name").(string)
	fastForward(t, e, "5h")
	if x := e.Run().Execution(name); x.GetStartTime() != nil {
		t.Errorf("it has started after 5 hours: %v", x)
	}
	fastForward(t, e, "2h")
	if x := e.Run().Execution(name); !near(x.GetStartTime().AsTime().Sub(x.GetCreateTime().AsTime()), 6*time.Hour) {
		t.Errorf("it has not started after 6 hours: %v", x)
	}
}

// A jump waits for a task that answers SIGTERM slowly, and goes on when it has
// ended; meanwhile the clock is nobody else's, and a caller may give up.
func TestFastForwardIsForOne(t *testing.T) {
	t.Parallel()
	tasks := runner.NewScripted()
	e := start(t, func(o *emulator.Options) { o.Launcher, o.PreemptAfter = tasks, time.Hour })
	runJob(t, e, "train", minimal)
	first, err := tasks.Await(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- e.FastForward(ctx, 24*time.Hour) }()
	<-first.Stopping()
	if got := rest(t, e, "POST", "/control/v1/fast-forward", `{"by":"1h"}`, "Authorization", "Bearer "+e.ControlToken()); got.code != http.StatusConflict || !strings.Contains(got.text, "Another fast-forward or seed is under way") {
		t.Errorf("a second jump: %d %s", got.code, got.text)
	}
	giveUp()
	if err := <-gone; err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("a caller that gave up: %v", err)
	}
	first.Exit(143)
	if _, err := tasks.Await(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := e.FastForward(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
}

// What is kept has times of the clock, so that the clock is kept beside it.
func TestClockIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inFolder := func(o *emulator.Options) { o.Data = dir }
	first := start(t, inFolder)
	must(t, first, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	fastForward(t, first, "1000h")
	must(t, first, "PATCH", "/v2/"+parent+"/jobs/train", minimal)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, inFolder)
	if ahead := time.Until(second.Now()); !near(ahead+time.Minute/2, 1000*time.Hour) {
		t.Errorf("after a restart the clock is %s ahead", ahead)
	}
}
