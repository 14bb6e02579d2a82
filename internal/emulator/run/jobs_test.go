// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

func jobOf(t *testing.T, op *longrunningpb.Operation) *runpb.Job {
	t.Helper()
	j := &runpb.Job{}
	if err := op.GetMetadata().UnmarshalTo(j); err != nil {
		t.Fatal(err)
	}
	return j
}

// The first answer of a create and the last are those that were recorded.
func TestCreateJobAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ops.SetDelay(445 * time.Millisecond)
	op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
	if err != nil {
		t.Fatal(err)
	}
	if op.GetDone() || op.GetResult() != nil {
		t.Errorf("the first answer is done: %v", op)
	}
	first := jobOf(t, op)
	created := timestamppb.New(start)
	want := &runpb.Job{
		Name: jobFull, Uid: first.GetUid(), Generation: 1, CreateTime: created, UpdateTime: created,
		Creator: "emulator@example.com", LastModifier: "emulator@example.com", LaunchStage: api.LaunchStage_GA,
		Template: &runpb.ExecutionTemplate{TaskCount: 1, Template: &runpb.TaskTemplate{
			Containers: []*runpb.Container{{
				Image:     anImage,
				Resources: &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "1000m", "memory": "512Mi"}},
			}},
			Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: 3}, Timeout: durationpb.New(600 * time.Second),
			ServiceAccount:       first.GetTemplate().GetTemplate().GetServiceAccount(),
			ExecutionEnvironment: runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2,
		}},
		TerminalCondition:      &runpb.Condition{State: runpb.Condition_CONDITION_PENDING},
		LatestCreatedExecution: &runpb.ExecutionReference{}, Reconciling: true, Etag: first.GetEtag(),
	}
	if diff := cmp.Diff(want, first, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if a := task(first).GetServiceAccount(); !strings.HasSuffix(a, "-compute@developer.gserviceaccount.com") {
		t.Errorf("default account %q", a)
	}
	if !strings.HasPrefix(first.GetUid(), "00e30000-") {
		t.Errorf("uid %q", first.GetUid())
	}

	w.clock.Advance(445 * time.Millisecond)
	last := &runpb.Job{}
	w.response(op, last)
	want.ObservedGeneration = 1
	want.Reconciling = false
	want.TerminalCondition = &runpb.Condition{
		Type: "Ready", State: runpb.Condition_CONDITION_SUCCEEDED,
		LastTransitionTime: timestamppb.New(start.Add(445 * time.Millisecond)),
	}
	if diff := cmp.Diff(want, last, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(last, w.Job(jobFull), protocmp.Transform()); diff != "" {
		t.Errorf("GetJob and the response differ: %s", diff)
	}
	text, err := protojson.Marshal(last)
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{`"conditions"`, `"executionCount"`, `"reconciling"`, `"message"`} {
		if strings.Contains(string(text), absent) {
			t.Errorf("%s is in %s", absent, text)
		}
	}
	if !strings.Contains(strings.ReplaceAll(string(text), " ", ""), `"latestCreatedExecution":{}`) {
		t.Errorf("latestCreatedExecution is not empty: %s", text)
	}
}

func TestEtagForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.create()
	etag := job.GetEtag()
	if !strings.HasPrefix(etag, `"`) || !strings.HasSuffix(etag, `"`) {
		t.Fatalf("etag %s", etag)
	}
	first, second, _ := strings.Cut(strings.Trim(etag, `"`), "/")
	b, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	ts := &timestamppb.Timestamp{}
	if err := proto.Unmarshal(b, ts); err != nil {
		t.Fatal(err)
	}
	if !ts.AsTime().Equal(job.GetUpdateTime().AsTime()) {
		t.Errorf("the etag holds %v, the job changed at %v", ts.AsTime(), job.GetUpdateTime().AsTime())
	}
	name, err := base64.RawURLEncoding.DecodeString(second)
	if err != nil || string(name) != jobFull {
		t.Errorf("the etag is of %q (%v)", name, err)
	}
}

func TestUpdateJobAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(retries(0), func(j *runpb.Job) { task(j).Timeout = durationpb.New(time.Hour) })
	w.ops.SetDelay(time.Second)
	before := w.Job(jobFull)
	if task(before).Retries == nil || task(before).GetMaxRetries() != 0 {
		t.Errorf("max_retries 0 was not kept: %v", before)
	}
	op, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(func(j *runpb.Job) {
		j.Name = jobFull
		task(j).Containers[0].Args = []string{"--steps", "10"}
	})})
	if err != nil {
		t.Fatal(err)
	}
	first := jobOf(t, op)
	if first.GetGeneration() != 2 || first.GetObservedGeneration() != 1 || !first.GetReconciling() {
		t.Errorf("first answer: %v", first)
	}
	c := first.GetTerminalCondition()
	if c.GetType() != "Ready" || c.GetState() != runpb.Condition_CONDITION_PENDING || c.GetLastTransitionTime() == nil {
		t.Errorf("terminal condition of the first answer: %v", c)
	}
	if task(first).GetMaxRetries() != 3 || task(first).GetTimeout().GetSeconds() != 600 {
		t.Errorf("defaults were not filled again: %v", task(first))
	}
	if first.GetEtag() == before.GetEtag() {
		t.Error("the etag did not change")
	}
	if first.GetUid() != before.GetUid() || !proto.Equal(first.GetCreateTime(), before.GetCreateTime()) {
		t.Error("uid or creation time changed")
	}
	w.clock.Advance(time.Second)
	last := &runpb.Job{}
	w.response(op, last)
	if last.GetObservedGeneration() != 2 || last.GetReconciling() || last.GetEtag() != first.GetEtag() {
		t.Errorf("last answer: %v", last)
	}
}

