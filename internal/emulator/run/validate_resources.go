// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"slices"
	"strconv"

	"cloud.google.com/go/run/apiv2/runpb"
	"k8s.io/apimachinery/pkg/api/resource"
)

// memoryRange is what the second generation allows for a number of CPUs.
type memoryRange struct{ least, most string }

var memoryRanges = map[int64]memoryRange{ // by thousandths of a CPU
	1000: {"512Mi", "4Gi"},
	2000: {"512Mi", "8Gi"},
	4000: {"2Gi", "16Gi"},
	6000: {"4Gi", "24Gi"},
	8000: {"4Gi", "32Gi"},
}

// checkResources applies the rules of cpu, memory and GPU.
func (s *Service) checkResources(n jobName, at string, t *runpb.TaskTemplate) error {
	gpu := t.GetNodeSelector().GetAccelerator()
	known, isKnown := gpuTypes[gpu]
	if isKnown && !s.o.Behaviour.GPURegionsOpen && !slices.Contains(known.regions, n.location.location) {
		return invalid(at+".node_selector.accelerator", "GPU type %s is not supported in region %s.", gpu, n.location.location)
	}
	withGPU := 0
	for i, c := range t.GetContainers() {
		field := fmt.Sprintf("%s.containers[%d].resources.limits", at, i)
		limits := c.GetResources().GetLimits()
		cpu, memory, err := parseLimits(field, limits)
		if err != nil {
			return err
		}
		if limits[gpuKey] != "" {
			withGPU++
			if gpu == "" {
				return invalid(at+".node_selector.accelerator", "Required when %s is set.", gpuKey)
			}
		}
		holdsGPU := gpu != "" && (limits[gpuKey] != "" || len(t.GetContainers()) == 1)
		if holdsGPU && isKnown {
			if err := checkGPUMinimum(field, gpu, known, cpu, memory); err != nil {
				return err
			}
		}
		if len(t.GetContainers()) > 1 || holdsGPU && !known.pairs {
			continue // rules for these are not documented
		}
		if err := checkPair(field, cpu, memory); err != nil {
			return err
		}
	}
	if withGPU > 1 {
		return invalid(at+".containers", "Only one container can use a GPU.")
	}
	if gpu != "" && t.GetTimeout().AsDuration() > gpuTimeoutPreview && s.o.Behaviour.GPUTimeoutLimit == GPUTimeoutRefused {
		return invalid(at+".timeout", "Must be at most %d seconds with GPU.", int64(gpuTimeoutPreview.Seconds()))
	}
	return nil
}

// parseLimits returns cpu and memory; nil when they are not set.
func parseLimits(field string, limits map[string]string) (cpu, memory *resource.Quantity, err error) {
	for _, key := range sortedKeys(limits) {
		q, parseErr := resource.ParseQuantity(limits[key])
		if parseErr != nil || q.Sign() <= 0 {
			return nil, nil, invalid(field+"."+key, "Invalid quantity %q.", limits[key])
		}
		switch key {
		case "cpu":
			cpu = &q
		case "memory":
			memory = &q
		case gpuKey:
			if q.Cmp(resource.MustParse("1")) != 0 {
				return nil, nil, invalid(field+"."+key, "Invalid value %q: the only supported value is 1.", limits[key])
			}
		default:
			return nil, nil, invalid(field+"."+key, "Unsupported resource: only cpu, memory and %s are supported.", gpuKey)
		}
	}
	return cpu, memory, nil
}

func checkGPUMinimum(field, gpu string, known gpuType, cpu, memory *resource.Quantity) error {
	if cpu != nil && cpu.MilliValue() < known.cpuMilli {
		return invalid(field+".cpu", "Invalid value specified for cpu. GPU type %s requires at least %d CPU.", gpu, known.cpuMilli/1000)
	}
	if memory != nil && memory.Cmp(resource.MustParse(known.memory)) < 0 {
		return invalid(field+".memory", "Invalid value specified for memory. GPU type %s requires at least %s.", gpu, known.memory)
	}
	return nil
}

func checkPair(field string, cpu, memory *resource.Quantity) error {
	if cpu == nil || memory == nil {
		return nil
	}
	if cpu.MilliValue() < 1000 {
		return invalid(field+".cpu", "Invalid value specified for cpu. Jobs require at least 1 CPU.")
	}
	allowed, ok := memoryRanges[cpu.MilliValue()]
	if !ok {
		return invalid(field+".cpu", "Invalid value specified for cpu. Supported values are 1, 2, 4, 6 and 8.")
	}
	if memory.Cmp(resource.MustParse(allowed.least)) < 0 || memory.Cmp(resource.MustParse(allowed.most)) > 0 {
		return invalid(field+".memory", "Invalid value specified for memory with gen2 execution environment. For %s CPU, memory must be between %s and %s inclusive.",
			strconv.FormatFloat(float64(cpu.MilliValue())/1000, 'f', 1, 64), allowed.least, allowed.most)
	}
	return nil
}

func isQuantity(s string) bool {
	_, err := resource.ParseQuantity(s)
	return err == nil
}

// milli spells a cpu in thousandths.
func milli(n int64) string { return strconv.FormatInt(n, 10) + "m" }
