// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package conformance

import (
	"errors"
	"io"
	"strings"
	"testing"

	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	iamv1 "google.golang.org/api/iam/v1"
	"google.golang.org/api/iterator"
	logging "google.golang.org/api/logging/v2"
	"google.golang.org/api/option"
	runv2 "google.golang.org/api/run/v2"
	"google.golang.org/protobuf/types/known/durationpb"
)

func program(script string) *runpb.Job {
	return &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Containers: []*runpb.Container{{Image: "example.com/program:1", Command: []string{"/bin/sh"}, Args: []string{"-c", script}}},
		Retries:    &runpb.TaskTemplate_MaxRetries{MaxRetries: 0},
		Timeout:    durationpb.New(60e9),
	}}}
}

// Google's Go REST client sends and expects enums as numbers.
func TestGoRESTClientRun(t *testing.T) {
	t.Parallel()
	e, ctx := start(t), t.Context()
	opts := []option.ClientOption{option.WithEndpoint("http://" + e.Addr()), option.WithoutAuthentication()}
	jobs, err := run.NewJobsRESTClient(ctx, opts...)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, jobs)
	executions, err := run.NewExecutionsRESTClient(ctx, opts...)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, executions)
	tasks, err := run.NewTasksRESTClient(ctx, opts...)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, tasks)

	creating, err := jobs.CreateJob(ctx, &runpb.CreateJobRequest{Parent: parent, JobId: "rest", Job: program("echo out; echo err >&2; exit $CODE")})
	if err != nil {
		t.Fatal(err)
	}
	job, err := creating.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := job.GetTerminalCondition().GetState(); got != runpb.Condition_CONDITION_SUCCEEDED {
		t.Errorf("a created job is %v, want ready", got)
	}
	if _, ok := job.GetTemplate().GetTemplate().GetRetries().(*runpb.TaskTemplate_MaxRetries); !ok || job.GetTemplate().GetTemplate().GetMaxRetries() != 0 {
		t.Errorf("max retries = %v, want a present 0", job.GetTemplate().GetTemplate().GetRetries())
	}
	if job.GetLaunchStage().String() != "GA" || job.GetGeneration() != 1 || job.GetObservedGeneration() != 1 {
		t.Errorf("stage %v, generation %d, observed %d; want GA, 1, 1", job.GetLaunchStage(), job.GetGeneration(), job.GetObservedGeneration())
	}

	stale := job.GetEtag()
	job.Labels = map[string]string{"team": "ml"}
	updating, err := jobs.UpdateJob(ctx, &runpb.UpdateJobRequest{Job: job})
	if err != nil {
		t.Fatal(err)
	}
	if job, err = updating.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	old := program("true")
	old.Name, old.Etag = job.GetName(), stale
	if _, err := jobs.UpdateJob(ctx, &runpb.UpdateJobRequest{Job: old}); err == nil || !strings.Contains(err.Error(), "Conflict for resource 'rest'") {
		t.Errorf("an update with a stale etag: %v, want the conflict text", err)
	}

	running, err := jobs.RunJob(ctx, &runpb.RunJobRequest{Name: job.GetName(), Overrides: &runpb.RunJobRequest_Overrides{
		ContainerOverrides: []*runpb.RunJobRequest_Overrides_ContainerOverride{{Env: []*runpb.EnvVar{{Name: "CODE", Values: &runpb.EnvVar_Value{Value: "3"}}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	started, err := running.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := running.Wait(ctx); err == nil || !strings.Contains(err.Error(), "failed with exit code: 3") {
		t.Errorf("a failed run's operation ended with %v, want the task's exit code", err)
	}
	execution, err := executions.GetExecution(ctx, &runpb.GetExecutionRequest{Name: started.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	if execution.GetFailedCount() != 1 {
		t.Errorf("failed count = %d, want 1", execution.GetFailedCount())
	}
	task, err := tasks.ListTasks(ctx, &runpb.ListTasksRequest{Parent: started.GetName()}).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := task.GetLastAttemptResult().GetExitCode(); got != 3 {
		t.Errorf("exit code = %d, want 3", got)
	}

	deleting, err := jobs.DeleteJob(ctx, &runpb.DeleteJobRequest{Name: job.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	if deleted, err := deleting.Wait(ctx); err != nil || deleted.GetDeleteTime() == nil {
		t.Errorf("delete ended with %v, %v; want the deleted job", deleted, err)
	}
	var apiErr *googleapi.Error
	_, err = jobs.GetJob(ctx, &runpb.GetJobRequest{Name: job.GetName()})
	if !errors.As(err, &apiErr) || apiErr.Code != 404 || !strings.Contains(err.Error(), "Resource 'rest' of kind 'JOB' in region 'us-central1' in project '"+project+"' does not exist.") {
		t.Errorf("a missing job: %v, want 404 with Google's text", err)
	}
}

// The discovery-based client knows enums by name and int64 as strings.
func TestGoDiscoveryClients(t *testing.T) {
	t.Parallel()
	e, ctx := start(t), t.Context()
	opts := []option.ClientOption{option.WithEndpoint("http://" + e.Addr()), option.WithoutAuthentication()}

	t.Run("run", func(t *testing.T) {
		t.Parallel()
		service, err := runv2.NewService(ctx, opts...)
		if err != nil {
			t.Fatal(err)
		}
		jobs := service.Projects.Locations.Jobs
		op, err := jobs.Create(parent, &runv2.GoogleCloudRunV2Job{Template: &runv2.GoogleCloudRunV2ExecutionTemplate{Template: &runv2.GoogleCloudRunV2TaskTemplate{
			Containers: []*runv2.GoogleCloudRunV2Container{{Image: "example.com/program:1", Command: []string{"/bin/true"}}},
		}}}).JobId("discovery").Context(ctx).Do()
		if err != nil {
			t.Fatal(err)
		}
		if op.Done {
			t.Error("the first answer of a create is done; the platform's never is")
		}
		if op, err = service.Projects.Locations.Operations.Wait(op.Name, &runv2.GoogleLongrunningWaitOperationRequest{Timeout: "10s"}).Context(ctx).Do(); err != nil || !op.Done {
			t.Fatalf("wait ended with %+v, %v", op, err)
		}
		job, err := jobs.Get(parent + "/jobs/discovery").Context(ctx).Do()
		if err != nil {
			t.Fatal(err)
		}
		tmpl := job.Template.Template
		if job.LaunchStage != "GA" || tmpl.Timeout != "600s" || tmpl.MaxRetries != 3 || tmpl.ExecutionEnvironment != "EXECUTION_ENVIRONMENT_GEN2" || tmpl.Containers[0].Resources.Limits["memory"] != "512Mi" {
			t.Errorf("defaults are not the platform's: %+v", tmpl)
		}
		_, err = jobs.Create(parent, &runv2.GoogleCloudRunV2Job{Template: job.Template}).JobId("discovery").Context(ctx).Do()
		var apiErr *googleapi.Error
		if !errors.As(err, &apiErr) || apiErr.Code != 409 {
			t.Errorf("a second create: %v, want 409", err)
		}
	})

	t.Run("iam", func(t *testing.T) {
		t.Parallel()
		service, err := iamv1.NewService(ctx, opts...)
		if err != nil {
			t.Fatal(err)
		}
		accounts := service.Projects.ServiceAccounts
		account, err := accounts.Create("projects/"+project, &iamv1.CreateServiceAccountRequest{AccountId: "judge-account", ServiceAccount: &iamv1.ServiceAccount{DisplayName: "Judge"}}).Context(ctx).Do()
		if err != nil {
			t.Fatal(err)
		}
		if account.Email != "judge-account@"+project+".iam.gserviceaccount.com" || account.UniqueId == "" {
			t.Errorf("created %+v", account)
		}
		if _, err := accounts.Patch(account.Name, &iamv1.PatchServiceAccountRequest{ServiceAccount: &iamv1.ServiceAccount{Description: "x"}, UpdateMask: "description"}).Context(ctx).Do(); err != nil {
			t.Error(err)
		}
		got, err := accounts.Get(account.Name).Context(ctx).Do()
		if err != nil || got.Description != "x" || got.DisplayName != "Judge" {
			t.Errorf("after a patch: %+v, %v", got, err)
		}
		if _, err := accounts.Delete(account.Name).Context(ctx).Do(); err != nil {
			t.Error(err)
		}
		var apiErr *googleapi.Error
		if _, err := accounts.Get(account.Name).Context(ctx).Do(); !errors.As(err, &apiErr) || apiErr.Code != 404 {
			t.Errorf("a deleted account: %v, want 404", err)
		}
	})

	t.Run("logging", func(t *testing.T) {
		t.Parallel()
		service, err := logging.NewService(ctx, opts...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = service.Entries.Write(&logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{{
			LogName: "projects/" + project + "/logs/judge", Severity: "WARNING", TextPayload: "seen",
			Resource: &logging.MonitoredResource{Type: "cloud_run_job", Labels: map[string]string{"job_name": "j"}},
		}}}).Context(ctx).Do()
		if err != nil {
			t.Fatal(err)
		}
		list, err := service.Entries.List(&logging.ListLogEntriesRequest{ResourceNames: []string{"projects/" + project}, Filter: `resource.type="cloud_run_job" AND resource.labels.job_name="j" AND textPayload:"see"`}).Context(ctx).Do()
		if err != nil || len(list.Entries) != 1 || list.Entries[0].Severity != "WARNING" {
			t.Errorf("listed %+v, %v", list, err)
		}
	})
}

func TestGoStorageClient(t *testing.T) {
	t.Parallel()
	e, ctx := start(t), t.Context()
	client, err := storage.NewClient(ctx, option.WithEndpoint("http://"+e.Addr()+"/storage/v1/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, client)
	bucket := client.Bucket("conformance-go-bucket")
	if err := bucket.Create(ctx, project, &storage.BucketAttrs{
		Location: "us-central1", SoftDeletePolicy: &storage.SoftDeletePolicy{RetentionDuration: 0},
		UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}, HierarchicalNamespace: &storage.HierarchicalNamespace{Enabled: true},
		PublicAccessPrevention: storage.PublicAccessPreventionEnforced,
	}); err != nil {
		t.Fatal(err)
	}
	attrs, err := bucket.Attrs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if attrs.Location != "US-CENTRAL1" || !attrs.HierarchicalNamespace.Enabled || attrs.PublicAccessPrevention != storage.PublicAccessPreventionEnforced || attrs.MetaGeneration != 1 {
		t.Errorf("attributes: %+v", attrs)
	}
	w := bucket.Object("run/step-1").NewWriter(ctx)
	w.ChunkSize = 256 << 10
	payload := strings.Repeat("checkpoint", 100_000)
	if _, err := io.WriteString(w, payload); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bucket.Object("run/step-1").NewReader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(r)
	if err != nil || string(back) != payload {
		t.Errorf("read back %d bytes, %v", len(back), err)
	}
	if _, err := bucket.Object("run/step-1").If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx).Write(nil); err != nil {
		t.Errorf("opening a conditional write: %v", err)
	}
	policy, err := bucket.IAM().V3().Policy(ctx)
	if err != nil || len(policy.Bindings) == 0 {
		t.Errorf("a fresh bucket's policy: %v, %v", policy, err)
	}
	if err := bucket.Delete(ctx); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("deleting a bucket with objects: %v", err)
	}
	for it := bucket.Objects(ctx, &storage.Query{Versions: true}); ; {
		o, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := bucket.Object(o.Name).Generation(o.Generation).Delete(ctx); err != nil {
			t.Error(err)
		}
	}
}
