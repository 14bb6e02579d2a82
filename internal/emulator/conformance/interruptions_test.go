// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	logging "google.golang.org/api/logging/v2"
	"google.golang.org/api/option"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/interruptions"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// The text that the data source resilientjob_interruptions shows, pasted into
// gcloud logging read and sent by Google's Go client, finds the entries that it
// is for, in whichever form the platform announces a preemption, and no others.
func TestInterruptionsFilter(t *testing.T) {
	t.Parallel()
	gcloud := command(t, "gcloud", false)
	for _, form := range []run.PreemptionLog{run.PreemptionText, run.PreemptionJSON, run.PreemptionAudit} {
		t.Run(fmt.Sprint(form), func(t *testing.T) {
			t.Parallel()
			tasks := runner.NewScripted()
			e, err := emulator.Start(emulator.Options{Launcher: tasks, Behaviour: run.Behaviour{PreemptionLog: form}})
			if err != nil {
				t.Fatal(err)
			}
			closeAfter(t, e)
			job := resourcename.Job{Project: project, Location: "us-central1", Name: "train"}
			if _, err := e.Run().CreateJob(t.Context(), &runpb.CreateJobRequest{Parent: job.Parent(), JobId: job.Name, Job: &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
				Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/apps/train:v1"}},
			}}}}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Run().RunJob(t.Context(), &runpb.RunJobRequest{Name: job.String()}); err != nil {
				t.Fatal(err)
			}
			execution := e.Run().Running("train")[0]
			next := func() *runner.ScriptedAttempt {
				a, err := tasks.Await(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			first := next()
			first.Write(runner.Stdout, "Container called exit(143).")
			first.Write(runner.Stderr, `{"message": "preemption initiated by the platform", "reason": "INSTANCE_PREEMPTED"}`)
			if err := e.Run().Preempt(execution, 0); err != nil {
				t.Fatal(err)
			}
			first.Exit(143)
			next().TimeOut()
			next().Exit(1)
			last := next()
			if _, err := e.Run().CancelExecution(t.Context(), &runpb.CancelExecutionRequest{Name: execution}); err != nil {
				t.Fatal(err)
			}
			last.Signal(15)
			if _, err := e.Run().Await(t.Context(), execution, run.Finished); err != nil {
				t.Fatal(err)
			}
			// Names that the language must be told how to read.
			odd := resourcename.Job{Project: project, Location: `a"b`, Name: `c\d" OR "`}
			service, err := logging.NewService(t.Context(), option.WithEndpoint("http://"+e.Addr()+"/"), option.WithoutAuthentication())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := service.Entries.Write(&logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{{
				LogName: "projects/" + project + "/logs/judge", TextPayload: "INSTANCE_PREEMPTED of the odd one",
				Resource: &logging.MonitoredResource{Type: "cloud_run_job", Labels: map[string]string{"location": odd.Location, "job_name": odd.Name}},
			}}}).Context(t.Context()).Do(); err != nil {
				t.Fatal(err)
			}

			preempted := []string{"Container instance preemption initiated by the platform due to underlying hardware maintenance. INSTANCE_PREEMPTED",
				"Container instance preemption initiated by the platform due to underlying hardware maintenance.",
				"INSTANCE_PREEMPTED: Container instance preemption initiated by the platform due to underlying hardware maintenance."}[form]
			for _, c := range []struct {
				job  resourcename.Job
				want []string // newest first
			}{
				{job, []string{
					"Execution " + execution[strings.LastIndex(execution, "/")+1:] + " has failed to complete, 0/1 tasks were a success.",
					"Container terminated on signal 15.", "Container terminated on signal 9.",
					"Terminating task because it has reached the maximum timeout of 600 seconds. To change this limit, see https://cloud.google.com/run/docs/configuring/task-timeout",
					"Container called exit(143).", preempted,
				}},
				{odd, []string{"INSTANCE_PREEMPTED of the odd one"}},
			} {
				filter := interruptions.Filter(interruptions.Query{Job: c.job, Start: time.Now().Add(-time.Hour)})
				cmd := exec.CommandContext(t.Context(), gcloud, "logging", "read", filter, "--format=json", "--quiet", "--project", project)
				cmd.Env = append(os.Environ(), "CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true",
					"CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true", "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING=http://"+e.Addr()+"/")
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v\n%s", err, filter)
				}
				var read []*logging.LogEntry
				if err := json.Unmarshal(out, &read); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, texts(t, read)); diff != "" {
					t.Errorf("gcloud logging read: %s\n%s", diff, filter)
				}
				list, err := service.Entries.List(&logging.ListLogEntriesRequest{ResourceNames: []string{"projects/" + project}, Filter: filter, OrderBy: "timestamp desc"}).Context(t.Context()).Do()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, texts(t, list.Entries)); diff != "" {
					t.Errorf("the Go client: %s", diff)
				}
			}
		})
	}
}

// texts returns what entries say.
func texts(t *testing.T, entries []*logging.LogEntry) []string {
	t.Helper()
	var out []string
	for _, e := range entries {
		var fields struct {
			Message string
			Status  struct{ Message string }
		}
		for _, payload := range [][]byte{e.JsonPayload, e.ProtoPayload} {
			if len(payload) == 0 {
				continue
			}
			if err := json.Unmarshal(payload, &fields); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, e.TextPayload+fields.Message+fields.Status.Message)
	}
	return out
}
