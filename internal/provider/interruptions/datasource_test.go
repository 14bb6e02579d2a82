// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions_test

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"
	"google.golang.org/genproto/googleapis/api/monitoredres"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

var forms = []run.PreemptionLog{run.PreemptionText, run.PreemptionJSON, run.PreemptionAudit}

// In whichever log and form the platform tells of it.
func TestEveryFormOfTheMessage(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(fmt.Sprint(form), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *emulator.Options) { o.Behaviour.PreemptionLog = form })
			w.createJob("two", 2)
			two := w.start("two")
			w.preempt(two, 1, exit(143))
			w.preempt(two, 1, signal(9))
			w.preempt(two, 0, exit(0)) // counts as succeeded
			w.attempt(two, 1).Exit(0)
			w.ended(two)
			e := path.Base(two)
			state := w.must(map[string]any{"job": "two"})
			want := []string{e + "/0/0 preempted exit 0", e + "/1/1 preempted signal 9", e + "/1/0 preempted exit 143"}
			if diff := cmp.Diff(want, told(state)); diff != "" {
				t.Error(diff)
			}
			all, _ := state["interruptions"].([]any)
			first, _ := all[0].(map[string]any)
			if state["newest_time"] != first["time"] || state["interruption_count"] != int64(3) || state["truncated"] != false {
				t.Errorf("%v", state)
			}
			if m := fmt.Sprint(first["message"]); !strings.Contains(m, "preemption initiated by the platform") {
				t.Errorf("message %q", m)
			}
			if m := fmt.Sprint(first["meaning"]); !strings.Contains(m, "counts as succeeded") {
				t.Errorf("meaning %q", m)
			}
			// One list, and one more for the exit code that is not 143.
			if n := w.Faults().Count(listEntries); n != 2 || len(w.Faults().Find("google.cloud.run.v2.Jobs/GetJob")) != 0 {
				t.Errorf("%d requests for entries", n)
			}
		})
	}
}

