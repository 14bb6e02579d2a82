// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"os"
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
)

// look reads the data source.
func (s *spoken) look(job string) (map[string]tftypes.Value, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	schema := s.Schema.DataSourceSchemas[jobType]
	config := s.Object(schema, map[string]tftypes.Value{"job": tftypes.NewValue(tftypes.String, job)})
	valid, err := s.ValidateDataResourceConfig(s.t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: jobType, Config: config})
	if err != nil || len(valid.Diagnostics) > 0 {
		return nil, valid.Diagnostics
	}
	resp, err := s.ReadDataSource(s.t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: jobType, Config: config})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(resp.Diagnostics) > 0 {
		return nil, resp.Diagnostics
	}
	state, err := resp.State.Unmarshal(schema.ValueType())
	if err != nil {
		s.t.Fatal(err)
	}
	var all map[string]tftypes.Value
	if err := state.As(&all); err != nil {
		s.t.Fatal(err)
	}
	return all, nil
}

// sees reads the data source without a word, and compares some attributes, which
// are written as in a configuration.
func (s *spoken) sees(job string, want map[string]string) {
	s.t.Helper()
	all, diags := s.look(job)
	for _, d := range diags {
		s.t.Fatalf("%s: %s: %s", job, d.Summary, d.Detail)
	}
	for path, text := range want {
		v := tftypes.NewValue(tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}, map[string]tftypes.Value{})
		object := all
		for _, name := range strings.Split(path, ".") {
			v = object[name]
			object = nil
			if v.Type().Is(tftypes.Object{}) || v.Type().Is(tftypes.Map{}) {
				if err := v.As(&object); err != nil {
					s.t.Fatal(err)
				}
			}
		}
		got := strings.NewReplacer("tftypes.List[tftypes.String]<", "[", "tftypes.String<", "", "tftypes.Number<", "", "tftypes.Bool<", "", ">", "").Replace(v.String())
		if v.IsNull() {
			got = "null"
		}
		if got != text {
			s.t.Errorf("%s of %s is %s, want %s", path, job, got, text)
		}
	}
}

// Everything that a job has is shown, by one request, in every form of its name.
func TestDataSource(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	l := c.apply(c.none(), c.job(everything()))
	full := c.w.job.String()
	since := acctest.Since(c.w.e)
	c.sees(full, map[string]string{
		"id": `"` + full + `"`, "name": `"` + c.w.job.Name + `"`, "project": `"` + c.w.job.Project + `"`, "location": `"us-central1"`, "uid": `"` + c.w.live().GetUid() + `"`,
		"command": `["python"`, "args": `["train.py", "--epochs=3"`, "working_dir": `"/app"`,
		"env.A": `"1"`, "env.B": `""`, "secret_env.KEY.secret": `"key"`, "secret_env.KEY.version": `"2"`, "secret_env.TOKEN.version": `"latest"`,
		"gpu_type": `"nvidia-l4"`, "gpu_zonal_redundancy": `"true"`, "cpu": `"8"`, "memory": `"32Gi"`, "task_count": `"4"`, "parallelism": `"2"`, "task_timeout": `"1h"`, "max_retries": `"0"`,
		"checkpoint.bucket": `"ckpt-one"`, "checkpoint.prefix": `"runs/42"`, "checkpoint.mount_path": `"/checkpoints"`, "checkpoint.mount_options": `["implicit-dirs"`, "checkpoint.volume": `"checkpoint"`,
		"volumes.data.gcs.bucket": `"data-one"`, "volumes.data.read_only": `"true"`, "volumes.share.sub_path": `"team"`, "volumes.share.nfs.server": `"10.0.0.2"`, "volumes.scratch.empty_dir.size_limit": `"1Gi"`,
		"volumes.keys.secret.default_mode": `"0400"`, "volumes.token.secret.secret": `"token"`, "volumes.sql.mount_path": "null",
		"network.network": `"default"`, "network.egress": `"PRIVATE_RANGES_ONLY"`, "encryption_key": `"` + keyNamed("k") + `"`, "binary_authorization.use_default": `"true"`,
		"service_account_email": `"` + c.w.email() + `"`, "labels.team": `"ml"`, "annotations.note": `""`, "launch_stage": `"GA"`,
		"exposure.attempts": `"4"`, "ready": `"true"`, "ready_reason": "null", "execution_count": `"0"`, "latest_execution": "null", "not_shown": "[",
	})
	if got := since.Methods(); len(got) != 1 || got[0] != acctest.GetJob {
		t.Errorf("calls: %v", got)
	}
	for _, form := range []string{c.w.job.Name, c.w.job.Location + "/" + c.w.job.Name, c.w.job.Project + "/" + c.w.job.Location + "/" + c.w.job.Name} {
		c.sees(form, map[string]string{"id": `"` + full + `"`})
	}

	// What the resource could not import is read nevertheless, and named.
	c.w.setJob(func(j *runpb.Job) {
		containerOf(j).Name = "main"
		containerOf(j).VolumeMounts = append(containerOf(j).VolumeMounts, &runpb.VolumeMount{Name: "data", MountPath: "/again"})
		taskOf(j).Containers = append(taskOf(j).Containers, &runpb.Container{Name: "sidecar", Image: "proxy"})
		j.Labels["foreign"] = "x"
	})
	c.sees(full, map[string]string{"image": `"` + containerOf(c.w.live()).GetImage() + `"`, "labels.foreign": `"x"`, "not_shown": `["container "sidecar"", "volume "data", which is mounted 2 times"`})
	c.w.setJob(func(j *runpb.Job) {
		j.TerminalCondition = &runpb.Condition{Type: "Ready", State: runpb.Condition_CONDITION_FAILED, Message: "Image 'train:1' not found.", Reasons: &runpb.Condition_Reason{Reason: runpb.Condition_CONTAINER_MISSING}}
	})
	c.sees(full, map[string]string{"ready": `"false"`, "ready_reason": `"CONTAINER_MISSING"`, "ready_message": `"Image 'train:1' not found."`})
	c.destroy(l)
}

