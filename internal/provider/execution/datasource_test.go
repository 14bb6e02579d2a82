// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// view is what the data source says, as text: attribute → value, and
// tasks[0].attribute → value.
type view map[string]string

func (s *server) look(job, name string) (view, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	config := map[string]tftypes.Value{"job": tftypes.NewValue(tftypes.String, job)}
	if name != "" {
		config["name"] = tftypes.NewValue(tftypes.String, name)
	}
	return s.ask(typeName, config)
}

// ask validates and reads a data source; what config leaves out is null.
func (s *server) ask(dataSource string, config map[string]tftypes.Value) (view, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	schemas, err := s.GetProviderSchema(s.ctx, &tfprotov6.GetProviderSchemaRequest{})
	s.check(err, schemas.Diagnostics)
	typ := schemas.DataSourceSchemas[dataSource].ValueType()
	all := nulls(object(typ))
	maps.Copy(all, config)
	asked := s.dynamic(tftypes.NewValue(typ, all))
	valid, err := s.ValidateDataResourceConfig(s.ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: dataSource, Config: asked})
	if err != nil || errorsOf(valid.Diagnostics) != "" {
		return nil, valid.Diagnostics
	}
	resp, err := s.ReadDataSource(s.ctx, &tfprotov6.ReadDataSourceRequest{TypeName: dataSource, Config: asked})
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := resp.State.Unmarshal(typ)
	if err != nil {
		s.t.Fatal(err)
	}
	out := view{}
	if !v.IsNull() {
		out.add("", v)
	}
	return out, resp.Diagnostics
}

func (v view) add(prefix string, value tftypes.Value) {
	var all map[string]tftypes.Value
	if err := value.As(&all); err != nil {
		panic(err)
	}
	for name, one := range all {
		if one.IsNull() {
			v[prefix+name] = "null"
			continue
		}
		if one.Type().Is(tftypes.List{}) {
			var elements []tftypes.Value
			if err := one.As(&elements); err != nil {
				panic(err)
			}
			v[prefix+name] = fmt.Sprint(len(elements))
			for i, e := range elements {
				v.add(fmt.Sprintf("%s%s[%d].", prefix, name, i), e)
			}
			continue
		}
		if one.Type().Is(tftypes.Object{}) {
			v.add(prefix+name+".", one)
			continue
		}
		v[prefix+name] = fmt.Sprint(life{state: value}.attribute(name))
	}
}

func (s *server) shows(job, name string, want view) {
	s.t.Helper()
	got, diags := s.look(job, name)
	s.check(nil, diags)
	s.compare(got, want)
}

// compare checks the attributes that want names. A value that begins with "…"
// must be contained.
func (s *server) compare(got, want view) {
	s.t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		contains := strings.HasPrefix(want[k], "…") && strings.Contains(g, strings.TrimPrefix(want[k], "…"))
		if !ok || g != want[k] && !contains {
			s.t.Errorf("%s is %q, want %q", k, g, want[k])
		}
	}
}