// The platform sends SIGTERM for other reasons, too, and programs write what they
// like: none of this is an interruption.
func TestWhatIsNoInterruption(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(fmt.Sprint(form), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *emulator.Options) { o.Behaviour.PreemptionLog = form })
			w.tasks.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
			cancelled := w.start("train")
			a := w.attempt(cancelled, 0)
			for _, text := range []string{
				"Container called exit(143).", "Container terminated on signal 15.", "INSTANCE_PREEMPTED",
				"Container instance preemption initiated by the platform due to underlying hardware maintenance.",
				`{"message": "preemption initiated by the platform", "reason": "INSTANCE_PREEMPTED"}`,
			} {
				a.Write(runner.Stdout, text)
				a.Write(runner.Stderr, text)
			}
			if _, err := w.Run().CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: cancelled}); err != nil {
				t.Fatal(err)
			}
			w.ended(cancelled)

			deleted := w.start("train")
			w.attempt(deleted, 0)
			if _, err := w.Run().DeleteExecution(w.ctx, &runpb.DeleteExecutionRequest{Name: deleted}); err != nil {
				t.Fatal(err)
			}

			failed := w.start("train")
			w.attempt(failed, 0).Exit(1)
			w.attempt(failed, 0).Signal(9)
			w.attempt(failed, 0).TimeOut()
			w.attempt(failed, 0).Exit(0)
			w.ended(failed)
			// A timeout that the program answers with 143 has both entries.
			w.log("run.googleapis.com%2Fvarlog%2Fsystem", path.Base(failed), 2, w.clock.Now(), "Container called exit(143).")

			// The words in what users send: the audit entries of a job have its arguments.
			_, err := w.Run().CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: "INSTANCE_PREEMPTED", Job: &runpb.Job{}})
			if err == nil {
				t.Error("a job of this name exists")
			}
			w.createJobWith("words", "INSTANCE_PREEMPTED")
			w.tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
			w.ended(w.start("words"))

			if got := told(w.must(map[string]any{"job": "train"})); len(got) > 0 {
				t.Errorf("of the job: %v", got)
			}
			if got := told(w.must(map[string]any{"job": "words"})); len(got) > 0 {
				t.Errorf("of the words: %v", got)
			}
			// Without the platform's message, SIGTERM is told as what it is.
			by := w.start("train")
			w.tasks.OnLaunch(nil)
			w.attempt(by, 0).Exit(143)
			w.attempt(by, 0).Signal(15)
			w.attempt(by, 0).Exit(0)
			w.ended(by)
			e := path.Base(by)
			if diff := cmp.Diff([]string{e + "/0/1 signal 15", e + "/0/0 exit 143"}, told(w.must(map[string]any{"job": "train"}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (w *world) createJobWith(id, arg string) {
	w.t.Helper()
	_, err := w.Run().CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: id, Job: &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/apps/" + strings.ToLower(arg) + ":v1", Args: []string{arg}, Env: []*runpb.EnvVar{{Name: arg, Values: &runpb.EnvVar_Value{Value: arg}}}}},
	}}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// log writes an entry about the attempt of task 0 of an execution of the job.
func (w *world) log(log, execution string, attempt int, at time.Time, text string) {
	e := &loggingpb.LogEntry{
		LogName: "projects/" + acctest.EmulatorProject + "/logs/" + log, Timestamp: timestamppb.New(at),
		Resource: &monitoredres.MonitoredResource{Type: "cloud_run_job", Labels: map[string]string{
			"project_id": acctest.EmulatorProject, "location": acctest.EmulatorRegion, "job_name": "train",
		}},
		Payload: &loggingpb.LogEntry_TextPayload{TextPayload: text},
		Labels:  map[string]string{},
	}
	if execution != "" {
		e.Labels["run.googleapis.com/execution_name"] = execution
	}
	if attempt >= 0 {
		e.Labels["run.googleapis.com/task_index"], e.Labels["run.googleapis.com/task_attempt"] = "0", strconv.Itoa(attempt)
	}
	w.Logging().Append(e)
}

const (
	system  = "run.googleapis.com%2Fvarlog%2Fsystem"
	message = "Container instance preemption initiated by the platform due to underlying hardware maintenance. INSTANCE_PREEMPTED"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func atNoon(o *emulator.Options) { o.Clock = clockwork.NewFakeClockAt(noon) }

// The window ends now, or where it is said to; its beginning is part of it, its
// end is not.
func TestWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, atNoon)
	day := func(n int) time.Time { return noon.AddDate(0, 0, -n) }
	for n := range 10 {
		w.log(system, fmt.Sprintf("day-%d", n), 0, day(n), message)
	}
	// Before the window, its end within it: one interruption, of the window before.
	w.log(system, "edge", 0, day(3).Add(-5*time.Second), message)
	w.log(system, "edge", 0, day(3).Add(5*time.Second), "Container called exit(143).")
	// Within the window, and what tells it from an interruption after it.
	w.log(system, "timed", 0, day(1).Add(-5*time.Second), "Terminating task because it has reached the maximum timeout of 300 seconds.")
	w.log(system, "timed", 0, day(1).Add(1*time.Second), "Container called exit(143).")
	stamp := func(t time.Time) string { return t.Format(time.RFC3339) }
	for name, c := range map[string]struct {
		config     map[string]any
		want       string
		start, end time.Time
	}{
		"the last week":        {nil, "day-0 day-1 day-2 day-3 edge day-4 day-5 day-6 day-7", day(7), noon},
		"a shorter window":     {map[string]any{"window": "24h"}, "day-0 day-1", day(1), noon},
		"a window in the past": {map[string]any{"window": "48h", "end_time": stamp(day(1))}, "day-2 day-3", day(3), day(1)},
		"from a time on":       {map[string]any{"start_time": stamp(day(2))}, "day-0 day-1 day-2", day(2), noon},
		"between two times":    {map[string]any{"start_time": stamp(day(4)), "end_time": stamp(day(3))}, "edge day-4", day(4), day(3)},
		"in another zone":      {map[string]any{"start_time": "2026-11-27T13:00:00+01:00", "end_time": "2026-11-28T13:00:00+01:00"}, "day-2", day(2), day(1)},
		"nothing in it":        {map[string]any{"start_time": stamp(day(200)), "end_time": stamp(day(100))}, "", day(200), day(100)},
		"of one execution":     {map[string]any{"execution": "day-5"}, "day-5", day(7), noon},
	} {
		config := map[string]any{"job": "train"}
		for k, v := range c.config {
			config[k] = v
		}
		state := w.must(config)
		var got []string
		for _, s := range told(state) {
			got = append(got, strings.Split(s, "/")[0])
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		// What is not configured stays null: it would differ from plan to plan.
		for _, attribute := range []string{"window", "start_time", "end_time", "execution", "limit"} {
			if state[attribute] != config[attribute] {
				t.Errorf("%s: %s is %v, and %v was configured", name, attribute, state[attribute], config[attribute])
			}
		}
		lower, upper := `timestamp>="`+stamp(c.start.Add(-time.Minute))+`"`, `timestamp<"`+stamp(c.end.Add(time.Minute))+`"`
		if filter := fmt.Sprint(state["filter"]); !strings.Contains(filter, lower) || strings.Contains(filter, upper) != (config["end_time"] != nil) || strings.Count(filter, "timestamp") > 2 {
			t.Errorf("%s: the filter is\n%s", name, filter)
		}
	}
	// With a clock that is behind Google's, what has just happened is not missed.
	state, diags := w.look(map[string]any{"job": "train"}, clockwork.NewFakeClockAt(noon.Add(-time.Minute)))
	if got := told(state); len(diags) > 0 || len(got) == 0 || !strings.HasPrefix(got[0], "day-0/") {
		t.Errorf("%v %s", got, said(diags, 0))
	}
	// Nor is it refused when the window begins with it, as with the create_time of a run.
	for behind, refused := range map[time.Duration]bool{0: false, time.Minute: false, 10*time.Minute - time.Second: false, 10 * time.Minute: true} {
		state, diags := w.look(map[string]any{"job": "train", "start_time": stamp(noon)}, clockwork.NewFakeClockAt(noon.Add(-behind)))
		if got := told(state); refused != (len(diags) == 1) || !refused && !slices.Equal(got, []string{"day-0/0/0 preempted"}) {
			t.Errorf("%s behind: %v %s", behind, got, said(diags, 0))
		}
	}
}

// An interruption whose attempt the logs do not say is shown, with null for it.
func TestUnknownAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, atNoon)
	w.log(system, "train-x7k2p", -1, noon, message)
	w.log(system, "", -1, noon.Add(-time.Hour), message)
	if diff := cmp.Diff([]string{"train-x7k2p/<nil>/<nil> preempted", "<nil>/<nil>/<nil> preempted"}, told(w.must(map[string]any{"job": "train"}))); diff != "" {
		t.Error(diff)
	}
}

