// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// restart closes the world and opens another over the same folder.
func restart(t *testing.T, w *world, dir string) *world {
	t.Helper()
	w.shutDown()
	return newWorldOn(t, folder(t, dir))
}

func folder(t *testing.T, dir string) *store.Store {
	t.Helper()
	st, err := store.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// Volumes of tasks that an emulator was killed with do not stay: they may hold
// secrets.
func TestVolumesOfAKilledEmulator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := folder(t, dir)
	left := filepath.Join(st.Root(), "run", "scratch", "volume-1")
	nfs := filepath.Join(st.Root(), "run", "nfs", "server", "export")
	for _, d := range []string{left, nfs} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "file"), []byte("x"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	newWorldOn(t, st)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the volume is there: %v", err)
	}
	if _, err := os.Stat(nfs); err != nil {
		t.Errorf("what tasks share is gone: %v", err)
	}
}

// What is finished survives a restart as it is; what ran ends as a platform
// failure, and its operation with it.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorldOn(t, folder(t, dir))
	w.create(tasks(3, 2), retries(3))
	done, doneOp := w.run(&runpb.RunJobRequest_Overrides{TaskCount: 1})
	w.attempt(done, "0").Exit(0)
	w.finished(done)
	w.done(doneOp)
	doneWas := w.Execution(done)

	lost, lostOp := w.run()
	w.attempt(lost, "0").Exit(0)
	w.attempt(lost, "1").Exit(1) // is tried again
	w.attempt(lost, "1")
	w.attempt(lost, "2")
	w.await(lost, func(e *runpb.Execution) bool { return e.GetSucceededCount() == 1 && e.GetRunningCount() == 2 })
	w.SetTiming(run.Timing{Import: -1})
	waiting, waitingOp := w.run()
	w.await(waiting, func(e *runpb.Execution) bool { return len(e.GetConditions()) == 4 })
	jobWas := w.Job(jobFull)

	w = restart(t, w, dir)
	if diff := cmp.Diff(doneWas, w.Execution(done), protocmp.Transform()); diff != "" {
		t.Errorf("a finished execution changed: %s", diff)
	}
	e := w.Execution(lost)
	if !run.Finished(e) || e.GetSucceededCount() != 1 || e.GetFailedCount() != 2 || e.GetRetriedCount() != 1 || e.GetRunningCount() != 0 || e.GetReconciling() {
		t.Errorf("lost execution: %v", e)
	}
	text := "Task " + path.Base(lost) + "-task1 failed with exit code: 0 and message: Internal error."
	if c := condition(e.GetConditions(), "Completed"); c.GetMessage() != text || c.GetReasons() != nil {
		t.Errorf("Completed: %v", c)
	}
	if diff := cmp.Diff(result(codes.Internal, "Internal error.", 0, 0), w.task(lost, "2").GetLastAttemptResult(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if got := w.task(lost, "0").GetLastAttemptResult(); got.GetStatus().GetCode() != 0 {
		t.Errorf("a task that had succeeded: %v", got)
	}
	w.wantEnd(lostOp, codes.Internal, text)
	if e := w.Execution(waiting); !run.Finished(e) || e.GetFailedCount() != 3 {
		t.Errorf("the execution that waited: %v", e)
	}
	w.wantEnd(waitingOp, codes.Internal, "Task "+path.Base(waiting)+"-task0 failed with exit code: 0 and message: Internal error.")
	if s := w.Job(jobFull).GetLatestCreatedExecution().GetCompletionStatus(); s != runpb.ExecutionReference_EXECUTION_FAILED {
		t.Errorf("the job says %v", s)
	}
	if w.Job(jobFull).GetEtag() != jobWas.GetEtag() {
		t.Error("the restart changed the job's etag")
	}
	// The clock of the tests starts again: change times go on all the same.
	name, _ := w.run()
	if list, err := w.ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: jobFull}); err != nil || list.GetExecutions()[0].GetName() != name {
		t.Errorf("the newest is not first: %v %v", list, err)
	}
	w.attempt(name, "0").Exit(0)
}

// Jobs that were reconciling become ready; those that were being deleted are gone.
func TestRestartOfReconcilingJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorldOn(t, folder(t, dir))
	w.create()
	name, _ := w.run()
	w.attempt(name, "0").Exit(0)
	w.finished(name)
	w.ops.SetDelay(time.Hour)
	create, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: "other", Job: aJob()})
	if err != nil {
		t.Fatal(err)
	}
	remove, err := w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull})
	if err != nil {
		t.Fatal(err)
	}
	w = restart(t, w, dir)
	if j := w.Job(parent + "/jobs/other"); j.GetReconciling() || j.GetObservedGeneration() != 1 {
		t.Errorf("%v", j)
	}
	if w.Job(jobFull) != nil || w.Execution(name) != nil {
		t.Error("the deleted job is still there")
	}
	w.response(create, &runpb.Job{})
	if got := w.done(remove); got.GetError() != nil {
		t.Errorf("%v", got)
	}
}

func TestCloseEndsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(tasks(2, 2))
	name, op := w.run()
	a, b := w.attempt(name, "0"), w.attempt(name, "1")
	w.await(name, func(e *runpb.Execution) bool { return e.GetRunningCount() == 2 })
	w.Close()
	for _, a := range []interface{ Done() <-chan struct{} }{a, b} {
		select {
		case <-a.Done():
		default:
			t.Error("a task outlived Close")
		}
	}
	if e := w.Execution(name); run.Finished(e) || e.GetRunningCount() != 2 {
		t.Errorf("what was going on is left to the next start: %v", e)
	}
	got, err := w.ops.GetOperation(w.ctx, &longrunningpb.GetOperationRequest{Name: op.GetName()})
	if err != nil || got.GetDone() {
		t.Errorf("operation: %v %v", got, err)
	}
	_, err = w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull})
	wantCode(t, err, codes.Unavailable, "")
	w.Close() // a second time does nothing
}