// An execution driven through every state shows the right answer at each.
func TestDataSourceThroughEveryState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.Run().SetTiming(run.Timing{Start: -1})
	s := w.server(nil)
	e := w.runByHand()
	w.await(e.GetName(), func(e *runpb.Execution) bool { return e.GetStartTime() != nil })
	s.shows("train", "", view{
		"name": short(e), "id": e.GetName(), "state": "pending", "reason": "null", "task_count": "1", "running_count": "0", "completion_time": "null", "duration_seconds": "null", "log_uri": "…https://",
		"task_timeout": "10m", "max_retries": "2", "exposure.attempts": "3",
	})

	w.Run().SetTiming(run.Timing{})
	first := w.attempt()
	w.await(e.GetName(), isRunning)
	s.shows("train", short(e), view{
		"state": "running", "running_count": "1", "retried_count": "0", "tasks": "1",
		"tasks[0].state": "running", "tasks[0].attempts_used": "1", "tasks[0].attempts_left": "2", "tasks[0].exit_code": "null", "tasks[0].cause": "null", "tasks[0].meaning": "null",
	})

	if err := w.Run().Preempt(e.GetName(), 0); err != nil {
		t.Fatal(err)
	}
	w.receive(first.Done(), "the task does not end")
	second := w.attempt()
	w.await(e.GetName(), func(e *runpb.Execution) bool { return e.GetRetriedCount() == 1 && e.GetRunningCount() == 1 })
	s.shows("train", "", view{
		"state": "running", "retried_count": "1",
		"tasks[0].state": "running", "tasks[0].attempts_used": "2", "tasks[0].attempts_left": "1",
		"tasks[0].exit_code": "143", "tasks[0].signal": "null", "tasks[0].cause": "interrupted", "tasks[0].meaning": "…interrupted (SIGTERM) and asked for a retry", "tasks[0].message": "The container exited with an error.",
	})

	second.Exit(0)
	w.ended(e)
	s.shows("us-central1/train", "", view{
		"state": "succeeded", "reason": "null", "message": "…completed successfully", "succeeded_count": "1", "retried_count": "1", "running_count": "0", "completion_time": "…T",
		"tasks[0].state": "succeeded", "tasks[0].attempts_used": "2", "tasks[0].attempts_left": "1", "tasks[0].exit_code": "0", "tasks[0].meaning": "the program ended with exit code 0",
	})

	// A newer one is the newest; the older one is still there by its name.
	newer := w.runByHand()
	w.attempt().Signal(9)
	w.attempt().Signal(9)
	w.attempt().TimeOut()
	w.ended(newer)
	s.shows(jobFull, "", view{
		"name": short(newer), "state": "failed", "reason": "null", "failed_count": "1",
		"tasks[0].state": "failed", "tasks[0].attempts_used": "3", "tasks[0].attempts_left": "0", "tasks[0].exit_code": "null", "tasks[0].signal": "null",
		"tasks[0].meaning": "the attempt reached the task timeout of 10m",
	})
	s.shows("train", short(e), view{"state": "succeeded"})

	third := w.runByHand()
	w.attempt()
	w.ended(w.stop(third))
	s.shows("train", "", view{
		"state": "cancelled", "reason": "CANCELLED", "message": "Cancelled by user.", "cancelled_count": "1",
		"tasks[0].state": "cancelled", "tasks[0].meaning": "somebody cancelled the execution",
	})
	w.requests(0, 0)
}

