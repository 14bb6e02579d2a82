// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

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
// and returns the job to write. Everything else survives: labels, annotations,
// environment variables from secrets, volumes, further containers, the client's
// name, and fields that this version does not know. prior says which labels were
// managed before. Execution tokens are cleared: a token sent again starts a run.
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

	var old map[string]string
	if prior != nil {
		old = stringMap(prior.TerraformLabels)
	}
	job.Labels = overlayLabels(job.Labels, old, stringMap(m.TerraformLabels))
	execution.Labels = overlayLabels(execution.Labels, old, stringMap(m.TerraformLabels))
	job.LaunchStage = stageToSend(m, live.GetLaunchStage())
	execution.TaskCount = int32(m.TaskCount.ValueInt64())
	execution.Parallelism = int32(m.Parallelism.ValueInt64()) // null is 0: as many as possible

	// Retries is a oneof: 0 is sent as 0, and leaving it out would mean 3.
	task.Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: int32(m.MaxRetries.ValueInt64())}
	task.Timeout = durationpb.New(m.timeout())
	task.ServiceAccount = m.ServiceAccountEmail.ValueString()
	// Mounts need the second generation, and jobs have no other.
	task.ExecutionEnvironment = runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2
	overlayGPU(task, m)
	overlayContainer(task.Containers[0], m)
	var before *Checkpoint
	if prior != nil {
		before = prior.checkpoint(ctx, diags)
	}
	overlayCheckpoint(task, task.Containers[0], before, m.checkpoint(ctx, diags))
	return job
}

// overlayLabels takes the labels that were managed before out of live ones and
// puts the managed ones in.
func overlayLabels(live, old, managed map[string]string) map[string]string {
	out := maps.Clone(live)
	for k := range old {
		delete(out, k)
	}
	if out == nil && len(managed) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, managed)
	if len(out) == 0 {
		return nil
	}
	return out
}

// stageToSend is the configured launch stage, or else the lowest that is needed;
// never less than a live job has, whose other features may need it.
func stageToSend(m *Model, live api.LaunchStage) api.LaunchStage {
	if known(m.LaunchStage) {
		return api.LaunchStage(api.LaunchStage_value[m.LaunchStage.ValueString()])
	}
	need, _ := resilience.LowestStage(m.features())
	stage := api.LaunchStage(api.LaunchStage_value[string(need)])
	if stageRank(live) > stageRank(stage) {
		return live
	}
	return stage
}

// features is what decides about the launch stage.
func (m *Model) features() resilience.Features {
	return resilience.Features{GPU: m.GPUType.ValueString(), Timeout: m.timeout()}
}

// stageRank orders launch stages from the least to the most permissive.
func stageRank(s api.LaunchStage) int {
	return slices.Index([]api.LaunchStage{api.LaunchStage_GA, api.LaunchStage_BETA, api.LaunchStage_ALPHA}, s)
}

// overlayGPU sets what selects a GPU. The redundancy switch is sent only for
// jobs with a GPU: elsewhere the API need not know it.
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
	disabled := !m.GPUZonalRedundancy.ValueBool()
	task.GpuZonalRedundancyDisabled = &disabled
}

func overlayContainer(c *runpb.Container, m *Model) {
	c.Image = m.Image.ValueString()
	c.Command = stringList(m.Command)
	c.Args = stringList(m.Args)
	c.Env = overlayEnv(c.Env, stringMap(m.Env))
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

// overlayEnv keeps the order of live variables and those that come from a secret
// and are not configured here; new ones follow by name.
func overlayEnv(live []*runpb.EnvVar, managed map[string]string) []*runpb.EnvVar {
	var out []*runpb.EnvVar
	done := map[string]bool{}
	for _, e := range live {
		v, ours := managed[e.GetName()]
		switch {
		case done[e.GetName()]:
		case ours:
			e.Values = &runpb.EnvVar_Value{Value: v}
			out = append(out, e)
			done[e.GetName()] = true
		case e.GetValueSource() != nil:
			out = append(out, e)
		}
	}
	for _, name := range sortedKeys(managed) {
		if !done[name] {
			out = append(out, &runpb.EnvVar{Name: name, Values: &runpb.EnvVar_Value{Value: managed[name]}})
		}
	}
	return out
}

// overlayCheckpoint puts the bucket's volume and mount into the task, with the
// live volume's name, or takes them out.
func overlayCheckpoint(task *runpb.TaskTemplate, container *runpb.Container, before, c *Checkpoint) {
	live := findCheckpoint(task, container, before)
	if c == nil {
		if live != nil {
			task.Volumes = slices.DeleteFunc(task.Volumes, func(v *runpb.Volume) bool { return v.GetName() == live.GetName() })
			for _, other := range task.Containers {
				other.VolumeMounts = slices.DeleteFunc(other.VolumeMounts, func(m *runpb.VolumeMount) bool { return m.GetName() == live.GetName() })
			}
		}
		return
	}
	if live == nil {
		live = &runpb.Volume{Name: checkpointVolume}
		task.Volumes = append(task.Volumes, live)
	}
	gcs := live.GetGcs()
	if gcs == nil {
		gcs = &runpb.GCSVolumeSource{}
		live.VolumeType = &runpb.Volume_Gcs{Gcs: gcs}
	}
	if bucketName(gcs.GetBucket()) != c.Bucket.ValueString() {
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
}

// mountOptionsToSend adds the folder to the configured options.
func mountOptionsToSend(c *Checkpoint) []string {
	options := stringList(c.MountOptions)
	if known(c.Prefix) {
		options = append(options, prefixMountOption+"="+c.Prefix.ValueString())
	}
	return options
}

// findCheckpoint finds the volume that holds the checkpoints: the one named
// "checkpoint", else, for a job that got its volume from another client, the one
// that is mounted where the state says, else the one of the state's bucket.
// Without a state only the name counts: other buckets are not ours.
func findCheckpoint(task *runpb.TaskTemplate, container *runpb.Container, state *Checkpoint) *runpb.Volume {
	var byPath, byBucket *runpb.Volume
	for _, v := range task.GetVolumes() {
		if v.GetName() == checkpointVolume {
			return v
		}
		if v.GetGcs() == nil || state == nil {
			continue
		}
		if mountOf(container, v.GetName()).GetMountPath() == state.MountPath.ValueString() {
			byPath = v
		}
		if bucketName(v.GetGcs().GetBucket()) == state.Bucket.ValueString() {
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

// bucketName returns the bare name of a bucket that may be written in full.
func bucketName(s string) string { return s[strings.LastIndex(s, "/")+1:] }
