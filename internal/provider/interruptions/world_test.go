// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions_test

import (
	"context"
	"fmt"
	"math/big"
	"path"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	parent      = "projects/" + acctest.EmulatorProject + "/locations/" + acctest.EmulatorRegion
	jobFull     = parent + "/jobs/train"
	listEntries = "google.logging.v2.LoggingServiceV2/ListLogEntries"
)

// world is an emulator with a job "train", whose tasks do what the test says.
type world struct {
	*emulator.Emulator
	t     *testing.T
	tasks *runner.Scripted
	clock clockwork.Clock // the emulator's
	ctx   context.Context // ends long before the test's own limit
}

func newWorld(t *testing.T, opts ...func(*emulator.Options)) *world {
	t.Helper()
	w := &world{t: t, tasks: runner.NewScripted()}
	w.Emulator = acctest.Emulator(t, append(opts, func(o *emulator.Options) {
		o.Launcher = w.tasks
		if o.Clock == nil {
			o.Clock = clockwork.NewRealClock()
		}
		w.clock = o.Clock
	})...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	w.ctx = ctx
	w.createJob("train", 1)
	return w
}

func (w *world) createJob(id string, tasks int32) {
	w.t.Helper()
	_, err := w.Run().CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: id, Job: &runpb.Job{Template: &runpb.ExecutionTemplate{
		TaskCount: tasks,
		Template: &runpb.TaskTemplate{
			Retries:    &runpb.TaskTemplate_MaxRetries{MaxRetries: 3},
			Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/apps/train:v1"}},
		},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// start starts an execution of a job and returns its full name.
func (w *world) start(job string) string {
	w.t.Helper()
	if _, err := w.Run().RunJob(w.ctx, &runpb.RunJobRequest{Name: parent + "/jobs/" + job}); err != nil {
		w.t.Fatal(err)
	}
	l, err := w.Run().ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: parent + "/jobs/" + job})
	if err != nil {
		w.t.Fatal(err)
	}
	return l.GetExecutions()[0].GetName()
}

// attempt waits for the next attempt of a task of an execution.
func (w *world) attempt(execution string, task int) *runner.ScriptedAttempt {
	w.t.Helper()
	a, err := w.tasks.Await(w.ctx, fmt.Sprintf("%s-task%d", path.Base(execution), task))
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// preempt preempts the next attempt of a task, which ends as the test says.
func (w *world) preempt(execution string, task int, end func(*runner.ScriptedAttempt)) {
	w.t.Helper()
	a := w.attempt(execution, task)
	if err := w.Run().Preempt(execution, task); err != nil {
		w.t.Fatal(err)
	}
	end(a)
}

func (w *world) ended(execution string) {
	w.t.Helper()
	if _, err := w.Run().Await(w.ctx, execution, run.Finished); err != nil {
		w.t.Fatal(err)
	}
}

func exit(code int) func(*runner.ScriptedAttempt) {
	return func(a *runner.ScriptedAttempt) { a.Exit(code) }
}

func signal(n int) func(*runner.ScriptedAttempt) {
	return func(a *runner.ScriptedAttempt) { a.Signal(n) }
}

// look reads the data source with a provider whose clock is the given one; nil is
// the emulator's.
func (w *world) look(config map[string]any, clock clockwork.Clock) (map[string]any, []*tfprotov6.Diagnostic) {
	w.t.Helper()
	if clock == nil {
		clock = w.clock
	}
	server, err := acctest.FactoriesWithClock(w.Emulator, clock)["resilientjob"]()
	if err != nil {
		w.t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(w.ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	provider := map[string]any{"project": acctest.EmulatorProject, "region": acctest.EmulatorRegion}
	configured, err := server.ConfigureProvider(w.ctx, &tfprotov6.ConfigureProviderRequest{Config: dynamic(w.t, schemas.Provider, provider)})
	if err != nil || said(configured.Diagnostics, tfprotov6.DiagnosticSeverityError) != "" {
		w.t.Fatal(err, configured.Diagnostics)
	}
	const typeName = "resilientjob_interruptions"
	schema := schemas.DataSourceSchemas[typeName]
	asked := dynamic(w.t, schema, config)
	valid, err := server.ValidateDataResourceConfig(w.ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: asked})
	if err != nil {
		w.t.Fatal(err)
	}
	if said(valid.Diagnostics, tfprotov6.DiagnosticSeverityError) != "" {
		return nil, valid.Diagnostics
	}
	resp, err := server.ReadDataSource(w.ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: asked})
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := resp.State.Unmarshal(schema.ValueType())
	if err != nil {
		w.t.Fatal(err)
	}
	state, _ := plain(w.t, v).(map[string]any)
	return state, append(valid.Diagnostics, resp.Diagnostics...)
}

// validate validates a configuration.
func (w *world) validate(config map[string]any) []*tfprotov6.Diagnostic {
	w.t.Helper()
	p := acctest.NewProtocol(w.t)
	const typeName = "resilientjob_interruptions"
	resp, err := p.ValidateDataResourceConfig(w.ctx, &tfprotov6.ValidateDataResourceConfigRequest{
		TypeName: typeName, Config: dynamic(w.t, p.Schema.DataSourceSchemas[typeName], config)})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.Diagnostics
}

// must is look that wants no diagnostic.
func (w *world) must(config map[string]any) map[string]any {
	w.t.Helper()
	state, diags := w.look(config, nil)
	if len(diags) > 0 {
		w.t.Fatal(said(diags, 0))
	}
	return state
}

// told returns the interruptions of a state, each as
// "execution/task/attempt how exit".
func told(state map[string]any) []string {
	out := []string{}
	all, _ := state["interruptions"].([]any)
	for _, one := range all {
		i, _ := one.(map[string]any)
		s := fmt.Sprintf("%v/%v/%v", i["execution"], i["task_index"], i["task_attempt"])
		if i["preempted"] == true {
			s += " preempted"
		}
		if i["exit_code"] != nil {
			s += fmt.Sprintf(" exit %v", i["exit_code"])
		}
		if i["signal"] != nil {
			s += fmt.Sprintf(" signal %v", i["signal"])
		}
		out = append(out, s)
	}
	return out
}

// said writes diagnostics of a severity, 0 for all.
func said(all []*tfprotov6.Diagnostic, severity tfprotov6.DiagnosticSeverity) string {
	var out []string
	for _, d := range all {
		if severity == 0 || d.Severity == severity {
			out = append(out, fmt.Sprintf("%s (%s): %s", d.Summary, d.Attribute, d.Detail))
		}
	}
	return strings.Join(out, "\n")
}

func dynamic(t *testing.T, schema *tfprotov6.Schema, attributes map[string]any) *tfprotov6.DynamicValue {
	t.Helper()
	typ, _ := schema.ValueType().(tftypes.Object)
	all := map[string]tftypes.Value{}
	for name, t := range typ.AttributeTypes {
		all[name] = tftypes.NewValue(t, attributes[name])
	}
	v, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, all))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// plain is a value as Go values; numbers are int64.
func plain(t *testing.T, v tftypes.Value) any {
	t.Helper()
	if v.IsNull() {
		return nil
	}
	switch {
	case v.Type().Is(tftypes.String):
		return as[string](t, v)
	case v.Type().Is(tftypes.Bool):
		return as[bool](t, v)
	case v.Type().Is(tftypes.Number):
		n, _ := as[*big.Float](t, v).Int64()
		return n
	case v.Type().Is(tftypes.List{}):
		out := []any{}
		for _, e := range as[[]tftypes.Value](t, v) {
			out = append(out, plain(t, e))
		}
		return out
	}
	out := map[string]any{}
	for name, e := range as[map[string]tftypes.Value](t, v) {
		out[name] = plain(t, e)
	}
	return out
}

func as[T any](t *testing.T, v tftypes.Value) T {
	t.Helper()
	var out T
	if err := v.As(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