// Where public material leaves open how the platform reports an end, every form
// is understood.
func TestDataSourceUnderstandsEveryForm(t *testing.T) {
	t.Parallel()
	image := "us-docker.pkg.dev/p/apps/train:v1"
	exit := func(n int) func(*world) {
		return func(w *world) { w.all(func(a *runner.ScriptedAttempt) { a.Exit(n) }) }
	}
	signal := func(n int) func(*world) {
		return func(w *world) { w.all(func(a *runner.ScriptedAttempt) { a.Signal(n) }) }
	}
	interrupt := func(how run.Interruption) func(*world) {
		return func(w *world) {
			w.tasks.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
			go func() {
				if _, err := w.tasks.Await(w.ctx, ""); err != nil {
					return
				}
				for _, name := range w.Run().Running("train") {
					if err := w.Run().Interrupt(name, 0, how); err != nil {
						w.t.Error(err)
					}
				}
			}()
		}
	}
	noImage := func(w *world) { w.Run().SetImageMissing(image, true) }
	noMount := func(w *world) {
		w.tasks.Refuse(func(runner.Task) error { return errors.New(`mounting volume "ckpt" at /checkpoints failed`) })
	}
	for name, c := range map[string]struct {
		behaviour run.Behaviour
		then      func(*world)
		want      view
	}{
		"exit 1":                        {run.Behaviour{}, exit(1), view{"state": "failed", "reason": "NON_ZERO_EXIT_CODE", "tasks[0].exit_code": "1"}},
		"exit 1, words of 2024":         {run.Behaviour{MessageForm: run.Messages2024}, exit(1), view{"state": "failed", "message": "…failed with message: The container", "tasks[0].exit_code": "1"}},
		"success, words of 2024":        {run.Behaviour{MessageForm: run.Messages2024}, exit(0), view{"state": "succeeded", "message": "null", "tasks[0].exit_code": "0"}},
		"signal":                        {run.Behaviour{}, signal(11), view{"state": "failed", "tasks[0].signal": "11", "tasks[0].exit_code": "null", "tasks[0].meaning": "…SIGSEGV"}},
		"signal, as exit code":          {run.Behaviour{SignalResult: run.SignalExitCode}, signal(11), view{"state": "failed", "tasks[0].signal": "null", "tasks[0].exit_code": "139", "tasks[0].meaning": "…SIGSEGV"}},
		"memory":                        {run.Behaviour{}, interrupt(run.MemoryLimit), view{"state": "failed", "reason": "null", "tasks[0].meaning": "the attempt reached the memory limit of the container"}},
		"memory, without a signal":      {run.Behaviour{MemoryResult: run.MemoryAborted}, interrupt(run.MemoryLimit), view{"state": "failed", "tasks[0].meaning": "the attempt reached the memory limit of the container"}},
		"platform":                      {run.Behaviour{}, interrupt(run.PlatformFailure), view{"state": "failed", "reason": "null", "tasks[0].meaning": "the platform failed (status 13), not the program"}},
		"preemption":                    {run.Behaviour{}, interrupt(run.Preemption), view{"state": "failed", "tasks[0].exit_code": "143", "tasks[0].meaning": "…interrupted (SIGTERM) and asked"}},
		"preemption, as signal":         {run.Behaviour{PreemptionResult: run.PreemptionAsSignal}, interrupt(run.Preemption), view{"state": "failed", "tasks[0].signal": "15", "tasks[0].meaning": "…the platform interrupted the program"}},
		"preemption, as internal error": {run.Behaviour{PreemptionResult: run.PreemptionAsInternal}, interrupt(run.Preemption), view{"state": "failed", "tasks[0].meaning": "the platform failed (status 13), not the program"}},
		"mount":                         {run.Behaviour{}, noMount, view{"state": "failed", "tasks[0].exit_code": "null", "tasks[0].meaning": "…a volume could not be mounted"}},
		"mount, as precondition":        {run.Behaviour{StartFailure: run.StartFailurePrecondition}, noMount, view{"state": "failed", "tasks[0].meaning": "…a volume could not be mounted"}},
		"image":                         {run.Behaviour{}, noImage, view{"state": "failed", "message": "…not found", "tasks": "0"}},
		"image, by the tasks":           {run.Behaviour{ImagePullFailure: run.ImagePullTasks}, noImage, view{"state": "failed", "tasks[0].meaning": "…the image could not be used"}},
		"labels of the v1 view":         {run.Behaviour{SystemLabels: true, RunningCompleted: run.RunningPending}, exit(0), view{"state": "succeeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0, func(o *emulator.Options) { o.Behaviour = c.behaviour })
			c.then(w)
			w.ended(w.runByHand())
			w.server(nil).shows("train", "", c.want)
		})
	}
}

