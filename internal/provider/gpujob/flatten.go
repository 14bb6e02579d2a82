// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/genproto/googleapis/api"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// What the server fills in where a request leaves it out.
const (
	serverTasks   = 1
	serverRetries = 3
	serverTimeout = "10m"
)

// flatten returns prior with everything that the live job says. It is pure. A
// value that means the same as prior's keeps prior's spelling; null and empty
// stay as prior has them; labels that prior does not manage, and what only this
// resource knows (grants, roles, times), are not touched.
func flatten(ctx context.Context, job *runpb.Job, prior *Model, diags *diag.Diagnostics) Model {
	m := *prior
	execution := job.GetTemplate()
	task := execution.GetTemplate()
	if task == nil {
		task = &runpb.TaskTemplate{}
	}
	container := &runpb.Container{}
	if len(task.GetContainers()) > 0 {
		container = task.GetContainers()[0]
	}

	if uid := job.GetUid(); uid != "" {
		m.UID = types.StringValue(uid)
	}
	m.Image = types.StringValue(container.GetImage())
	m.Command = flattenList(container.GetCommand(), prior.Command)
	m.Args = flattenList(container.GetArgs(), prior.Args)
	m.WorkingDir = text(container.GetWorkingDir())
	m.Env = flattenEnv(container.GetEnv(), prior.Env)
	m.SecretEnv = flattenSecretEnv(ctx, container.GetEnv(), prior, diags)
	flattenGPU(task, container, prior, &m)
	m.CPU = flattenQuantity(container.GetResources().GetLimits()[limitCPU], prior.CPU, value.ParseCPU, value.FormatCPU)
	m.Memory = flattenQuantity(container.GetResources().GetLimits()[limitMemory], prior.Memory, value.ParseMemory, value.FormatMemory)
	m.TaskCount = value.NewWhole(max(int64(execution.GetTaskCount()), serverTasks))
	m.Parallelism = flattenParallelism(execution, prior.Parallelism)
	m.TaskTimeout = flattenTimeout(task, prior.TaskTimeout)
	m.MaxRetries = value.NewWhole(serverRetries)
	if r, ok := task.GetRetries().(*runpb.TaskTemplate_MaxRetries); ok {
		m.MaxRetries = value.NewWhole(int64(r.MaxRetries))
	}
	checkpoint := findCheckpoint(ctx, task, container, prior, diags)
	m.Checkpoint = flattenCheckpoint(checkpoint, container, prior.checkpoint(ctx, diags)).object(ctx, diags)
	m.Volumes = flattenVolumes(ctx, task, container, prior, checkpoint.GetName(), diags)
	m.Network = flattenNetwork(ctx, task, prior, diags)
	m.EncryptionKey = keepName(alwaysFull, prior.place(), text(task.GetEncryptionKey()), prior.EncryptionKey)
	m.BinaryAuthorization = flattenBinaryAuthorization(ctx, job, prior, diags)
	m.ServiceAccountEmail = types.StringValue(task.GetServiceAccount())
	if value.Known(prior.ServiceAccount) {
		m.ServiceAccount = types.StringValue(task.GetServiceAccount())
	}
	m.Annotations = managedmap.Read(prior.Annotations, job.GetAnnotations())
	m.Labels = managedmap.Read(prior.Labels, job.GetLabels(), execution.GetLabels())
	m.TerraformLabels = managedmap.Read(prior.TerraformLabels, job.GetLabels(), execution.GetLabels())
	m.EffectiveLabels = value.MapOf(job.GetLabels())
	m.LaunchStage = flattenStage(job.GetLaunchStage(), prior.LaunchStage)
	m.identify()
	m.Exposure = m.exposure()
	return m
}

// identify sets what follows from project, location and name.
func (m *Model) identify() {
	if !m.place().Known() {
		return
	}
	m.ID = types.StringValue(m.job().String())
	m.ConsoleURL = types.StringValue(consoleURL(m.job()))
}

// consoleURL is the job's page in the Google Cloud console.
func consoleURL(j resourcename.Job) string {
	return "https://console.cloud.google.com/run/jobs/details/" + url.PathEscape(j.Location) + "/" + url.PathEscape(j.Name) + "?project=" + url.QueryEscape(j.Project)
}

// flattenList keeps null and empty apart as prior does.
func flattenList(live []string, prior types.List) types.List {
	if len(live) == 0 {
		if value.Known(prior) && len(prior.Elements()) == 0 {
			return prior
		}
		return types.ListNull(types.StringType)
	}
	return value.ListOf(live)
}

