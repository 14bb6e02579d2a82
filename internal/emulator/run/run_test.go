// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	project  = "demo"
	region   = "us-central1"
	parent   = "projects/" + project + "/locations/" + region
	jobID    = "train"
	jobFull  = parent + "/jobs/" + jobID
	anImage  = "us-docker.pkg.dev/demo/apps/train:v1"
	deadline = 20 * time.Second
)

var start = time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)

// world is a service with everything that it works with.
type world struct {
	*run.Service
	t        *testing.T
	ctx      context.Context
	clock    *clockwork.FakeClock
	ops      *operations.Service
	launcher *runner.Scripted
	store    *store.Store
	logs     *logBook
	buckets  *bucketSet
	accounts map[string]bool
	opts     run.Options
	shut     bool
}

// newWorld returns a service over an empty store in memory.
func newWorld(t *testing.T, change ...func(*run.Options)) *world {
	t.Helper()
	return newWorldOn(t, store.Memory(), change...)
}

func newWorldOn(t *testing.T, st *store.Store, change ...func(*run.Options)) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	clock := clockwork.NewFakeClockAt(start)
	w := &world{
		t: t, ctx: ctx, clock: clock, store: st,
		ops: operations.New(st, clock), launcher: runner.NewScripted(),
		logs: &logBook{}, buckets: &bucketSet{dirs: map[string]string{}, allowed: map[string]bool{}},
		accounts: map[string]bool{},
	}
	w.opts = run.Options{
		Store: st, Clock: clock, Operations: w.ops, Accounts: accountSet(w.accounts), Buckets: w.buckets,
		Logs: w.logs, Launcher: w.launcher,
	}
	for _, c := range change {
		c(&w.opts)
	}
	w.Service = run.New(w.opts)
	t.Cleanup(func() {
		cancel()
		w.shutDown()
	})
	return w
}

// shutDown closes everything, once.
func (w *world) shutDown() {
	w.t.Helper()
	if w.shut {
		return
	}
	w.shut = true
	w.Close()
	w.ops.Close()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

func behaving(b run.Behaviour) func(*run.Options) {
	return func(o *run.Options) { o.Behaviour = b }
}

type accountSet map[string]bool

func (a accountSet) RunViewExists(email string) bool { return a[email] }

type bucketSet struct {
	dirs    map[string]string
	allowed map[string]bool // bucket + " " + member + " " + permission
}

func (b *bucketSet) Exists(bucket string) bool { _, ok := b.dirs[bucket]; return ok }

func (b *bucketSet) Dir(bucket string) (string, bool) { d, ok := b.dirs[bucket]; return d, ok }

func (b *bucketSet) Allowed(bucket, member, permission string) bool {
	return b.allowed[bucket+" "+member+" "+permission]
}

func (b *bucketSet) add(t *testing.T, bucket, account string, permissions ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), bucket)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.dirs[bucket] = dir
	for _, p := range permissions {
		b.allowed[bucket+" serviceAccount:"+account+" storage.objects."+p] = true
	}
	return dir
}

type logBook struct {
	mu      sync.Mutex
	entries []*loggingpb.LogEntry
}

func (l *logBook) Append(entries ...*loggingpb.LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entries...)
}

func (l *logBook) all(logID string) []*loggingpb.LogEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []*loggingpb.LogEntry
	for _, e := range l.entries {
		if logID == "" || e.GetLogName() == "projects/"+project+"/logs/"+logID {
			found = append(found, e)
		}
	}
	return found
}

// aJob is the smallest job that the API takes.
func aJob(change ...func(*runpb.Job)) *runpb.Job {
	j := &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Containers: []*runpb.Container{{Image: anImage}},
	}}}
	for _, c := range change {
		c(j)
	}
	return j
}

func task(j *runpb.Job) *runpb.TaskTemplate { return j.GetTemplate().GetTemplate() }

func retries(n int32) func(*runpb.Job) {
	return func(j *runpb.Job) { task(j).Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: n} }
}

func tasks(n, parallelism int32) func(*runpb.Job) {
	return func(j *runpb.Job) { j.Template.TaskCount, j.Template.Parallelism = n, parallelism }
}

// create makes the job and returns it when it is ready.
func (w *world) create(change ...func(*runpb.Job)) *runpb.Job {
	w.t.Helper()
	op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(change...)})
	if err != nil {
		w.t.Fatalf("CreateJob: %v", err)
	}
	j := &runpb.Job{}
	w.response(op, j)
	return j
}

// run starts an execution and returns its full name and its operation.
func (w *world) run(overrides ...*runpb.RunJobRequest_Overrides) (string, *longrunningpb.Operation) {
	w.t.Helper()
	req := &runpb.RunJobRequest{Name: jobFull}
	if len(overrides) > 0 {
		req.Overrides = overrides[0]
	}
	op, err := w.RunJob(w.ctx, req)
	if err != nil {
		w.t.Fatalf("RunJob: %v", err)
	}
	e := &runpb.Execution{}
	if err := op.GetMetadata().UnmarshalTo(e); err != nil {
		w.t.Fatal(err)
	}
	return e.GetName(), op
}

// done polls an operation to its end.
func (w *world) done(op *longrunningpb.Operation) *longrunningpb.Operation {
	w.t.Helper()
	for {
		got, err := w.ops.WaitOperation(w.ctx, &longrunningpb.WaitOperationRequest{Name: op.GetName()})
		if err != nil {
			w.t.Fatalf("WaitOperation: %v", err)
		}
		if got.GetDone() {
			return got
		}
	}
}

func (w *world) response(op *longrunningpb.Operation, into proto.Message) {
	w.t.Helper()
	got := w.done(op)
	if got.GetError() != nil {
		w.t.Fatalf("operation failed: %v", got.GetError())
	}
	if err := got.GetResponse().UnmarshalTo(into); err != nil {
		w.t.Fatal(err)
	}
}

// attempt waits for the next attempt of a task.
func (w *world) attempt(execution string, index string) *runner.ScriptedAttempt {
	w.t.Helper()
	a, err := w.launcher.Await(w.ctx, filepath.Base(execution)+"-task"+index)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) await(execution string, ok func(*runpb.Execution) bool) *runpb.Execution {
	w.t.Helper()
	e, err := w.Await(w.ctx, execution, ok)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) finished(execution string) *runpb.Execution {
	w.t.Helper()
	return w.await(execution, run.Finished)
}

func (w *world) task(execution, index string) *runpb.Task {
	w.t.Helper()
	t, err := w.GetTask(w.ctx, &runpb.GetTaskRequest{Name: execution + "/tasks/" + filepath.Base(execution) + "-task" + index})
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func condition(list []*runpb.Condition, kind string) *runpb.Condition {
	for _, c := range list {
		if c.GetType() == kind {
			return c
		}
	}
	return nil
}

func wantCode(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code || text != "" && st.Message() != text {
		t.Errorf("got %v %q, want %v %q", st.Code(), st.Message(), code, text)
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func attemptResult(code int32, message string, exit, signal int32) *runpb.TaskAttemptResult {
	return &runpb.TaskAttemptResult{
		Status: &statuspb.Status{Code: code, Message: message}, ExitCode: exit, TermSignal: signal,
	}
}

func contains(s, part string) bool { return strings.Contains(s, part) }