// The latest run is shown in every form in which the API may name it.
func TestDataSourceLatestExecution(t *testing.T) {
	t.Parallel()
	for _, b := range []run.Behaviour{{}, {LatestCreatedExecutionEpoch: true, LatestCreatedExecutionFullName: true}} {
		w := newWorld(t, func(o *emulator.Options) { o.Behaviour = b })
		s := speak(t, w)
		if _, err := w.e.Run().CreateJob(t.Context(), &runpb.CreateJobRequest{Parent: w.job.Parent(), JobId: w.job.Name, Job: &runpb.Job{Template: &runpb.ExecutionTemplate{
			Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{Image: "train:1"}}}}}}); err != nil {
			t.Fatal(err)
		}
		s.sees(w.job.Name, map[string]string{"latest_execution": "null", "execution_count": `"0"`, "checkpoint": "null", "env": "null", "parallelism": "null"})
		if _, err := w.e.Run().RunJob(t.Context(), &runpb.RunJobRequest{Name: w.job.String()}); err != nil {
			t.Fatal(err)
		}
		a, err := w.tasks.Await(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		list, err := w.e.Run().ListExecutions(t.Context(), &runpb.ListExecutionsRequest{Parent: w.job.String()})
		if err != nil {
			t.Fatal(err)
		}
		full := list.GetExecutions()[0].GetName()
		name := `"` + full[strings.LastIndex(full, "/")+1:] + `"`
		await := func(what func(*runpb.Execution) bool) {
			if _, err := w.e.Run().Await(t.Context(), full, what); err != nil {
				t.Fatal(err)
			}
		}
		await(func(e *runpb.Execution) bool { return e.GetRunningCount() == 1 })
		s.sees(w.job.Name, map[string]string{"latest_execution.name": name, "latest_execution.state": `"running"`, "latest_execution.completion_time": "null", "execution_count": `"1"`})
		a.Exit(0)
		await(run.Finished)
		s.sees(w.job.Name, map[string]string{"latest_execution.name": name, "latest_execution.state": `"succeeded"`})
	}
}

// Each of these has an answer of its own, at the attribute.
func TestDataSourceFindsNoJob(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	l := c.apply(c.none(), c.job(attrs{}))
	fails := func(job, summary string, texts ...string) {
		t.Helper()
		_, diags := c.look(job)
		if len(diags) != 1 || diags[0].Summary != summary || diags[0].Attribute.String() != `AttributeName("job")` {
			t.Fatalf("%s: %+v, want one %q", job, diags, summary)
		}
		for _, text := range texts {
			if !strings.Contains(diags[0].Detail, text) {
				t.Errorf("%s: does not say %q: %s", job, text, diags[0].Detail)
			}
		}
	}
	fails("missing", "Job does not exist", "does not exist", "Write the name of a job that exists")
	fails("europe-west4/"+c.w.job.Name, "Job does not exist", "europe-west4")
	fails("A_B", "Invalid job", "is not the name of a Cloud Run job")
	c.w.e.Faults().Add(faults.Fault{Method: acctest.GetJob, Status: status.New(codes.PermissionDenied, "Permission 'run.jobs.get' denied on resource (or it may not exist).")})
	fails(c.w.job.Name, "Cannot read the job", "run.jobs.get", "roles/run.viewer")
	c.destroy(l)
}

// With the real command line: the example.
func TestAccDataSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tf.Write(w.config(""))
	w.tf.Apply().Succeeds()
	example, err := os.ReadFile("../../../examples/data-sources/resilientjob_gpu_job/data-source.tf")
	if err != nil {
		t.Fatal(err)
	}
	other := acctest.CLI(t, w.e)
	other.Write(acctest.ProviderConfig(w.e) + strings.Replace(string(example), "projects/my-project/locations/us-central1/jobs/train", w.job.String(), 1))
	out := other.Apply().Succeeds()
	out.Says(`latest_run = "none yet"`, "newest_checkpoint = null")
	out.SaysNot("job_is_ready")
	w.tf.Write(acctest.ProviderConfig(w.e))
	w.tf.Apply().Succeeds()
	other.Plan().Fails("Job does not exist", "Write the name of a job that exists in the provider's project and region, or its full name.")
}