func TestUpdateRaisesGenerationOnlyForTheSpec(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		behaviour run.Behaviour
		change    func(*runpb.Job)
		want      int64
	}{
		"nothing":                {change: func(*runpb.Job) {}, want: 1},
		"the default spelled":    {change: retries(3), want: 1},
		"template":               {change: retries(1), want: 2},
		"labels":                 {change: func(j *runpb.Job) { j.Labels = map[string]string{"a": ""} }, want: 1},
		"labels, other form":     {behaviour: run.Behaviour{MetadataRaisesGeneration: true}, change: func(j *runpb.Job) { j.Labels = map[string]string{"a": ""} }, want: 2},
		"a stage that is lower":  {change: func(j *runpb.Job) { j.LaunchStage = api.LaunchStage_BETA }, want: 1},
		"labels of the template": {change: func(j *runpb.Job) { j.Template.Labels = map[string]string{"a": "b"} }, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(tt.behaviour))
			before := w.create()
			op, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(tt.change, func(j *runpb.Job) { j.Name = jobFull })})
			if err != nil {
				t.Fatal(err)
			}
			after := &runpb.Job{}
			w.response(op, after)
			if after.GetGeneration() != tt.want || after.GetObservedGeneration() != tt.want {
				t.Errorf("generation %d, observed %d, want %d", after.GetGeneration(), after.GetObservedGeneration(), tt.want)
			}
			if after.GetEtag() == before.GetEtag() {
				t.Error("every write changes the etag")
			}
		})
	}
}

func TestDeleteJobAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	w.ops.SetDelay(time.Second)
	op, err := w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull})
	if err != nil {
		t.Fatal(err)
	}
	first := jobOf(t, op)
	if first.GetGeneration() != 2 || !first.GetReconciling() || first.GetTerminalCondition().GetState() != runpb.Condition_CONDITION_PENDING {
		t.Errorf("first answer: %v", first)
	}
	if d := first.GetExpireTime().AsTime().Sub(first.GetDeleteTime().AsTime()); d != 30*24*time.Hour {
		t.Errorf("expires after %v", d)
	}
	// While it is being deleted the name is taken.
	_, err = w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
	wantCode(t, err, codes.AlreadyExists, "Job "+jobFull+" already exists.")
	_, err = w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull})
	wantCode(t, err, codes.FailedPrecondition, "Precondition check failed.")

	w.clock.Advance(time.Second)
	last := &runpb.Job{}
	w.response(op, last)
	if last.GetReconciling() || last.GetDeleteTime() == nil || last.GetEtag() == first.GetEtag() {
		t.Errorf("last answer: %v", last)
	}
	_, err = w.GetJob(w.ctx, &runpb.GetJobRequest{Name: jobFull})
	wantCode(t, err, codes.NotFound, "Resource 'train' of kind 'JOB' in region 'us-central1' in project 'demo' does not exist.")

	list, err := w.ListJobs(w.ctx, &runpb.ListJobsRequest{Parent: parent})
	if err != nil || len(list.GetJobs()) != 0 {
		t.Errorf("list: %v %v", list, err)
	}
	list, err = w.ListJobs(w.ctx, &runpb.ListJobsRequest{Parent: parent, ShowDeleted: true})
	if err != nil || len(list.GetJobs()) != 1 || list.GetJobs()[0].GetDeleteTime() == nil {
		t.Errorf("list with deleted ones: %v %v", list, err)
	}
	w.ops.SetDelay(0)
	if again := w.create(); again.GetUid() == first.GetUid() || again.GetGeneration() != 1 {
		t.Errorf("the new job is the old one: %v", again)
	}
}

func TestMissingAndTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	missing := "Resource 'train' of kind 'JOB' in region 'us-central1' in project 'demo' does not exist."
	_, err := w.GetJob(w.ctx, &runpb.GetJobRequest{Name: jobFull})
	wantCode(t, err, codes.NotFound, missing)
	_, err = w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(func(j *runpb.Job) { j.Name = jobFull })})
	wantCode(t, err, codes.NotFound, missing)
	_, err = w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull})
	wantCode(t, err, codes.NotFound, missing)
	_, err = w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull})
	wantCode(t, err, codes.NotFound, missing)
	_, err = w.GetJob(w.ctx, &runpb.GetJobRequest{Name: "train"})
	wantCode(t, err, codes.InvalidArgument, "")

	op, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(func(j *runpb.Job) { j.Name = jobFull }), AllowMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	job := &runpb.Job{}
	w.response(op, job)
	if job.GetGeneration() != 1 {
		t.Errorf("%v", job)
	}
	_, err = w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob()})
	wantCode(t, err, codes.AlreadyExists, "Job projects/demo/locations/us-central1/jobs/train already exists.")
}

