// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func expanded(t testing.TB, m Model) *runpb.Job {
	t.Helper()
	var diags diag.Diagnostics
	job := expand(t.Context(), &m, &diags)
	noErrors(t, diags)
	return job
}

func overlaid(t testing.TB, live *runpb.Job, prior, plan Model) *runpb.Job {
	t.Helper()
	var diags diag.Diagnostics
	before, ok := proto.Clone(live).(*runpb.Job)
	job := overlay(t.Context(), live, &prior, &plan, &diags)
	noErrors(t, diags)
	if !ok || !proto.Equal(before, live) {
		t.Error("the live job was changed")
	}
	return job
}

func sameJob(t testing.TB, what string, got, want *runpb.Job) {
	t.Helper()
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// case 56: selector and switch are there, redundancy is off.
func TestExpandPlainJob(t *testing.T) {
	t.Parallel()
	disabled := true
	sameJob(t, "the request of the documented defaults", expanded(t, example()), &runpb.Job{
		LaunchStage: api.LaunchStage_GA,
		Template: &runpb.ExecutionTemplate{TaskCount: 1, Template: &runpb.TaskTemplate{
			Containers: []*runpb.Container{{
				Image:     "us-docker.pkg.dev/my-project/repo/train:1",
				Resources: &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "4000m", "memory": "16Gi", "nvidia.com/gpu": "1"}},
			}},
			Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: 3}, Timeout: durationpb.New(time.Hour),
			ServiceAccount:       "train-1a2b3c4d@my-project.iam.gserviceaccount.com",
			ExecutionEnvironment: runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2,
			NodeSelector:         &runpb.NodeSelector{Accelerator: "nvidia-l4"}, GpuZonalRedundancyDisabled: &disabled,
		}},
	})
}

func TestExpandEachAttribute(t *testing.T) {
	t.Parallel()
	task := func(j *runpb.Job) *runpb.TaskTemplate { return j.GetTemplate().GetTemplate() }
	container := func(j *runpb.Job) *runpb.Container { return task(j).GetContainers()[0] }
	for name, c := range map[string]struct {
		change func(*Model)
		want   func(*runpb.Job)
	}{
		"retries 0 is sent as 0": {
			func(m *Model) { m.MaxRetries = value.NewWhole(0) },
			func(j *runpb.Job) { task(j).Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: 0} },
		},
		"no GPU, and no switch that an API may not know (case 58)": {
			func(m *Model) {
				m.GPUType, m.CPU, m.Memory = types.StringValue("none"), value.NewQuantity("1"), value.NewQuantity("512Mi")
			},
			func(j *runpb.Job) {
				task(j).NodeSelector, task(j).GpuZonalRedundancyDisabled = nil, nil
				container(j).Resources.Limits = map[string]string{"cpu": "1000m", "memory": "512Mi"}
			},
		},
		"redundancy needs no switch that an API may not know (case 58)": {
			func(m *Model) { m.GPUZonalRedundancy = types.BoolValue(true) },
			func(j *runpb.Job) { task(j).GpuZonalRedundancyDisabled = nil },
		},
		"quantities are sent in one spelling (case 8)": {
			func(m *Model) { m.CPU, m.Memory = value.NewQuantity("8"), value.NewQuantity("34359738368") },
			func(j *runpb.Job) {
				container(j).Resources.Limits = map[string]string{"cpu": "8000m", "memory": "32Gi", "nvidia.com/gpu": "1"}
			},
		},
		"an unknown type without sizes leaves them to the server": {
			func(m *Model) {
				m.GPUType, m.CPU, m.Memory = types.StringValue("nvidia-h100-80gb"), value.NewQuantityNull(), value.NewQuantityNull()
			},
			func(j *runpb.Job) {
				task(j).NodeSelector.Accelerator = "nvidia-h100-80gb"
				container(j).Resources.Limits = map[string]string{"nvidia.com/gpu": "1"}
			},
		},
		"a long GPU timeout needs BETA": {
			func(m *Model) { m.TaskTimeout = value.NewDuration("12h") },
			func(j *runpb.Job) {
				j.LaunchStage = api.LaunchStage_BETA
				task(j).Timeout = durationpb.New(12 * time.Hour)
			},
		},
		"a configured stage is sent": {
			func(m *Model) { m.LaunchStage = types.StringValue("ALPHA") },
			func(j *runpb.Job) { j.LaunchStage = api.LaunchStage_ALPHA },
		},
		"part of a second": {
			func(m *Model) { m.TaskTimeout = value.NewDuration("3.5s") },
			func(j *runpb.Job) { task(j).Timeout = &durationpb.Duration{Seconds: 3, Nanos: 500_000_000} },
		},
		"parallelism": {
			func(m *Model) { m.TaskCount, m.Parallelism = value.NewWhole(8), value.NewWhole(2) },
			func(j *runpb.Job) { j.Template.TaskCount, j.Template.Parallelism = 8, 2 },
		},
		"program": {
			func(m *Model) {
				m.Command, m.Args = value.ListOf([]string{"python", "-u"}), value.ListOf([]string{"train.py", ""})
			},
			func(j *runpb.Job) {
				container(j).Command, container(j).Args = []string{"python", "-u"}, []string{"train.py", ""}
			},
		},
		"environment by name": {
			func(m *Model) { m.Env = value.MapOf(map[string]string{"B": "2", "A": ""}) },
			func(j *runpb.Job) {
				container(j).Env = []*runpb.EnvVar{
					{Name: "A", Values: &runpb.EnvVar_Value{Value: ""}}, {Name: "B", Values: &runpb.EnvVar_Value{Value: "2"}},
				}
			},
		},
		"labels on job and executions": {
			func(m *Model) { m.TerraformLabels = value.MapOf(map[string]string{"team": "ml", "empty": ""}) },
			func(j *runpb.Job) {
				j.Labels, j.Template.Labels = map[string]string{"team": "ml", "empty": ""}, map[string]string{"team": "ml", "empty": ""}
			},
		},
		"checkpoint": {
			func(m *Model) {
				m.Checkpoint = checkpointOf(func(c *Checkpoint) {
					c.Prefix, c.MountOptions = types.StringValue("runs/42"), value.ListOf([]string{"implicit-dirs"})
				})
			},
			func(j *runpb.Job) {
				task(j).Volumes = []*runpb.Volume{{Name: "checkpoint", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{
					Bucket: "my-checkpoints", MountOptions: []string{"implicit-dirs", "only-dir=runs/42"},
				}}}}
				container(j).VolumeMounts = []*runpb.VolumeMount{{Name: "checkpoint", MountPath: "/checkpoints"}}
			},
		},
	} {
		want := expanded(t, example())
		c.want(want)
		sameJob(t, name, expanded(t, with(c.change)), want)
	}
}