// 10,000 interruptions, told of by 20,000 entries, take 20 requests; the quota is
// 60 a minute.
func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, atNoon)
	for n := range 10_000 {
		at := noon.Add(-time.Duration(n) * time.Minute)
		w.log(system, "train-x7k2p", n, at, message)
		w.log(system, "train-x7k2p", n, at.Add(10*time.Second), "Container called exit(143).")
	}
	for _, c := range []struct {
		limit     any
		want      int64
		truncated bool
		requests  int
	}{
		{10_000, 10_000, false, 20},
		{nil, 1000, true, 3},
		{1, 1, true, 2},
	} {
		since := acctest.Since(w.Emulator)
		state := w.must(map[string]any{"job": "train", "window": "200h", "limit": c.limit})
		if n := since.Count(""); state["interruption_count"] != c.want || state["truncated"] != c.truncated || n > c.requests {
			t.Errorf("limit %v: %v, truncated %v, %d requests", c.limit, state["interruption_count"], state["truncated"], n)
		}
		for n, s := range told(state) {
			// The message of the oldest one is read, too, although it comes last.
			if s != fmt.Sprintf("train-x7k2p/0/%d preempted exit 143", n) {
				t.Fatalf("limit %v: number %d is %s", c.limit, n, s)
			}
		}
	}
}

// The quota is used up in the middle: it is waited for, and nothing is asked for
// twice that was answered.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, atNoon)
	for n := range 2500 {
		w.log(system, "train-x7k2p", n, noon.Add(-time.Duration(n)*time.Minute), message)
	}
	limited, err := status.New(codes.ResourceExhausted, "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service 'logging.googleapis.com'.").
		WithDetails(&errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED", Domain: "googleapis.com"})
	if err != nil {
		t.Fatal(err)
	}
	w.Faults().Add(faults.Fault{Method: listEntries, After: 1, Times: 3, Status: limited})
	clock := core.NewClock()
	clock.Advance(noon.Sub(clock.Now()))
	state, diags := w.look(map[string]any{"job": "train", "limit": 5000}, clock)
	if len(diags) > 0 || state["interruption_count"] != int64(2500) {
		t.Errorf("%v %s", state["interruption_count"], said(diags, 0))
	}
	// Three pages, three refusals, and one look for exit codes.
	if n := w.Faults().Count(listEntries); n != 7 {
		t.Errorf("%d requests", n)
	}
}

