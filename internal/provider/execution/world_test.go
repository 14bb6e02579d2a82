// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	address = "resilientjob_execution.test"
	parent  = "projects/" + acctest.EmulatorProject + "/locations/" + acctest.EmulatorRegion
	jobFull = parent + "/jobs/train"
)

// world is an emulator with one job, whose tasks do what the test says.
type world struct {
	*emulator.Emulator
	t     *testing.T
	tasks *runner.Scripted
	ctx   context.Context // ends long before the test's own limit
}

// newWorld starts an emulator with a job "train": one task, retries as given.
func newWorld(t *testing.T, retries int32, opts ...func(*emulator.Options)) *world {
	t.Helper()
	w := &world{t: t, tasks: runner.NewScripted()}
	// A task that is told to stop asks for a retry, as ours do.
	w.tasks.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
	w.Emulator = acctest.Emulator(t, append(opts, func(o *emulator.Options) { o.Launcher = w.tasks })...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	w.ctx = ctx
	w.createJob("train", retries)
	return w
}

func (w *world) createJob(id string, retries int32) {
	w.t.Helper()
	_, err := w.Run().CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: id, Job: &runpb.Job{Template: &runpb.ExecutionTemplate{
		Template: &runpb.TaskTemplate{
			Retries:    &runpb.TaskTemplate_MaxRetries{MaxRetries: retries},
			Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/apps/train:v1", Args: []string{"--epochs", "1"}}},
		},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// attempt waits for the next attempt of a task.
func (w *world) attempt() *runner.ScriptedAttempt {
	w.t.Helper()
	a, err := w.tasks.Await(w.ctx, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// all answers every attempt the same.
func (w *world) all(f func(*runner.ScriptedAttempt)) { w.tasks.OnLaunch(f) }

// succeed ends every attempt with success.
func (w *world) succeed() { w.all(func(a *runner.ScriptedAttempt) { a.Exit(0) }) }

// runByHand starts an execution as somebody else would.
func (w *world) runByHand() *runpb.Execution {
	w.t.Helper()
	before := w.executions()
	if _, err := w.Run().RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull}); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range w.executions() {
		if !slices.ContainsFunc(before, func(o *runpb.Execution) bool { return o.GetName() == e.GetName() }) {
			return e
		}
	}
	w.t.Fatal("no execution was started")
	return nil
}

// executions returns the executions of the job, newest first.
func (w *world) executions() []*runpb.Execution {
	w.t.Helper()
	l, err := w.Run().ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: jobFull})
	if err != nil {
		w.t.Fatal(err)
	}
	return l.GetExecutions()
}

// only returns the one execution that there is.
func (w *world) only() *runpb.Execution {
	w.t.Helper()
	all := w.executions()
	if len(all) != 1 {
		w.t.Fatalf("%d executions, want exactly one: %v", len(all), all)
	}
	return all[0]
}

// await waits until an execution is as ok wants it.
func (w *world) await(name string, ok func(*runpb.Execution) bool) *runpb.Execution {
	w.t.Helper()
	e, err := w.Run().Await(w.ctx, name, ok)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// ended waits for the end of an execution.
func (w *world) ended(e *runpb.Execution) *runpb.Execution {
	w.t.Helper()
	return w.await(e.GetName(), run.Finished)
}

// cli returns a command line with a configuration.
func (w *world) cli(attributes string) *acctest.Terraform {
	w.t.Helper()
	tf := acctest.CLI(w.t, w.Emulator)
	tf.Write(w.config(attributes))
	return tf
}

// core is cli with Terraform's core in process: where the command line itself is
// not the point.
func (w *world) core(attributes string) *core.Folder {
	f := core.Open(w.t, w.Emulator)
	f.Write(w.config(attributes))
	return f
}

// stated is a command line or a core.
type stated interface{ State() *acctest.State }

// config is the provider and one execution with these attributes.
func (w *world) config(attributes string) string {
	return acctest.ProviderConfig(w.Emulator) + fmt.Sprintf("resource \"resilientjob_execution\" \"test\" {\n  job = \"train\"\n%s\n}\n", attributes)
}

// requests asserts how many times a run and a cancel were requested.
func (w *world) requests(runs, cancels int) {
	w.t.Helper()
	if n := w.Faults().Count(acctest.RunJob); n != runs {
		w.t.Errorf("%d requests to run, want %d", n, runs)
	}
	if n := w.Faults().Count(acctest.CancelExecution); n != cancels {
		w.t.Errorf("%d requests to cancel, want %d", n, cancels)
	}
	// The record of an execution is never ours to delete.
	if n := w.Faults().Count(acctest.DeleteExecution); n != 0 {
		w.t.Errorf("%d executions were deleted", n)
	}
}

// hasState asserts the resource's state attribute.
func (w *world) hasState(tf stated, want string) {
	w.t.Helper()
	if got := tf.State().Attribute(address, "state"); got != want {
		w.t.Errorf("state is %v, want %q", got, want)
	}
}

// isTainted asserts whether the next apply replaces the resource.
func (w *world) isTainted(tf stated, want bool) {
	w.t.Helper()
	r := tf.State().Resource(address)
	if r == nil || r.Tainted != want {
		w.t.Errorf("tainted: want %t, the resource is %+v", want, r)
	}
}

// isGone asserts that the state holds nothing.
func (w *world) isGone(tf stated) {
	w.t.Helper()
	if all := tf.State().Addresses(); len(all) != 0 {
		w.t.Errorf("the state still has %s", strings.Join(all, ", "))
	}
}

func short(e *runpb.Execution) string { return e.GetName()[strings.LastIndex(e.GetName(), "/")+1:] }

func isRunning(e *runpb.Execution) bool { return e.GetRunningCount() > 0 }

// receive waits for something to happen.
func (w *world) receive(c <-chan struct{}, otherwise string) {
	w.t.Helper()
	select {
	case <-c:
	case <-w.ctx.Done():
		w.t.Fatal(otherwise)
	}
}

// awaitCall waits until a method has been called since a moment.
func (w *world) awaitCall(since *acctest.Requests, method string) {
	w.t.Helper()
	called := make(chan struct{})
	var once sync.Once
	h := w.Faults().Add(faults.Fault{Method: method, Times: -1, Do: func(faults.Call) { once.Do(func() { close(called) }) }})
	defer h.Remove()
	if since.Count(method) > 0 {
		return
	}
	w.receive(called, method+" is not called")
}

// stop cancels an execution as somebody else would.
func (w *world) stop(e *runpb.Execution) *runpb.Execution {
	w.t.Helper()
	if _, err := w.Run().CancelExecution(w.ctx, &runpb.CancelExecutionRequest{Name: e.GetName()}); err != nil {
		w.t.Fatal(err)
	}
	return e
}
