// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"fmt"
	"strings"
)

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

// The resources that a rule speaks of, without the provider's prefix.
const (
	JobResource    = "gpu_job"
	BucketResource = "checkpoint_bucket"
)

// Rule is one row of the table: a limit, where it comes from and what the plan
// does about it. Some rules are checked by this package, others where the values
// they speak of are read: names, paths, what the API must be asked for.
type Rule struct {
	// ID names the rule in tests.
	ID string
	// Resource is JobResource or BucketResource.
	Resource string
	// Attribute is the attribute that a finding of this rule points to, or into.
	Attribute string
	// Summary is the constant first line of every message of this rule.
	Summary string
	// Limit is the rule in words, in Markdown.
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

// The rules, by what they speak of.
var (
	// GPU types and places.
	GPUUnknown = Rule{
		ID: "gpu-type", Resource: JobResource, Attribute: "gpu_type", Summary: "GPU type is not in the table",
		Limit: "A GPU type that is not in the table is passed on as written; its CPU, memory and region are not checked.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs for jobs",
	}
	GPURegion = Rule{
		ID: "gpu-region", Resource: JobResource, Attribute: "location", Summary: "GPU type is not known in this region",
		Limit: "A GPU type exists in the regions of its row.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs, 2026",
	}
	GPURegionInvitation = Rule{
		ID: "gpu-region-invitation", Resource: JobResource, Attribute: "location", Summary: "GPU type is by invitation only in this region",
		Limit: "Some regions offer a GPU type by invitation only.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs, 2026",
	}
	GPUZonalRedundancy = Rule{
		ID: "gpu-zonal-redundancy", Resource: JobResource, Attribute: "gpu_zonal_redundancy", Summary: "GPU zonal redundancy on a job",
		Limit: "GPU jobs run without zonal redundancy.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs for jobs",
	}

	// CPU and memory.
	CPUMinimum = Rule{
		ID: "cpu-minimum", Resource: JobResource, Attribute: "cpu", Summary: "Not enough CPU",
		Limit: "At least the CPU of the GPU type's row; one full CPU without a GPU.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run pages on GPUs and on CPU limits for jobs",
	}
	CPUValue = Rule{
		ID: "cpu-value", Resource: JobResource, Attribute: "cpu", Summary: "CPU value that Cloud Run does not offer",
		Limit: "One of the CPU values of the row.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on CPU limits for jobs",
	}
	CPUMaximum = Rule{
		ID: "cpu-maximum", Resource: JobResource, Attribute: "cpu", Summary: "CPU above the largest value in the table",
		Limit: "At most the largest CPU value of the row; Google raises it now and then.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on CPU limits for jobs",
	}
	MemoryMinimum = Rule{
		ID: "memory-minimum", Resource: JobResource, Attribute: "memory", Summary: "Not enough memory",
		Limit: "At least the memory of the row.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on GPUs",
	}
	MemoryPair = Rule{
		ID: "memory-pair", Resource: JobResource, Attribute: "memory", Summary: "Memory does not go with this CPU value",
		Limit: "Within the range of memory that goes with the CPU value.", Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on memory limits for jobs; text of the API's refusal",
	}

	// Time.
	TimeoutShape = Rule{
		ID: "task-timeout", Resource: JobResource, Attribute: "task_timeout", Summary: "Invalid duration",
		Limit: "A duration above zero with its unit, such as `12h` or `90m`.", Verdict: Refuse,
		Date: TableDate, Source: "an attempt needs some time",
	}
	TimeoutMax = Rule{
		ID: "task-timeout-max", Resource: JobResource, Attribute: "task_timeout", Summary: "Task timeout above the platform's maximum",
		Limit: fmt.Sprintf("At most %s for one attempt.", FormatDuration(MaxTimeout)), Verdict: Refuse, Dated: true,
		Date: "2025-11-11", Source: "Cloud Run release notes and the page on task timeout",
	}
	TimeoutGPU = Rule{
		ID: "task-timeout-gpu", Resource: JobResource, Attribute: "task_timeout", Summary: "GPU task timeout above the documented maximum",
		Limit: fmt.Sprintf("With a GPU at most %s for one attempt (preview; %s without preview).", FormatDuration(MaxGPUTimeout), FormatDuration(MaxGPUTimeoutGA)), Verdict: Warn, Dated: true,
		Date: TableDate, Source: "Cloud Run page on task timeout",
	}
	LaunchStage = Rule{
		ID: "launch-stage", Resource: JobResource, Attribute: "launch_stage", Summary: "Launch stage does not permit a feature in use",
		Limit: "At least the stage that the features in use need.", Verdict: Warn, Dated: true,
		Date: TableDate, Source: "table of features in preview",
	}
	TimeoutWithoutCheckpoint = Rule{
		ID: "task-timeout-checkpoint", Resource: JobResource, Attribute: "checkpoint", Summary: "Long task without a checkpoint",
		Limit: fmt.Sprintf("A task with a timeout above %s should save checkpoints.", FormatDuration(LongTask)), Verdict: Warn,
		Date: TableDate, Source: "Cloud Run tutorial on resilient GPU jobs",
	}

	// Retries and tasks.
	RetriesRange = Rule{
		ID: "max-retries", Resource: JobResource, Attribute: "max_retries", Summary: "Number of retries outside the platform's range",
		Limit: fmt.Sprintf("0 to %d. Less than 0 is refused in any case.", MaxRetries), Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on maximum retries",
	}
	RetriesNone = Rule{
		ID: "max-retries-none", Resource: JobResource, Attribute: "max_retries", Summary: "Checkpoint without retries",
		Limit: "A job with a checkpoint should allow at least one retry.", Verdict: Warn,
		Date: TableDate, Source: "Cloud Run tutorial on resilient GPU jobs",
	}
	RetriesBudget = Rule{
		ID: "max-retries-budget", Resource: JobResource, Attribute: "max_retries", Summary: "Fewer retries than the stated work needs",
		Limit: fmt.Sprintf("Enough for `checkpoint.work_time` with a probability of %g, interruptions every %s on average.", PlanProbability, FormatDuration(MaintenanceInterval)), Verdict: Warn,
		Date: TableDate, Source: "Poisson bound over interruptions and timeouts (see required_retries)",
	}
	TasksRange = Rule{
		ID: "task-count", Resource: JobResource, Attribute: "task_count", Summary: "Number of tasks above the platform's maximum",
		Limit: fmt.Sprintf("1 to %d. Less than 1 is refused in any case.", MaxTasks), Verdict: Refuse, Dated: true,
		Date: TableDate, Source: "Cloud Run page on creating jobs",
	}
	ParallelismRange = Rule{
		ID: "parallelism", Resource: JobResource, Attribute: "parallelism", Summary: "Parallelism above the number of tasks",
		Limit: "At most `task_count`.", Verdict: Refuse,
		Date: TableDate, Source: "Cloud Run page on creating jobs",
	}

	// The checkpoint.
	CheckpointFits = Rule{
		ID: "checkpoint-fits", Resource: JobResource, Attribute: "checkpoint.interval", Summary: "Checkpoint interval does not fit into one attempt",
		Limit: "`interval` + `write_time` + `restore_time` is at most `task_timeout`.", Verdict: Refuse,
		Date: TableDate, Source: "an attempt that ends before its first checkpoint leaves no progress",
	}
	CheckpointPlace = Rule{
		ID: "checkpoint-place", Resource: JobResource, Attribute: "checkpoint.bucket", Summary: "Checkpoint bucket is not in the job's region",
		Limit: "The bucket's location is, or holds, the job's region.", Verdict: Warn,
		Date: TableDate, Source: "Cloud Run and Cloud Storage pages on prices",
	}
	CheckpointShared = Rule{
		ID: "checkpoint-shared", Resource: JobResource, Attribute: "checkpoint.per_task", Summary: "Several tasks may write to the same checkpoints",
		Limit: fmt.Sprintf("With several tasks `per_task` is `true`, or `%s` stands in `command`, `args` or `env`.", TaskIndexEnv), Verdict: Warn,
		Date: TableDate, Source: "gcsfuse's semantics: no locking, of two writers of one object one loses",
	}
	MountPath = Rule{
		ID: "mount-path", Resource: JobResource, Attribute: "checkpoint.mount_path", Summary: "Invalid mount path",
		Limit: "Absolute, not `/`, no colon, not on or below `/dev`, `/proc` or `/sys`.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's VolumeMount",
	}
	MountOption = Rule{
		ID: "mount-option", Resource: JobResource, Attribute: "checkpoint.mount_options", Summary: "Invalid mount option",
		Limit: "`name` or `name=value`, without leading hyphens.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's GCSVolumeSource",
	}

	// Volumes.
	VolumeName = Rule{
		ID: "volume-name", Resource: JobResource, Attribute: "volumes", Summary: "Invalid volume name",
		Limit: "1 to 63 lower-case letters, digits and hyphens, a letter or digit at both ends; not `checkpoint`.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's Volume",
	}
	VolumeNoKind = Rule{
		ID: "volume-kind", Resource: JobResource, Attribute: "volumes", Summary: "Volume without a kind",
		Limit: "One of `gcs`, `nfs`, `empty_dir`, `secret` and `cloud_sql`.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's Volume",
	}
	VolumeKinds = Rule{
		ID: "volume-kinds", Resource: JobResource, Attribute: "volumes", Summary: "Volume of two kinds",
		Limit: "Only one of them.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's Volume",
	}
	VolumePath = Rule{
		ID: "volume-path", Resource: JobResource, Attribute: "volumes.mount_path", Summary: "Invalid mount path",
		Limit: "As for the checkpoint.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's VolumeMount",
	}
	VolumeTwice = Rule{
		ID: "volume-twice", Resource: JobResource, Attribute: "volumes.mount_path", Summary: "Two volumes at one path",
		Limit: "A path of its own, also not that of the checkpoint.", Verdict: Refuse,
		Date: TableDate, Source: "a task sees one of the two only",
	}
	VolumeNested = Rule{
		ID: "volume-nested", Resource: JobResource, Attribute: "volumes.mount_path", Summary: "Volume inside of another",
		Limit: "Not above or below the path of another volume or of the checkpoint.", Verdict: Refuse,
		Date: TableDate, Source: "one of the two hides the other",
	}
	VolumeSubPath = Rule{
		ID: "volume-sub-path", Resource: JobResource, Attribute: "volumes.sub_path", Summary: "sub_path does not go with this volume",
		Limit: "Not for `secret` and `cloud_sql`.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's VolumeMount",
	}

	// Names and variables.
	JobName = Rule{
		ID: "job-name", Resource: JobResource, Attribute: "name", Summary: "Invalid job name",
		Limit: "1 to 63 lower-case letters, digits and hyphens, a letter first and no hyphen last.", Verdict: Refuse,
		Date: TableDate, Source: "length that several products work with; Google documents none for jobs",
	}
	JobNameLong = Rule{
		ID: "job-name-long", Resource: JobResource, Attribute: "name", Summary: "Long job name",
		Limit: "Up to 49 characters, the documented limit of services.", Verdict: Warn,
		Date: TableDate, Source: "Cloud Run Admin API, services",
	}
	EnvName = Rule{
		ID: "env-name", Resource: JobResource, Attribute: "env", Summary: "Invalid environment variable",
		Limit: fmt.Sprintf("Letters, digits and underscores, no digit first. Not `%s`, `%s` or `X_GOOGLE_*`. Name and value have at most %d bytes each.", strings.Join(platformEnv, "`, `"), RunKeyEnv, MaxEnvSize), Verdict: Refuse,
		Date: TableDate, Source: "Cloud Run page on environment variables; container runtime contract",
	}
	EnvCount = Rule{
		ID: "env-count", Resource: JobResource, Attribute: "env", Summary: "Too many environment variables",
		Limit: fmt.Sprintf("At most %d variables, those of `secret_env` included.", MaxEnv), Verdict: Refuse,
		Date: TableDate, Source: "Cloud Run page on environment variables",
	}
	EnvTwice = Rule{
		ID: "env-twice", Resource: JobResource, Attribute: "secret_env", Summary: "Environment variable is given twice",
		Limit: "A name stands in `env` or in `secret_env`.", Verdict: Refuse,
		Date: TableDate, Source: "a variable has one value",
	}
	EnvService = Rule{
		ID: "env-service", Resource: JobResource, Attribute: "env", Summary: "Environment variable of a service",
		Limit: "`K_*` are names of services, not of jobs.", Verdict: Warn,
		Date: TableDate, Source: "container runtime contract",
	}
	Label = Rule{
		ID: "label", Resource: JobResource, Attribute: "labels", Summary: "Invalid label",
		Limit: "Keys and values of up to 63 lower-case letters, digits, hyphens and underscores; no key below `run.googleapis.com`, `cloud.googleapis.com`, `serving.knative.dev` or `autoscaling.knative.dev`.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's Job; Google Cloud page on labels",
	}
	LabelCount = Rule{
		ID: "label-count", Resource: JobResource, Attribute: "labels", Summary: "Too many labels",
		Limit: "At most 64 labels.", Verdict: Refuse,
		Date: TableDate, Source: "Google Cloud page on labels",
	}
	Annotation = Rule{
		ID: "annotation", Resource: JobResource, Attribute: "annotations", Summary: "Invalid annotation",
		Limit: "Up to 63 letters, digits, hyphens, underscores and dots, a letter or digit at both ends, after a domain and a slash where wanted; no key below the namespaces that labels may not use.", Verdict: Refuse,
		Date: TableDate, Source: "field comment of the API's Job",
	}
	Account = Rule{
		ID: "service-account", Resource: JobResource, Attribute: "service_account", Summary: "Invalid service account",
		Limit: "E-mail of a service account.", Verdict: Refuse,
		Date: TableDate, Source: "IAM Admin API",
	}
	AccountID = Rule{
		ID: "service-account-id", Resource: JobResource, Attribute: "service_account_id", Summary: "Invalid service account id",
		Limit: "6 to 30 lower-case letters, digits and hyphens, a letter first and no hyphen last.", Verdict: Refuse,
		Date: TableDate, Source: "IAM Admin API, CreateServiceAccount",
	}

	// The bucket.
	BucketName = Rule{
		ID: "bucket-name", Resource: BucketResource, Attribute: "name", Summary: "Invalid bucket name",
		Limit: "3 to 63 lower-case letters, digits, hyphens, underscores and dots (up to 222 with dots, 63 a part); no IP address, not `goog` first, no `google`.", Verdict: Refuse,
		Date: TableDate, Source: "Cloud Storage page on bucket names",
	}
	SoftDelete = Rule{
		ID: "soft-delete", Resource: BucketResource, Attribute: "soft_delete_retention", Summary: "Invalid soft delete retention",
		Limit: "`0s`, or 7 to 90 days.", Verdict: Refuse,
		Date: TableDate, Source: "Cloud Storage page on soft delete",
	}
	VersioningNamespace = Rule{
		ID: "versioning", Resource: BucketResource, Attribute: "versioning", Summary: "Versioning with a hierarchical namespace",
		Limit: "Not with `hierarchical_namespace`.", Verdict: Refuse,
		Date: TableDate, Source: "text of the API's refusal",
	}
	BucketReader = Rule{
		ID: "bucket-readers", Resource: BucketResource, Attribute: "readers", Summary: "Invalid member",
		Limit: "Members with the prefix of their type, such as `serviceAccount:` or `group:`; nobody public.", Verdict: Refuse,
		Date: TableDate, Source: "Cloud Storage page on principals",
	}
	BucketWriter = Rule{
		ID: "bucket-writers", Resource: BucketResource, Attribute: "writers", Summary: "Invalid member",
		Limit: "Members with the prefix of their type, such as `serviceAccount:` or `group:`; nobody public.", Verdict: Refuse,
		Date: TableDate, Source: "Cloud Storage page on principals",
	}
	BucketLabel = Rule{
		ID: "bucket-label", Resource: BucketResource, Attribute: "labels", Summary: "Invalid label",
		Limit: "As for jobs.", Verdict: Refuse,
		Date: TableDate, Source: "Google Cloud page on labels",
	}
)

// Rules returns the whole table, in the order of the documentation.
func Rules() []Rule {
	return []Rule{
		GPUUnknown, GPURegion, GPURegionInvitation, GPUZonalRedundancy,
		CPUMinimum, CPUValue, CPUMaximum, MemoryMinimum, MemoryPair,
		TimeoutShape, TimeoutMax, TimeoutGPU, LaunchStage, TimeoutWithoutCheckpoint,
		RetriesRange, RetriesNone, RetriesBudget, TasksRange, ParallelismRange,
		CheckpointFits, CheckpointPlace, CheckpointShared, MountPath, MountOption,
		VolumeName, VolumeNoKind, VolumeKinds, VolumePath, VolumeTwice, VolumeNested, VolumeSubPath,
		JobName, JobNameLong, EnvName, EnvCount, EnvTwice, EnvService, Label, LabelCount, Annotation, Account, AccountID,
		BucketName, SoftDelete, VersioningNamespace, BucketReader, BucketWriter, BucketLabel,
	}
}