// Each of these has an answer of its own.
func TestDataSourceFindsNothing(t *testing.T) {
	t.Parallel()
	for _, form := range []run.ListOfMissingJob{run.ListEmpty, run.ListNotFound} {
		w := newWorld(t, 0, func(o *emulator.Options) { o.Behaviour.ListOfMissingJob = form })
		w.createJob("never", 0)
		w.succeed()
		e := w.ended(w.runByHand())
		s := w.server(nil)
		for name, c := range map[string]struct{ job, name, want string }{
			"no such job":          {"missing", "", "Job does not exist"},
			"no such job, by name": {"missing", "missing-abcde", "Job does not exist"},
			"not run yet":          {"never", "", "Job has no executions"},
			"no such execution":    {"train", "train-zzzzz", "Execution does not exist"},
			"a full name as name":  {"train", e.GetName(), "is a full name: write its last part, \"" + short(e) + "\""},
			"impossible name":      {"train", "A_B", "cannot be the name of an execution"},
			"impossible job":       {"A_B", "", "is not the name of a Cloud Run job"},
		} {
			if _, diags := s.look(c.job, c.name); !strings.Contains(errorsOf(diags), c.want) {
				t.Errorf("%s: %q, want %q", name, errorsOf(diags), c.want)
			}
		}
		w.Run().ForgetExecution(e.GetName())
		if _, diags := s.look("train", short(e)); !strings.Contains(errorsOf(diags), "Cloud Run has forgotten it") {
			t.Errorf("forgotten: %q", errorsOf(diags))
		}
		w.Faults().Add(faults.Fault{Method: acctest.ListExecutions, Status: status.New(codes.PermissionDenied, "Permission 'run.executions.list' denied.")})
		if _, diags := s.look("train", ""); !strings.Contains(errorsOf(diags), "Permission 'run.executions.list' denied.") {
			t.Errorf("denied: %q", errorsOf(diags))
		}
	}
}

// 10,000 tasks do not take 10,000 requests: one call finds the newest execution,
// and nothing but it, and the tasks come by pages.
func TestDataSourceRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	const many = 10_000
	e := &runpb.Execution{
		Name: jobFull + "/executions/train-many1", TaskCount: many, SucceededCount: many,
		Conditions: []*runpb.Condition{{Type: "Completed", State: runpb.Condition_CONDITION_SUCCEEDED}},
	}
	var tasks []*runpb.Task
	for i := range many {
		tasks = append(tasks, &runpb.Task{Name: fmt.Sprintf("%s/tasks/train-many1-task%d", e.GetName(), i), Index: int32(i), LastAttemptResult: &runpb.TaskAttemptResult{}})
	}
	if err := w.Run().AddExecution(e, tasks...); err != nil {
		t.Fatal(err)
	}
	if err := w.Run().AddExecution(&runpb.Execution{Name: jobFull + "/executions/train-older1"}); err != nil {
		t.Fatal(err)
	}
	s := w.server(nil)
	s.shows("train", "", view{"tasks": "10000", "tasks[9999].index": "9999"})
	calls := w.Faults().Calls()
	if len(calls) != 11 {
		t.Errorf("%d calls, want 1 for the execution and 10 for its tasks", len(calls))
	}
	if list, ok := calls[0].Request.(*runpb.ListExecutionsRequest); !ok || list.GetPageSize() != 1 {
		t.Errorf("the newest execution is asked for by %v", calls[0].Request)
	}
}

// With the real command line: a check of the newest execution.
func TestAccExecutionDataSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.all(func(a *runner.ScriptedAttempt) { a.Exit(1) })
	w.ended(w.runByHand())
	tf := acctest.CLI(t, w.Emulator)
	tf.Write(acctest.ProviderConfig(w.Emulator) + `
check "newest_run" {
  data "resilientjob_execution" "checked" {
    job = "train"
  }
  assert {
    condition     = data.resilientjob_execution.checked.state == "succeeded"
    error_message = "The newest run is ${data.resilientjob_execution.checked.state}: ${data.resilientjob_execution.checked.tasks[0].meaning}."
  }
}
data "resilientjob_execution" "newest" {
  job = "train"
}
output "exit_code" {
  value = data.resilientjob_execution.newest.tasks[0].exit_code
}
`)
	tf.Apply().Succeeds().Says("The newest run is failed: the program ended with exit code 1.", "exit_code = 1")
	w.requests(0, 0)
}