// foreign is a live job on which other clients have written.
func foreign(t testing.TB, m Model) *runpb.Job {
	t.Helper()
	job := expanded(t, m)
	job.Name, job.Uid, job.Etag, job.Generation = m.job().String(), m.UID.ValueString(), `"A/B"`, 7
	job.Client, job.ClientVersion = "gcloud", "500.0.0"
	job.Annotations = map[string]string{"commit": "abc"}
	if job.Labels == nil {
		job.Labels = map[string]string{}
	}
	job.Labels["other"] = "client"
	job.Template.Labels = map[string]string{"commit-sha": "abc"}
	for k, v := range job.Labels {
		job.Template.Labels[k] = v
	}
	job.Template.Annotations = map[string]string{"x": "y"}
	job.Template.Client = "cloud-build"
	task := job.Template.Template
	// The schema holds no volume that is mounted twice.
	task.Volumes = append([]*runpb.Volume{{Name: "data", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: "data"}}}}, task.Volumes...)
	container := task.Containers[0]
	container.VolumeMounts = append([]*runpb.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "data", MountPath: "/again"}}, container.VolumeMounts...)
	container.StartupProbe = &runpb.Probe{FailureThreshold: 3}
	// A field of tomorrow.
	job.ProtoReflect().SetUnknown([]byte{0xfa, 0x7f, 0x01, 'z'})
	return job
}

