// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

func limits(cpu, memory, gpu string) map[string]string {
	m := map[string]string{}
	for k, v := range map[string]string{"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu} {
		if v != "" {
			m[k] = v
		}
	}
	return m
}

func withLimits(cpu, memory, gpu string) func(*runpb.Job) {
	return func(j *runpb.Job) {
		task(j).Containers[0].Resources = &runpb.ResourceRequirements{Limits: limits(cpu, memory, gpu)}
	}
}

func accelerator(kind string) func(*runpb.Job) {
	return func(j *runpb.Job) { task(j).NodeSelector = &runpb.NodeSelector{Accelerator: kind} }
}

func timeout(d time.Duration) func(*runpb.Job) {
	return func(j *runpb.Job) { task(j).Timeout = durationpb.New(d) }
}

func stage(s api.LaunchStage) func(*runpb.Job) {
	return func(j *runpb.Job) { j.LaunchStage = s }
}

// The same defaults are filled on create and on update.
func TestFilledLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		behaviour run.Behaviour
		change    []func(*runpb.Job)
		want      map[string]string
	}{
		"nothing sent":        {want: limits("1000m", "512Mi", "")},
		"cpu only":            {change: []func(*runpb.Job){withLimits("2", "", "")}, want: limits("2", "512Mi", "")},
		"as sent":             {change: []func(*runpb.Job){withLimits("8", "34359738368", "")}, want: limits("8", "34359738368", "")},
		"L4 without limits":   {change: []func(*runpb.Job){accelerator("nvidia-l4")}, want: limits("4", "16Gi", "1")},
		"L4, no gpu key":      {behaviour: run.Behaviour{GPULimits: run.GPULimitsMinimumWithoutGPU}, change: []func(*runpb.Job){accelerator("nvidia-l4")}, want: limits("4", "16Gi", "")},
		"L4, nothing filled":  {behaviour: run.Behaviour{GPULimits: run.GPULimitsNone}, change: []func(*runpb.Job){accelerator("nvidia-l4")}},
		"RTX without limits":  {change: []func(*runpb.Job){accelerator("nvidia-rtx-pro-6000")}, want: limits("20", "80Gi", "1")},
		"L4 with cpu":         {change: []func(*runpb.Job){accelerator("nvidia-l4"), withLimits("8", "", "")}, want: limits("8", "16Gi", "1")},
		"millicores":          {behaviour: run.Behaviour{RespellQuantities: run.QuantitiesMillicores}, change: []func(*runpb.Job){withLimits("8", "16Gi", "")}, want: limits("8000m", "16Gi", "")},
		"canonical":           {behaviour: run.Behaviour{RespellQuantities: run.QuantitiesCanonical}, change: []func(*runpb.Job){withLimits("8000m", "16384Mi", "")}, want: limits("8", "16Gi", "")},
		"canonical decimal":   {behaviour: run.Behaviour{RespellQuantities: run.QuantitiesCanonical}, change: []func(*runpb.Job){withLimits("8", "16000M", "")}, want: limits("8", "16G", "")},
		"canonical, defaults": {behaviour: run.Behaviour{RespellQuantities: run.QuantitiesCanonical}, want: limits("1", "512Mi", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(tt.behaviour))
			created := w.create(tt.change...)
			if diff := cmp.Diff(tt.want, task(created).GetContainers()[0].GetResources().GetLimits()); diff != "" {
				t.Error(diff)
			}
			op, err := w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: aJob(append(tt.change, func(j *runpb.Job) { j.Name = jobFull })...)})
			if err != nil {
				t.Fatal(err)
			}
			updated := &runpb.Job{}
			w.response(op, updated)
			if diff := cmp.Diff(created.GetTemplate(), updated.GetTemplate(), protocmp.Transform()); diff != "" {
				t.Errorf("the update filled something else: %s", diff)
			}
			if updated.GetGeneration() != 1 {
				t.Errorf("generation %d after an update that changes nothing", updated.GetGeneration())
			}
		})
	}
}

func TestFilledProbeAndCloudSQL(t *testing.T) {
	t.Parallel()
	sql := func(j *runpb.Job) {
		task(j).Volumes = []*runpb.Volume{
			{Name: "sql", VolumeType: &runpb.Volume_CloudSqlInstance{CloudSqlInstance: &runpb.CloudSqlInstance{Instances: []string{"p:r:i"}}}},
			{Name: "tmp", VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{}}},
		}
		c := task(j).Containers[0]
		c.VolumeMounts = []*runpb.VolumeMount{{Name: "sql", MountPath: "/elsewhere"}, {Name: "tmp", MountPath: "/tmp/x"}}
		c.StartupProbe = &runpb.Probe{PeriodSeconds: 20}
	}
	w := newWorld(t)
	c := task(w.create(sql)).GetContainers()[0]
	if p := c.GetVolumeMounts()[0].GetMountPath(); p != "/cloudsql" {
		t.Errorf("mount path %q", p)
	}
	if p := c.GetStartupProbe(); p.GetFailureThreshold() != 3 || p.GetPeriodSeconds() != 20 || p.GetTimeoutSeconds() != 1 {
		t.Errorf("probe %v", p)
	}
	// case 25: the API may return Cloud SQL volumes and mounts last.
	w = newWorld(t, behaving(run.Behaviour{CloudSQLLast: true}))
	job := w.create(sql)
	if v := task(job).GetVolumes(); v[0].GetName() != "tmp" || v[1].GetName() != "sql" {
		t.Errorf("volumes %v", v)
	}
	if m := task(job).GetContainers()[0].GetVolumeMounts(); m[0].GetName() != "tmp" || m[1].GetName() != "sql" {
		t.Errorf("mounts %v", m)
	}
}

func TestLatestCreatedExecutionForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, behaving(run.Behaviour{LatestCreatedExecutionEpoch: true, LatestCreatedExecutionFullName: true}))
	ref := w.create().GetLatestCreatedExecution()
	if ref.GetCreateTime().AsTime().Unix() != 0 || ref.GetCompletionTime().AsTime().Unix() != 0 || ref.GetCreateTime() == nil {
		t.Errorf("%v", ref)
	}
	name, _ := w.run()
	if got := w.Job(jobFull).GetLatestCreatedExecution().GetName(); got != name {
		t.Errorf("name %q, want %q", got, name)
	}
}

// case 13 and case 16: the stage that is read back, and the refusal of one that
// is too low.
func TestLaunchStage(t *testing.T) {
	t.Parallel()
	const ga, beta, alpha = api.LaunchStage_GA, api.LaunchStage_BETA, api.LaunchStage_ALPHA
	refused := "The feature 'task timeout above 1 hour with GPU' is not supported in the declared launch stage on resource train. The launch stage annotation should be specified at least as BETA."
	for name, tt := range map[string]struct {
		behaviour run.Behaviour
		change    []func(*runpb.Job)
		want      api.LaunchStage
		refusal   string
	}{
		"nothing":                 {want: ga},
		"beta without need":       {change: []func(*runpb.Job){stage(beta)}, want: ga},
		"alpha without need":      {change: []func(*runpb.Job){stage(alpha)}, want: ga},
		"as sent":                 {behaviour: run.Behaviour{LaunchStageAsSent: true}, change: []func(*runpb.Job){stage(beta)}, want: beta},
		"GPU within an hour":      {change: []func(*runpb.Job){accelerator("nvidia-l4"), timeout(time.Hour)}, want: ga},
		"GPU above an hour":       {change: []func(*runpb.Job){accelerator("nvidia-l4"), timeout(2 * time.Hour)}, refusal: refused},
		"GPU above an hour, beta": {change: []func(*runpb.Job){accelerator("nvidia-l4"), timeout(2 * time.Hour), stage(beta)}, want: beta},
		"GPU above an hour, open": {behaviour: run.Behaviour{GPUTimeoutStage: run.StageGA}, change: []func(*runpb.Job){accelerator("nvidia-l4"), timeout(2 * time.Hour)}, want: ga},
		"long without GPU":        {change: []func(*runpb.Job){timeout(168 * time.Hour)}, want: ga},
		"long, preview":           {behaviour: run.Behaviour{LongTimeoutStage: run.LongTimeoutBeta}, change: []func(*runpb.Job){timeout(25 * time.Hour), stage(beta)}, want: beta},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(tt.behaviour))
			op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(tt.change...)})
			if tt.refusal != "" {
				wantCode(t, err, codes.InvalidArgument, tt.refusal)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := jobOf(t, op).GetLaunchStage(); got != tt.want {
				t.Errorf("read back %v, want %v", got, tt.want)
			}
		})
	}
	w := newWorld(t)
	_, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(stage(api.LaunchStage_EARLY_ACCESS))})
	wantCode(t, err, codes.InvalidArgument, "")
}

func TestGPUTimeoutLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form run.GPUTimeoutLimit
		want time.Duration
		code codes.Code
	}{
		"accepted": {run.GPUTimeoutAccepted, 168 * time.Hour, codes.OK},
		"refused":  {run.GPUTimeoutRefused, 0, codes.InvalidArgument},
		"clamped":  {run.GPUTimeoutClamped, 12 * time.Hour, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(run.Behaviour{GPUTimeoutLimit: tt.form}))
			op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{
				Parent: parent, JobId: jobID,
				Job: aJob(accelerator("nvidia-l4"), timeout(168*time.Hour), stage(api.LaunchStage_BETA)),
			})
			wantCode(t, err, tt.code, "")
			if err != nil {
				return
			}
			if got := task(jobOf(t, op)).GetTimeout().AsDuration(); got != tt.want {
				t.Errorf("timeout %v, want %v", got, tt.want)
			}
		})
	}
}
