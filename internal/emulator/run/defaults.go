// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"slices"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// DefaultTimeout is that of an attempt of a task.
const DefaultTimeout = 600 * time.Second

const (
	defaultTaskCount  = 1
	defaultMaxRetries = 3

	gpuKey = "nvidia.com/gpu"

	gpuTimeoutGA      = time.Hour
	gpuTimeoutPreview = 12 * time.Hour
	longTimeout       = 24 * time.Hour
)

// gpuType is what the documentation says of a GPU type, as of November 2026.
type gpuType struct {
	cpuMilli int64
	memory   string
	regions  []string
	// pairs says that the table of cpu and memory pairs holds for it too.
	pairs bool
}

var gpuTypes = map[string]gpuType{
	"nvidia-l4": {
		cpuMilli: 4000, memory: "16Gi", pairs: true,
		regions: []string{"us-central1", "us-east4", "europe-west1", "europe-west4", "asia-southeast1", "asia-south1"},
	},
	"nvidia-rtx-pro-6000": {
		cpuMilli: 20000, memory: "80Gi",
		regions: []string{"asia-southeast1", "asia-south2", "europe-west4", "us-central1"},
	},
}

// fillDefaults fills what a create or an update leaves out, and spells things as
// the server does. It is the only place that does so.
func (s *Service) fillDefaults(project string, job *runpb.Job) {
	if job.GetLaunchStage() == api.LaunchStage_LAUNCH_STAGE_UNSPECIFIED {
		job.LaunchStage = api.LaunchStage_GA
	}
	if job.Template == nil {
		job.Template = &runpb.ExecutionTemplate{}
	}
	if job.Template.Template == nil {
		job.Template.Template = &runpb.TaskTemplate{}
	}
	if job.Template.TaskCount == 0 {
		job.Template.TaskCount = defaultTaskCount
	}
	t := job.Template.Template
	if t.Retries == nil {
		t.Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: defaultMaxRetries}
	}
	if d := t.GetTimeout(); d.GetSeconds() == 0 && d.GetNanos() == 0 {
		t.Timeout = durationpb.New(DefaultTimeout)
	}
	if t.ServiceAccount == "" {
		t.ServiceAccount = defaultAccount(project)
	}
	if t.ExecutionEnvironment == runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_UNSPECIFIED {
		t.ExecutionEnvironment = runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2
	}
	gpu := t.GetNodeSelector().GetAccelerator()
	for _, c := range t.Containers {
		s.fillLimits(c, gpu, len(t.Containers) == 1)
		fillProbe(c.StartupProbe)
	}
	s.fillCloudSQL(t)
	if gpu != "" && t.Timeout.AsDuration() > gpuTimeoutPreview && s.o.Behaviour.GPUTimeoutLimit == GPUTimeoutClamped {
		t.Timeout = durationpb.New(gpuTimeoutPreview)
	}
}

// defaultAccount is the project's default compute account; it always exists.
func defaultAccount(project string) string {
	return store.ProjectNumber(project) + "-compute@developer.gserviceaccount.com"
}

// fillLimits fills a container's limits. With several containers nobody knows
// which gets the GPU, so that only the ordinary defaults apply.
func (s *Service) fillLimits(c *runpb.Container, gpu string, only bool) {
	cpu, memory := "1000m", "512Mi"
	form := s.o.Behaviour.GPULimits
	asked := gpu != "" && (only || c.GetResources().GetLimits()[gpuKey] != "")
	if asked {
		if form == GPULimitsNone {
			cpu, memory = "", ""
		} else if g, known := gpuTypes[gpu]; known {
			cpu, memory = resource.NewMilliQuantity(g.cpuMilli, resource.DecimalSI).String(), g.memory
		}
	}
	limits := c.GetResources().GetLimits()
	if limits == nil {
		limits = map[string]string{}
	}
	fill := func(key, value string) {
		if limits[key] == "" && value != "" {
			limits[key] = value
		}
	}
	fill("cpu", cpu)
	fill("memory", memory)
	if asked && form == GPULimitsMinimum {
		fill(gpuKey, "1")
	}
	for key, value := range limits {
		limits[key] = s.respell(key, value)
	}
	if len(limits) == 0 {
		return
	}
	if c.Resources == nil {
		c.Resources = &runpb.ResourceRequirements{}
	}
	c.Resources.Limits = limits
}

// respell writes a quantity as Behaviour says. What is no quantity is left for
// the validation.
func (s *Service) respell(key, value string) string {
	form := s.o.Behaviour.RespellQuantities
	q, err := resource.ParseQuantity(value)
	if err != nil || form == QuantitiesAsSent || key == gpuKey {
		return value
	}
	if form == QuantitiesMillicores {
		if key == "cpu" {
			return milli(q.MilliValue())
		}
		return value
	}
	canonical := resource.MustParse(q.String()) // forget the client's spelling
	return canonical.String()
}

func fillProbe(p *runpb.Probe) {
	if p == nil {
		return
	}
	if p.FailureThreshold == 0 {
		p.FailureThreshold = 3
	}
	if p.PeriodSeconds == 0 {
		p.PeriodSeconds = 10
	}
	if p.TimeoutSeconds == 0 {
		p.TimeoutSeconds = 1
	}
}

// fillCloudSQL forces the mount path of Cloud SQL volumes.
func (s *Service) fillCloudSQL(t *runpb.TaskTemplate) {
	sql := map[string]bool{}
	for _, v := range t.Volumes {
		if v.GetCloudSqlInstance() != nil {
			sql[v.GetName()] = true
		}
	}
	if len(sql) == 0 {
		return
	}
	last := func(a, b string) int {
		switch {
		case sql[a] == sql[b]:
			return 0
		case sql[b]:
			return -1
		default:
			return 1
		}
	}
	for _, c := range t.Containers {
		for _, m := range c.VolumeMounts {
			if sql[m.GetName()] {
				m.MountPath = "/cloudsql"
			}
		}
		if s.o.Behaviour.CloudSQLLast {
			slices.SortStableFunc(c.VolumeMounts, func(a, b *runpb.VolumeMount) int { return last(a.GetName(), b.GetName()) })
		}
	}
	if s.o.Behaviour.CloudSQLLast {
		slices.SortStableFunc(t.Volumes, func(a, b *runpb.Volume) int { return last(a.GetName(), b.GetName()) })
	}
}

// neededStage is the lowest launch stage that the used features need, and the
// feature that needs it.
func (s *Service) neededStage(job *runpb.Job) (api.LaunchStage, string) {
	t := job.GetTemplate().GetTemplate()
	timeout := t.GetTimeout().AsDuration()
	if t.GetNodeSelector().GetAccelerator() != "" {
		if timeout > gpuTimeoutGA && s.o.Behaviour.GPUTimeoutStage == StageBeta {
			return api.LaunchStage_BETA, "task timeout above 1 hour with GPU"
		}
		return api.LaunchStage_GA, ""
	}
	if timeout > longTimeout && s.o.Behaviour.LongTimeoutStage == LongTimeoutBeta {
		return api.LaunchStage_BETA, "task timeout above 24 hours"
	}
	return api.LaunchStage_GA, ""
}

// lowerStage sets the launch stage that is read back. It comes after the
// validation, which needs the one that was sent.
func (s *Service) lowerStage(job *runpb.Job) {
	if !s.o.Behaviour.LaunchStageAsSent {
		job.LaunchStage, _ = s.neededStage(job)
	}
}