func TestStaleEtags(t *testing.T) {
	t.Parallel()
	calls := map[string]func(w *world, etag string) error{
		"update": func(w *world, etag string) error {
			_, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(func(j *runpb.Job) { j.Name, j.Etag = jobFull, etag })})
			return err
		},
		"run": func(w *world, etag string) error {
			_, err := w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull, Etag: etag})
			return err
		},
		"delete": func(w *world, etag string) error {
			_, err := w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull, Etag: etag})
			return err
		},
	}
	forms := map[string]struct {
		form run.StaleEtag
		code codes.Code
	}{
		"conflict":     {run.StaleEtagConflict, codes.Aborted},
		"precondition": {run.StaleEtagPrecondition, codes.FailedPrecondition},
		"ignored":      {run.StaleEtagIgnored, codes.OK},
	}
	for call, do := range calls {
		for name, f := range forms {
			t.Run(call+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, behaving(run.Behaviour{StaleEtagOnUpdate: f.form, StaleEtagOnDelete: f.form, StaleEtagOnRun: f.form}))
				stale := w.create().GetEtag()
				w.SetJob(jobFull, func(j *runpb.Job) { j.Labels = map[string]string{"a": "b"} })
				now := w.Job(jobFull)
				err := do(w, stale)
				wantCode(t, err, f.code, "")
				if f.code == codes.OK {
					return
				}
				if f.form == run.StaleEtagConflict {
					wantCode(t, err, codes.Aborted, "Conflict for resource 'train': version '"+
						micros(now.GetCreateTime())+"' was specified but current version is '"+micros(now.GetUpdateTime())+"'.")
				}
				if !proto.Equal(now, w.Job(jobFull)) {
					t.Error("a refused call changed the job")
				}
				if err := do(w, now.GetEtag()); err != nil {
					t.Errorf("the current etag is refused: %v", err)
				}
			})
		}
	}
}

func TestValidateOnlyForms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form               run.ValidateOnlyForm
		done, response, ok bool
	}{
		"done":     {run.ValidateOnlyDone, true, true, false},
		"metadata": {run.ValidateOnlyMetadata, false, false, false},
		"polled":   {run.ValidateOnlyPolled, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(run.Behaviour{ValidateOnlyForm: tt.form}))
			op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(), ValidateOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if task(jobOf(t, op)).GetMaxRetries() != 3 {
				t.Errorf("no defaults in the metadata: %v", op)
			}
			if op.GetDone() != tt.done || (op.GetResponse() != nil) != tt.response {
				t.Errorf("answer: %v", op)
			}
			got, err := w.ops.GetOperation(w.ctx, &longrunningpb.GetOperationRequest{Name: op.GetName()})
			if (err == nil) != tt.ok || tt.ok && got.GetResponse() == nil {
				t.Errorf("poll: %v %v", got, err)
			}
			if w.Job(jobFull) != nil {
				t.Fatal("the job was made")
			}
			w.create()
			before := w.Job(jobFull)
			for _, do := range []func() error{
				func() error {
					_, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(retries(1), func(j *runpb.Job) { j.Name = jobFull }), ValidateOnly: true})
					return err
				},
				func() error {
					_, err := w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull, ValidateOnly: true})
					return err
				},
				func() error {
					_, err := w.DeleteJob(w.ctx, &runpb.DeleteJobRequest{Name: jobFull, ValidateOnly: true})
					return err
				},
			} {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
			if !proto.Equal(before, w.Job(jobFull)) {
				t.Error("the job was changed")
			}
			if list, err := w.ListExecutions(w.ctx, &runpb.ListExecutionsRequest{Parent: jobFull}); err != nil || len(list.GetExecutions()) != 0 {
				t.Errorf("an execution was made: %v %v", list, err)
			}
		})
	}
}

func TestListJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"c", "a", "b"} {
		if _, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: id, Job: aJob()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: "projects/demo/locations/europe-west1", JobId: "other", Job: aJob()}); err != nil {
		t.Fatal(err)
	}
	var got []string
	token := ""
	for {
		page, err := w.ListJobs(w.ctx, &runpb.ListJobsRequest{Parent: parent, PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.GetJobs()) > 2 {
			t.Errorf("a page of %d", len(page.GetJobs()))
		}
		for _, j := range page.GetJobs() {
			got = append(got, strings.TrimPrefix(j.GetName(), parent+"/jobs/"))
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
		// What is made between two pages neither hides nor repeats anything.
		if _, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: "later", Job: aJob()}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, got); diff != "" {
		t.Errorf("want the newest first: %s", diff)
	}
	_, err := w.ListJobs(w.ctx, &runpb.ListJobsRequest{Parent: parent, PageToken: "?"})
	wantCode(t, err, codes.InvalidArgument, "")
}

func micros(ts *timestamppb.Timestamp) string { return decimal(ts.AsTime().UnixMicro()) }
