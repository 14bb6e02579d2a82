// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

const (
	limitCPU    = "cpu"
	limitMemory = "memory"
	limitGPU    = "nvidia.com/gpu"
)

// expand makes the job of a create. It is pure: the same model gives the same
// request. Attributes without a value are left out.
func expand(ctx context.Context, m *Model, diags *diag.Diagnostics) *runpb.Job {
	return overlay(ctx, &runpb.Job{}, nil, m, diags)
}

// overlay puts the managed attributes of m onto a live job, which is not changed,
// and returns the job to write. Everything else survives: foreign labels and
// annotations, further containers, volumes that the schema cannot hold, the
// client's name, and fields that this version does not know. prior says which
// keys were managed before. Execution tokens are cleared: a token sent again
// starts a run.
func overlay(ctx context.Context, live *runpb.Job, prior, m *Model, diags *diag.Diagnostics) *runpb.Job {
	job, ok := proto.Clone(live).(*runpb.Job)
	if !ok {
		return nil
	}
	job.CreateExecution = nil
	if job.Template == nil {
		job.Template = &runpb.ExecutionTemplate{}
	}
	execution := job.Template
	if execution.Template == nil {
		execution.Template = &runpb.TaskTemplate{}
	}
	task := execution.Template
	if len(task.Containers) == 0 {
		task.Containers = []*runpb.Container{{}}
	}

	hadLabels, hadAnnotations := types.MapNull(types.StringType), types.MapNull(types.StringType)
	if prior != nil {
		hadLabels, hadAnnotations = prior.TerraformLabels, prior.Annotations
	}
	job.Labels = managedmap.Overlay(job.Labels, hadLabels, m.TerraformLabels)
	execution.Labels = managedmap.Overlay(execution.Labels, hadLabels, m.TerraformLabels)
	job.Annotations = managedmap.Overlay(job.Annotations, hadAnnotations, m.Annotations)
	overlayBinaryAuthorization(ctx, job, m, diags)
	job.LaunchStage = stageToSend(ctx, m, live.GetLaunchStage())
	execution.TaskCount = int32(m.TaskCount.ValueInt64())
	execution.Parallelism = int32(m.Parallelism.ValueInt64()) // null is 0: as many as possible

	// Retries is a oneof: 0 is sent as 0, and leaving it out would mean 3.
	task.Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: int32(m.MaxRetries.ValueInt64())}
	task.Timeout = durationpb.New(m.timeout())
	task.ServiceAccount = m.ServiceAccountEmail.ValueString()
	// Mounts need the second generation, and jobs have no other.
	task.ExecutionEnvironment = runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2
	overlayGPU(task, m)
	task.EncryptionKey = m.EncryptionKey.ValueString()
	overlayNetwork(ctx, task, m, diags)
	overlayContainer(ctx, task.Containers[0], m, diags)
	checkpoint := overlayCheckpoint(ctx, task, task.Containers[0], prior, m, diags)
	overlayVolumes(ctx, task, task.Containers[0], prior, m, checkpoint, diags)
	return job
}

// stageToSend is the configured launch stage, or else the lowest that is needed;
// never less than a live job has, whose other features may need it.
func stageToSend(ctx context.Context, m *Model, live api.LaunchStage) api.LaunchStage {
	if value.Known(m.LaunchStage) {
		return api.LaunchStage(api.LaunchStage_value[m.LaunchStage.ValueString()])
	}
	need, _ := resilience.LowestStage(m.features(ctx))
	stage := api.LaunchStage(api.LaunchStage_value[string(need)])
	if stageRank(live) > stageRank(stage) {
		return live
	}
	return stage
}

// features is what decides about the launch stage.
func (m *Model) features(ctx context.Context) resilience.Features {
	f := resilience.Features{GPU: m.GPUType.ValueString(), Timeout: m.timeout()}
	var ignored diag.Diagnostics // what cannot be read is reported where it is expanded
	for _, v := range m.volumes(ctx, &ignored) {
		if e := decode[EmptyDirVolume](ctx, v.EmptyDir, &ignored); e != nil && e.Medium.ValueString() == mediumDisk {
			f.DiskVolume = true
		}
	}
	return f
}

// stageRank orders launch stages from the least to the most permissive.
func stageRank(s api.LaunchStage) int {
	return slices.Index([]api.LaunchStage{api.LaunchStage_GA, api.LaunchStage_BETA, api.LaunchStage_ALPHA}, s)
}

// overlayGPU sets what selects a GPU. The switch that turns redundancy off is
// sent only to turn it off: otherwise the API need not know it.
func overlayGPU(task *runpb.TaskTemplate, m *Model) {
	gpu := m.GPUType.ValueString()
	if !resilience.HasGPU(gpu) {
		task.NodeSelector, task.GpuZonalRedundancyDisabled = nil, nil
		return
	}
	if task.NodeSelector == nil {
		task.NodeSelector = &runpb.NodeSelector{}
	}
	task.NodeSelector.Accelerator = gpu
	task.GpuZonalRedundancyDisabled = nil
	if !m.GPUZonalRedundancy.ValueBool() {
		task.GpuZonalRedundancyDisabled = proto.Bool(true)
	}
}