func flattenGPU(task *runpb.TaskTemplate, container *runpb.Container, prior, m *Model) {
	accelerator := task.GetNodeSelector().GetAccelerator()
	switch {
	case accelerator != "":
		m.GPUType = types.StringValue(accelerator)
	case container.GetResources().GetLimits()[limitGPU] != "" && value.Known(prior.GPUType) && resilience.HasGPU(prior.GPUType.ValueString()):
		// A GPU whose type the answer leaves out.
	default:
		m.GPUType = types.StringValue(resilience.NoGPU)
	}
	// An answer without the switch says nothing: it is either off, or a server
	// that does not know it.
	switch {
	case task.GetGpuZonalRedundancyDisabled():
		m.GPUZonalRedundancy = types.BoolValue(false)
	case task.GpuZonalRedundancyDisabled != nil:
		m.GPUZonalRedundancy = types.BoolValue(true)
	case !value.Known(prior.GPUZonalRedundancy):
		m.GPUZonalRedundancy = types.BoolValue(resilience.HasGPU(m.GPUType.ValueString()))
	}
}

// flattenQuantity keeps prior's spelling of the same amount.
func flattenQuantity(live string, prior value.Quantity, parse func(string) (int64, error), format func(int64) string) value.Quantity {
	n, err := parse(live)
	if err != nil {
		if live == "" {
			return value.NewQuantityNull()
		}
		return value.NewQuantity(live)
	}
	if value.Known(prior) {
		if p, err := parse(prior.ValueString()); err == nil && p == n {
			return prior
		}
	}
	return value.NewQuantity(format(n))
}

// flattenParallelism reads 0 as unset. A server that writes the number of tasks
// where nothing was asked for means the same.
func flattenParallelism(t *runpb.ExecutionTemplate, prior value.Whole) value.Whole {
	n := int64(t.GetParallelism())
	if n == 0 || prior.IsNull() && n >= max(int64(t.GetTaskCount()), serverTasks) {
		return value.NewWholeNull()
	}
	return value.NewWhole(n)
}

func flattenTimeout(task *runpb.TaskTemplate, prior value.Duration) value.Duration {
	if task.GetTimeout() == nil {
		return value.NewDuration(serverTimeout)
	}
	live := task.GetTimeout().AsDuration()
	if d, err := prior.Duration(); err == nil && d == live {
		return prior
	}
	return value.DurationOf(live)
}

// flattenCheckpoint reads the volume and its mount. What the API does not hold
// comes from prior.
func flattenCheckpoint(volume *runpb.Volume, container *runpb.Container, prior *Checkpoint) *Checkpoint {
	gcs := volume.GetGcs()
	if gcs == nil {
		return nil
	}
	c := newCheckpoint()
	if prior != nil {
		*c = *prior
	}
	c.Bucket = types.StringValue(bareName(gcs.GetBucket()))
	c.MountPath = types.StringValue(mountOf(container, volume.GetName()).GetMountPath())
	prefix := types.StringNull()
	var options []string
	for _, o := range gcs.GetMountOptions() {
		if key, v, _ := strings.Cut(o, "="); key == prefixMountOption && !hasOption(prior, o) {
			prefix = types.StringValue(strings.Trim(v, "/"))
			continue
		}
		options = append(options, o)
	}
	c.Prefix = prefix
	c.MountOptions = flattenList(options, c.MountOptions)
	return c
}

// hasOption tells whether an option is written among the mount options.
func hasOption(c *Checkpoint, option string) bool {
	return c != nil && slices.Contains(value.Elements(c.MountOptions), option)
}

// newCheckpoint returns a checkpoint with the documented defaults.
func newCheckpoint() *Checkpoint {
	return &Checkpoint{
		Bucket: types.StringNull(), MountPath: types.StringValue(defaultMountPath), Prefix: types.StringNull(),
		MountOptions: types.ListNull(types.StringType), Role: types.StringValue(defaultRole), Grant: types.BoolNull(), PerTask: types.BoolNull(),
		Interval: value.NewDurationNull(), WriteTime: value.NewDurationNull(), RestoreTime: value.NewDurationNull(), WorkTime: value.NewDurationNull(),
	}
}

// flattenStage keeps a configured stage while the server reports the same or a
// lower one, and stores nothing where none is configured.
func flattenStage(live api.LaunchStage, prior types.String) types.String {
	if !value.Known(prior) {
		return prior
	}
	configured := api.LaunchStage(api.LaunchStage_value[prior.ValueString()])
	if stageRank(live) <= stageRank(configured) {
		return prior
	}
	return types.StringValue(live.String())
}