// cases 14, 19, 20 and 40: what others wrote survives, tokens are not sent again.
func TestOverlayKeepsWhatIsNotManaged(t *testing.T) {
	t.Parallel()
	prior := with(func(m *Model) {
		m.TerraformLabels = value.MapOf(map[string]string{"team": "ml", "old": "x"})
		m.Env = value.MapOf(map[string]string{"LR": "1", "GONE": "1"})
		m.Checkpoint = checkpointOf(nil)
	})
	live := foreign(t, prior)
	live.LaunchStage = api.LaunchStage_BETA
	live.CreateExecution = &runpb.Job_RunExecutionToken{RunExecutionToken: "again"}
	want, ok := proto.Clone(live).(*runpb.Job)
	if !ok {
		t.Fatal("not a job")
	}
	want.CreateExecution = nil
	sameJob(t, "an update without a change", overlaid(t, live, prior, prior), want)

	plan := prior
	plan.Image = types.StringValue("us-docker.pkg.dev/my-project/repo/train:2")
	plan.TerraformLabels = value.MapOf(map[string]string{"team": "research"})
	plan.Env = value.MapOf(map[string]string{"LR": "2", "NEW": "1"})
	plan.Checkpoint = checkpointOf(func(c *Checkpoint) { c.Bucket = types.StringValue("other-checkpoints") })
	container := want.Template.Template.Containers[0]
	container.Image = "us-docker.pkg.dev/my-project/repo/train:2"
	for _, labels := range []map[string]string{want.Labels, want.Template.Labels} {
		labels["team"] = "research"
		delete(labels, "old")
	}
	container.Env = []*runpb.EnvVar{{Name: "LR", Values: &runpb.EnvVar_Value{Value: "2"}}, {Name: "NEW", Values: &runpb.EnvVar_Value{Value: "1"}}}
	want.Template.Template.Volumes[1].GetGcs().Bucket = "other-checkpoints"
	sameJob(t, "an update of what is managed", overlaid(t, live, prior, plan), want)

	plan.Checkpoint = types.ObjectNull(checkpointTypes)
	want.Template.Template.Volumes = want.Template.Template.Volumes[:1]
	container.VolumeMounts = container.VolumeMounts[:2]
	sameJob(t, "an update without checkpoint", overlaid(t, live, prior, plan), want)

	// To GPU none and back.
	plan = prior
	plan.GPUType = types.StringValue("none")
	cpuOnly := overlaid(t, live, prior, plan)
	if task := cpuOnly.Template.Template; task.NodeSelector != nil || task.GpuZonalRedundancyDisabled != nil || task.Containers[0].Resources.Limits["nvidia.com/gpu"] != "" {
		t.Errorf("a GPU is left: %v", task)
	}
	back := overlaid(t, cpuOnly, plan, prior)
	want, ok = proto.Clone(live).(*runpb.Job)
	if !ok {
		t.Fatal("not a job")
	}
	want.CreateExecution = nil
	sameJob(t, "GPU to none and back", back, want)
}

// A job that another client made keeps the name of its volume, and another
// bucket of the job is never taken for the checkpoint.
func TestOverlayFindsTheCheckpoint(t *testing.T) {
	t.Parallel()
	prior := with(func(m *Model) { m.Checkpoint = checkpointOf(nil) })
	live := foreign(t, prior)
	task := live.Template.Template
	task.Volumes[1].Name, task.Containers[0].VolumeMounts[2].Name = "checkpoint-volume", "checkpoint-volume"
	task.Volumes[1].GetGcs().Bucket = "projects/my-project/buckets/my-checkpoints"

	plan := with(func(m *Model) {
		m.Checkpoint = checkpointOf(func(c *Checkpoint) { c.MountPath = types.StringValue("/ckpt") })
	})
	got := overlaid(t, live, prior, plan).Template.Template
	if len(got.Volumes) != 2 || got.Volumes[1].Name != "checkpoint-volume" || got.Volumes[1].GetGcs().GetBucket() != "projects/my-project/buckets/my-checkpoints" ||
		got.Containers[0].VolumeMounts[2].MountPath != "/ckpt" {
		t.Errorf("the live volume is not kept: %v", got)
	}

	// The job gets its first checkpoint beside another bucket.
	live = foreign(t, example())
	got = overlaid(t, live, example(), prior).Template.Template
	if len(got.Volumes) != 2 || got.Volumes[0].GetGcs().GetBucket() != "data" || got.Volumes[1].GetName() != "checkpoint" {
		t.Errorf("the other bucket was taken: %v", got.Volumes)
	}
}

// Another client's name for the volume of the checkpoints may be wanted for
// another volume: then these get one of their own.
func TestCheckpointVolumeOfAnotherName(t *testing.T) {
	t.Parallel()
	prior := with(func(m *Model) { m.Checkpoint = checkpointOf(nil) })
	live := expanded(t, prior)
	live.Template.Template.Volumes[0].Name, live.Template.Template.Containers[0].VolumeMounts[0].Name = "scratch", "scratch"
	v := blankVolume()
	v.MountPath, v.EmptyDir = types.StringValue("/d"), object(emptyDirTypes, &EmptyDirVolume{})
	plan := with(func(m *Model) {
		m.Checkpoint = checkpointOf(nil)
		m.Volumes = types.MapValueMust(volumeType, map[string]attr.Value{"scratch": object(volumeTypes, v)})
	})
	job := overlaid(t, live, prior, plan)
	sameState(t, "what was written", flattened(t, job, plan), plan)
	if task := job.Template.Template; len(task.Volumes) != 2 || len(task.Containers[0].VolumeMounts) != 2 {
		t.Errorf("%v", task)
	}
}
