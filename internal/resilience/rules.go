// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

// TableDate is the day on which the tables of this package were last compared
// with their sources.
const TableDate = "2026-11-29"

// Verdict says what a plan does with a finding.
type Verdict int

const (
	// Refuse stops the plan.
	Refuse Verdict = iota
	// Warn lets the plan pass with a warning.
	Warn
)

// String returns the word that the documentation uses.
func (v Verdict) String() string {
	if v == Warn {
		return "warns"
	}
	return "refuses"
}

// Rule is one row of the table: a limit, where it comes from and what the plan
// does about it.
type Rule struct {
	// ID names the rule in tests and in the documentation.
	ID string
	// Attribute is the attribute that a finding of this rule points to.
	Attribute string
	// Summary is the constant first line of every message of this rule.
	Summary string
	// Limit is the rule in words.
	Limit string
	// Verdict is what the plan does.
	Verdict Verdict
	// Dated is true for a limit that is Google's to change. With
	// plan_validation = "warn" a refusal of a dated rule becomes a warning.
	Dated bool
	// Date is the day on which the source was read or published.
	Date string
	// Source is where the limit is written down.
	Source string
}

// Finding is one broken rule with the numbers of the case at hand.
type Finding struct {
	Rule Rule
	// Detail says what is wrong, why, and what to write instead.
	Detail string
}

// Refusal is the detail of a finding that stops the plan: for a dated rule with
// the way out.
func (f Finding) Refusal() string {
	if !f.Rule.Dated {
		return f.Detail
	}
	return f.Detail + "\n\nThis limit is as of " + f.Rule.Date + ". If Google has changed it since, plan_validation = \"warn\" in the provider block makes this error a warning."
}

// The rules, by the attribute they speak of.
var (
	TimeoutMax = Rule{
		ID: "task-timeout-max", Attribute: "task_timeout", Summary: "Task timeout above the platform's maximum",
		Limit: "A task attempt may run for at most 168h.", Verdict: Refuse, Dated: true,
		Date: "2025-11-11", Source: "Cloud Run release notes and the page on task timeout",
	}
	TimeoutGPU = Rule{
		ID: "task-timeout-gpu", Attribute: "task_timeout", Summary: "GPU task timeout above the documented maximum",
		Limit: "A task attempt with a GPU may run for at most 12h (preview; 1h without preview).", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on task timeout",
	}
	TimeoutWithoutCheckpoint = Rule{
		ID: "task-timeout-checkpoint", Attribute: "checkpoint", Summary: "Long task without a checkpoint",
		Limit: "A task with a timeout above 1h should save checkpoints.", Verdict: Warn,
		Date: TableDate, Source: "Cloud Run tutorial on resilient GPU jobs",
	}
	RetriesRange = Rule{
		ID: "max-retries", Attribute: "max_retries", Summary: "Number of retries outside the platform's range",
		Limit: "A task may be retried 0 to 10 times.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on maximum retries",
	}
	RetriesNone = Rule{
		ID: "max-retries-none", Attribute: "max_retries", Summary: "Checkpoint without retries",
		Limit: "A job with a checkpoint should allow at least one retry.", Verdict: Warn,
		Date: TableDate, Source: "Cloud Run tutorial on resilient GPU jobs",
	}
	RetriesBudget = Rule{
		ID: "max-retries-budget", Attribute: "max_retries", Summary: "Fewer retries than the stated work needs",
		Limit: "max_retries should cover work_time with a probability of 0.99 when interruptions come every 168h on average.", Verdict: Warn,
		Date: TableDate, Source: "Poisson bound over interruptions and timeouts (see required_retries)",
	}
	TasksRange = Rule{
		ID: "task-count", Attribute: "task_count", Summary: "Number of tasks above the platform's maximum",
		Limit: "A job has 1 to 10000 tasks.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on creating jobs",
	}
	GPUUnknown = Rule{
		ID: "gpu-type", Attribute: "gpu_type", Summary: "GPU type is not in the table",
		Limit: "GPU types other than those of the table pass unchecked.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs for jobs",
	}
	GPURegion = Rule{
		ID: "gpu-region", Attribute: "location", Summary: "GPU type is not known in this region",
		Limit: "Each GPU type exists in the regions of its table row.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs, 2026",
	}
	GPURegionInvitation = Rule{
		ID: "gpu-region-invitation", Attribute: "location", Summary: "GPU type is by invitation only in this region",
		Limit: "Some regions offer a GPU type by invitation only.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs, 2026",
	}
	GPUZonalRedundancy = Rule{
		ID: "gpu-zonal-redundancy", Attribute: "gpu_zonal_redundancy", Summary: "GPU zonal redundancy on a job",
		Limit: "GPU jobs run without zonal redundancy.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs for jobs",
	}
	CPUMinimum = Rule{
		ID: "cpu-minimum", Attribute: "cpu", Summary: "Not enough CPU",
		Limit: "A GPU type needs the minimum CPU of its table row; a job without GPU needs one full CPU.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run pages on GPUs and on CPU limits for jobs",
	}
	CPUValue = Rule{
		ID: "cpu-value", Attribute: "cpu", Summary: "CPU value that Cloud Run does not offer",
		Limit: "CPU is one of the values of the table row.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on CPU limits for jobs",
	}
	CPUMaximum = Rule{
		ID: "cpu-maximum", Attribute: "cpu", Summary: "CPU above the largest value in the table",
		Limit: "CPU up to the largest value of the table row; Google raises it now and then.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on CPU limits for jobs",
	}
	MemoryMinimum = Rule{
		ID: "memory-minimum", Attribute: "memory", Summary: "Not enough memory",
		Limit: "A GPU type needs the minimum memory of its table row.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs",
	}
	MemoryPair = Rule{
		ID: "memory-pair", Attribute: "memory", Summary: "Memory does not go with this CPU value",
		Limit: "Each CPU value goes with a range of memory.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on memory limits for jobs; text of the API's refusal",
	}
	CheckpointFits = Rule{
		ID: "checkpoint-fits", Attribute: "checkpoint.interval", Summary: "Checkpoint interval does not fit into one attempt",
		Limit: "interval + write_time + restore_time is at most task_timeout.", Verdict: Refuse,
		Date: TableDate, Source: "an attempt that ends before its first checkpoint leaves no progress",
	}
	LaunchStage = Rule{
		ID: "launch-stage", Attribute: "launch_stage", Summary: "Launch stage is too low for a feature in use",
		Limit: "A GPU task timeout above 1h needs BETA.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on task timeout (preview mark)",
	}
)

// Rules returns the whole table, in the order of the documentation.
func Rules() []Rule {
	return []Rule{
		GPUUnknown, GPURegion, GPURegionInvitation, GPUZonalRedundancy,
		CPUMinimum, CPUValue, CPUMaximum, MemoryMinimum, MemoryPair,
		TimeoutMax, TimeoutGPU, TimeoutWithoutCheckpoint,
		RetriesRange, RetriesNone, RetriesBudget,
		TasksRange, CheckpointFits, LaunchStage,
	}
}