func overlayContainer(ctx context.Context, c *runpb.Container, m *Model, diags *diag.Diagnostics) {
	c.Image = m.Image.ValueString()
	c.Command = value.Elements(m.Command)
	c.Args = value.Elements(m.Args)
	c.WorkingDir = m.WorkingDir.ValueString()
	c.Env = overlayEnv(ctx, c.Env, m, diags)
	if c.Resources == nil {
		c.Resources = &runpb.ResourceRequirements{}
	}
	limits := c.Resources.Limits
	if limits == nil {
		limits = map[string]string{}
	}
	if milli, err := m.CPU.CPUMilli(); err == nil {
		if live, err := value.ParseCPU(limits[limitCPU]); err != nil || live != milli {
			limits[limitCPU] = value.APICPU(milli)
		}
	}
	if bytes, err := m.Memory.MemoryBytes(); err == nil {
		if live, err := value.ParseMemory(limits[limitMemory]); err != nil || live != bytes {
			limits[limitMemory] = value.APIMemory(bytes)
		}
	}
	delete(limits, limitGPU)
	if resilience.HasGPU(m.GPUType.ValueString()) {
		limits[limitGPU] = "1"
	}
	c.Resources.Limits = limits
}

// overlayCheckpoint puts the bucket's volume and mount into the task, with the
// live volume's name, or takes them out. It returns the volume's name, "" for
// none.
func overlayCheckpoint(ctx context.Context, task *runpb.TaskTemplate, container *runpb.Container, prior, m *Model, diags *diag.Diagnostics) string {
	live := findCheckpoint(ctx, task, container, prior, diags)
	c := m.checkpoint(ctx, diags)
	if c == nil {
		if live != nil {
			dropVolume(task, live.GetName())
		}
		return ""
	}
	if _, taken := m.Volumes.Elements()[live.GetName()]; live == nil || taken {
		// The volume that another client made for the checkpoints is another one
		// from now on, and these get one of their own.
		live = &runpb.Volume{Name: checkpointVolume}
		task.Volumes = append(task.Volumes, live)
	}
	gcs := live.GetGcs()
	if gcs == nil {
		gcs = &runpb.GCSVolumeSource{}
		live.VolumeType = &runpb.Volume_Gcs{Gcs: gcs}
	}
	if bareName(gcs.GetBucket()) != c.Bucket.ValueString() {
		gcs.Bucket = c.Bucket.ValueString()
	}
	gcs.ReadOnly = false
	gcs.MountOptions = mountOptionsToSend(c)
	mount := mountOf(container, live.GetName())
	if mount == nil {
		mount = &runpb.VolumeMount{Name: live.GetName()}
		container.VolumeMounts = append(container.VolumeMounts, mount)
	}
	mount.MountPath = c.MountPath.ValueString()
	return live.GetName()
}

// mountOptionsToSend adds the folder to the configured options.
func mountOptionsToSend(c *Checkpoint) []string {
	options := value.Elements(c.MountOptions)
	if value.Known(c.Prefix) {
		options = append(options, prefixMountOption+"="+c.Prefix.ValueString())
	}
	return options
}

// findCheckpoint finds the volume that holds the checkpoints: the one named
// "checkpoint", else, for a job that got its volume from another client, the one
// that is mounted where the state says, else the one of the state's bucket.
// Without a state only the name counts: other buckets are not ours.
func findCheckpoint(ctx context.Context, task *runpb.TaskTemplate, container *runpb.Container, prior *Model, diags *diag.Diagnostics) *runpb.Volume {
	var state *Checkpoint
	var others map[string]*Volume
	if prior != nil {
		state, others = prior.checkpoint(ctx, diags), prior.volumes(ctx, diags)
	}
	var byPath, byBucket *runpb.Volume
	for _, v := range task.GetVolumes() {
		if v.GetName() == checkpointVolume {
			return v
		}
		if _, other := others[v.GetName()]; other || v.GetGcs() == nil || state == nil {
			continue
		}
		if mountOf(container, v.GetName()).GetMountPath() == state.MountPath.ValueString() {
			byPath = v
		}
		if bareName(v.GetGcs().GetBucket()) == state.Bucket.ValueString() {
			byBucket = v
		}
	}
	if byPath != nil {
		return byPath
	}
	return byBucket
}

// mountOf returns the container's mount of a volume.
func mountOf(c *runpb.Container, volume string) *runpb.VolumeMount {
	for _, m := range c.GetVolumeMounts() {
		if m.GetName() == volume {
			return m
		}
	}
	return nil
}

// bareName returns the last part of a name that may be written in full.
func bareName(s string) string { return s[strings.LastIndex(s, "/")+1:] }