// Nothing found, nothing allowed, nothing there: each has its own answer.
func TestNothingAndErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	never := w.must(map[string]any{"job": "train"})
	if never["interruption_count"] != int64(0) || never["newest_time"] != nil || never["truncated"] != false || len(told(never)) != 0 {
		t.Errorf("%v", never)
	}
	if got := w.Faults().Count(listEntries) + w.Faults().Count(acctest.GetJob); got != 2 || len(w.Faults().Calls()) != 2 {
		t.Errorf("%d calls", len(w.Faults().Calls()))
	}

	disabled, err := status.New(codes.PermissionDenied, "Cloud Logging API has not been used in project 123 before or it is disabled.").
		WithDetails(&errdetails.ErrorInfo{Reason: "SERVICE_DISABLED", Domain: "googleapis.com"})
	if err != nil {
		t.Fatal(err)
	}
	full := jobFull + "/executions/train-x7k2p"
	if err := w.Run().AddExecution(&runpb.Execution{Name: full}); err != nil {
		t.Fatal(err)
	}
	refused := status.New(codes.PermissionDenied, "Permission denied on resource (or it may not exist).")
	for name, c := range map[string]struct {
		config  map[string]any
		faults  map[string]*status.Status
		error   string
		warning string
	}{
		"no such job":                       {config: map[string]any{"job": "trian"}, error: `Job does not exist (AttributeName("job"))`},
		"no such job, with an execution":    {config: map[string]any{"job": "trian", "execution": "trian-x7k2p"}, error: `Job does not exist (AttributeName("job"))`},
		"an execution without any":          {config: map[string]any{"job": "train", "execution": "train-x7k2p"}},
		"an execution that is not there":    {config: map[string]any{"job": "train", "execution": "train-zzzzz"}, warning: `Execution is not known (AttributeName("execution"))`},
		"a full name":                       {config: map[string]any{"job": jobFull}},
		"may not read the logs":             {config: map[string]any{"job": "train"}, faults: map[string]*status.Status{listEntries: status.New(codes.PermissionDenied, "Permission denied for all log views")}, error: "logging.logEntries.list, which the role roles/logging.viewer has"},
		"may not read the logs, named":      {config: map[string]any{"job": "train"}, faults: map[string]*status.Status{listEntries: status.New(codes.PermissionDenied, "Permission 'logging.logEntries.list' denied on resource (or it may not exist).")}, error: "logging.logEntries.list, which the role roles/logging.viewer has"},
		"the API is disabled":               {config: map[string]any{"job": "train"}, faults: map[string]*status.Status{listEntries: disabled}, error: "Enable the API that is named above"},
		"may not read the job":              {config: map[string]any{"job": "train"}, faults: map[string]*status.Status{acctest.GetJob: refused}, warning: `Cannot check that the job exists (AttributeName("job"))`},
		"may not read the execution":        {config: map[string]any{"job": "train", "execution": "train-x7k2p"}, faults: map[string]*status.Status{acctest.GetExecution: refused}, warning: `Cannot check that the execution exists (AttributeName("execution"))`},
		"the job cannot be read":            {config: map[string]any{"job": "train"}, faults: map[string]*status.Status{acctest.GetJob: status.New(codes.InvalidArgument, "bad")}, error: "Cannot read the job"},
		"the execution cannot be read":      {config: map[string]any{"job": "train", "execution": "train-x7k2p"}, faults: map[string]*status.Status{acctest.GetExecution: status.New(codes.InvalidArgument, "bad")}, error: "Cannot read the execution"},
		"a job that cannot be":              {config: map[string]any{"job": "A_B"}, error: "is not the name of a Cloud Run job"},
		"an execution that cannot be":       {config: map[string]any{"job": "train", "execution": "A_B"}, error: "cannot be the name of an execution"},
		"an execution by its full name":     {config: map[string]any{"job": "train", "execution": full}, error: `is a full name: write its last part, "train-x7k2p"`},
		"a window that is none":             {config: map[string]any{"job": "train", "window": "7 days"}, error: `write "168h"`},
		"a window of nothing":               {config: map[string]any{"job": "train", "window": "0s"}, error: "is not more than zero"},
		"a time that is none":               {config: map[string]any{"job": "train", "start_time": "yesterday"}, error: `"yesterday" is not a time`},
		"an end that is no time":            {config: map[string]any{"job": "train", "end_time": "2026-11-01"}, error: `"2026-11-01" is not a time`},
		"two beginnings":                    {config: map[string]any{"job": "train", "window": "1h", "start_time": "2026-11-01T00:00:00Z"}, error: "Two beginnings of the window"},
		"an end before the beginning":       {config: map[string]any{"job": "train", "start_time": "2026-11-02T00:00:00Z", "end_time": "2026-11-01T00:00:00Z"}, error: `Empty window (AttributeName("end_time"))`},
		"a beginning in the future":         {config: map[string]any{"job": "train", "start_time": "2999-11-02T00:00:00Z"}, error: `Empty window (AttributeName("start_time"))`},
		"a limit of nothing":                {config: map[string]any{"job": "train", "limit": 0}, error: "from 1 to 10000"},
		"a limit that no list should reach": {config: map[string]any{"job": "train", "limit": 10_001}, error: "from 1 to 10000"},
	} {
		var handles []*faults.Handle
		for method, st := range c.faults {
			handles = append(handles, w.Faults().Add(faults.Fault{Method: method, Status: st, Times: -1}))
		}
		state, diags := w.look(c.config, nil)
		for _, h := range handles {
			h.Remove()
		}
		errors, warnings := said(diags, tfprotov6.DiagnosticSeverityError), said(diags, tfprotov6.DiagnosticSeverityWarning)
		if !strings.Contains(errors, c.error) || (errors == "") != (c.error == "") || !strings.Contains(warnings, c.warning) || (warnings == "") != (c.warning == "") || len(diags) > 1 {
			t.Errorf("%s: errors %q, warnings %q", name, errors, warnings)
		}
		if strings.Count(errors, "roles/logging.viewer") > 1 {
			t.Errorf("%s: the role is named twice: %s", name, errors)
		}
		if c.error == "" && state["interruption_count"] != int64(0) {
			t.Errorf("%s: %v", name, state)
		}
	}

	// A value that is not known yet is no error, whatever it may become.
	for _, unknown := range []string{"start_time", "end_time", "window", "execution", "limit"} {
		config := map[string]any{"job": "train", "start_time": "2026-11-02T00:00:00Z", "end_time": "2026-11-01T00:00:00Z"}
		if unknown != "end_time" {
			delete(config, "end_time")
		}
		if unknown == "start_time" {
			config["window"] = "24h"
		}
		config[unknown] = tftypes.UnknownValue
		if diags := w.validate(config); len(diags) > 0 {
			t.Errorf("%s is not known: %s", unknown, said(diags, 0))
		}
	}

	// A job that is gone still has its logs.
	w.log(system, "train-x7k2p", 0, w.clock.Now(), message)
	if _, err := w.Run().DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull}); err != nil {
		t.Fatal(err)
	}
	since := acctest.Since(w.Emulator)
	if got := told(w.must(map[string]any{"job": "train"})); !slices.Equal(got, []string{"train-x7k2p/0/0 preempted"}) || since.Count(acctest.GetJob) != 0 {
		t.Errorf("%v", got)
	}
}

// With the real command line: a run that was interrupted twice.
func TestAccInterruptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tf := acctest.CLI(t, w.Emulator)
	e := w.start("train")
	w.preempt(e, 0, exit(143))
	w.preempt(e, 0, exit(0)) // for the example's check
	w.ended(e)
	example, err := os.ReadFile("../../../examples/data-sources/resilientjob_interruptions/data-source.tf")
	if err != nil {
		t.Fatal(err)
	}
	tf.Write(acctest.ProviderConfig(w.Emulator) + strings.Replace(string(example), "projects/my-project/locations/us-central1/jobs/train", jobFull, 1))
	tf.Apply().Succeeds().Says(`"attempt" = 1`, `"attempt" = 0`, "the program handled SIGTERM and asked for a retry with exit code 143", "A task was interrupted and ended with exit code 0.")
	if p := tf.Plan(); p.Code != 0 {
		t.Errorf("the plan is not empty:\n%s", p.Output())
	}
}
