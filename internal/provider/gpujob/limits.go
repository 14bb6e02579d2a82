// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"math"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// validateLimits refuses what the dated tables rule out and the configuration
// alone shows, its defaults filled in, so that "terraform validate" finds it.
// With plan_validation = "warn", or while that is not known, the plan warns
// instead (see check.go). Nothing is said twice: Terraform plans no resource
// that validation refused.
func (r *Resource) validateLimits(m *Model, diags *diag.Diagnostics) {
	if !r.early.Refuses() {
		return
	}
	var refused []resilience.Finding
	for _, f := range configFindings(m) {
		if f.Rule.Verdict == resilience.Refuse {
			refused = append(refused, f)
		}
	}
	reportFindings(refused, false, diags)
}

// configFindings holds a configuration to the dated tables. What is unknown, or
// has a mistake of its own, is left out.
func configFindings(m *Model) []resilience.Finding {
	var out []resilience.Finding
	gpu := m.GPUType.ValueString()
	if m.GPUType.IsNull() {
		gpu = defaultGPUType
	}
	if d, err := m.TaskTimeout.Duration(); value.Known(m.TaskTimeout) && err == nil {
		out = append(out, resilience.CheckTimeout(gpu, d)...)
	}
	if n := m.MaxRetries.ValueInt64(); value.Known(m.MaxRetries) && n >= 0 && n <= math.MaxInt32 {
		out = append(out, resilience.CheckRetries(n, false)...)
	}
	if n := m.TaskCount.ValueInt64(); value.Known(m.TaskCount) && n <= math.MaxInt32 {
		out = append(out, resilience.CheckTasks(n)...)
	}
	row, ok := resilience.LookupGPU(gpu)
	if m.GPUType.IsUnknown() || !ok {
		return out
	}
	cpu, memory := m.CPU, m.Memory
	if cpu.IsNull() {
		cpu = value.NewQuantity(row.DefaultCPU)
	}
	if memory.IsNull() {
		memory = value.NewQuantity(row.DefaultMemory)
	}
	return append(out, resourceFindings(m, gpu, cpu, memory)...)
}

// resourceFindings checks the CPU and memory of a configuration or a plan. A
// finding about a value that the table gave points to the attribute that the
// configuration has, and says where the value comes from.
func resourceFindings(config *Model, gpu string, cpu, memory value.Quantity) []resilience.Finding {
	if !value.Known(cpu) || !value.Known(memory) {
		return nil
	}
	milli, err := cpu.CPUMilli()
	bytes, errMemory := memory.MemoryBytes()
	if err != nil || errMemory != nil {
		return nil
	}
	findings := resilience.CheckResources(gpu, milli, bytes)
	for i := range findings {
		if f := &findings[i]; f.Rule.Attribute == "memory" && config.Memory.IsNull() && !config.CPU.IsNull() {
			f.Rule.Attribute = "cpu"
			f.Detail += " (memory is left out here, and has the default of this gpu_type.)"
		}
	}
	return findings
}

// reportFindings puts findings at the path of their attribute, refusals of dated
// rules as warnings where warnOnly says so.
func reportFindings(findings []resilience.Finding, warnOnly bool, diags *diag.Diagnostics) {
	for _, f := range findings {
		p := path.Root(f.Rule.Attribute)
		if root, child, nested := strings.Cut(f.Rule.Attribute, "."); nested {
			p = path.Root(root).AtName(child)
		}
		if f.Rule.Verdict == resilience.Warn || f.Rule.Dated && warnOnly {
			diags.AddAttributeWarning(p, f.Rule.Summary, f.Detail)
		} else {
			diags.AddAttributeError(p, f.Rule.Summary, f.Refusal())
		}
	}
}
