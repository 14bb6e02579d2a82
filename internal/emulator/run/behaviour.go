// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

// Behaviour chooses between forms where public material leaves open what Cloud
// Run does. The zero value is the form with the best evidence. A client must
// work with every form.
type Behaviour struct {
	// ValidateOnlyForm is the answer to a call with validate_only.
	ValidateOnlyForm ValidateOnlyForm

	// StaleEtagOnUpdate, …OnDelete, …OnRun and …OnCancel say what a stale etag
	// meets. Deletes of jobs and of executions follow StaleEtagOnDelete.
	StaleEtagOnUpdate StaleEtag
	StaleEtagOnDelete StaleEtag
	StaleEtagOnRun    StaleEtag
	StaleEtagOnCancel StaleEtag

	// RunChangesEtag makes each new execution change the etag of its job, as if
	// the count of executions were part of what the etag guards.
	RunChangesEtag bool
	// MetadataRaisesGeneration makes a change of labels, annotations, client or
	// client_version alone raise the generation.
	MetadataRaisesGeneration bool

	// EqualUpdateKeepsReady leaves the Ready condition as it is, failed or not,
	// after an update that does not raise the generation, instead of setting the
	// job up again.
	EqualUpdateKeepsReady bool

	// GPULimits is what the server fills in for a GPU job without limits.
	GPULimits GPULimits
	// GPURegionsOpen accepts GPU types in regions where the documentation does
	// not list them. The list ages.
	GPURegionsOpen bool
	// LaunchStageAsSent reads launch_stage back as it was sent, instead of the
	// lowest stage that the used features need.
	LaunchStageAsSent bool
	// GPUTimeoutStage is about a timeout above one hour on a GPU task, which the
	// documentation calls a preview feature.
	GPUTimeoutStage StageRule
	// LongTimeoutStage is about a timeout above 24 hours without a GPU, which was
	// a preview feature until November 2025.
	LongTimeoutStage LongTimeoutStage
	// GPUTimeoutLimit is about a timeout above twelve hours on a GPU task.
	GPUTimeoutLimit GPUTimeoutLimit
	// JobNameLimit is the number of characters a job name may have, and the text
	// of the refusal.
	JobNameLimit JobNameLimit

	// RespellQuantities changes the spelling of cpu and memory.
	RespellQuantities RespellQuantities
	// CloudSQLLast moves Cloud SQL volumes and their mounts behind the others.
	CloudSQLLast bool
	// LatestCreatedExecutionEpoch shows 1970 in the times of
	// latest_created_execution before the first run, instead of an empty message.
	LatestCreatedExecutionEpoch bool
	// LatestCreatedExecutionFullName puts the full resource name there instead of
	// the short one.
	LatestCreatedExecutionFullName bool
	// SystemLabels shows the labels and annotations of the v1 view on v2
	// executions and tasks.
	SystemLabels bool

	// TokenOperationWithoutResponse ends the operation of a create or update that
	// carries an execution token with neither response nor error.
	TokenOperationWithoutResponse bool
	// SameTokenIgnored ignores an execution token that is the job's own already,
	// instead of starting an execution whose name is taken.
	SameTokenIgnored bool
	// RunUnreadyJob accepts a run of a job that is not Ready.
	RunUnreadyJob bool
	// ListOfMissingJob is the answer to a list of executions or tasks below a job
	// that does not exist.
	ListOfMissingJob ListOfMissingJob

	// RunningCompleted is the state of Completed while an execution runs.
	RunningCompleted RunningCompleted
	// MessageForm is the wording of Completed messages.
	MessageForm MessageForm
	// CancelOperation is how the operation of a cancel ends.
	CancelOperation CancelOperation
	// CancelledPendingHasCompletionTime gives a completion time to an execution
	// that was cancelled before it started.
	CancelledPendingHasCompletionTime bool
	// DeleteRunningRefused refuses the deletion of an execution that runs,
	// instead of cancelling it first.
	DeleteRunningRefused bool

	// SignalResult is the result of an attempt whose process a signal ended
	// without the platform's doing.
	SignalResult SignalResult
	// MemoryResult is the result of an attempt that reached its memory limit.
	MemoryResult MemoryResult
	// PreemptionResult is the result of an attempt that maintenance ended.
	PreemptionResult PreemptionResult
	// PreemptionLog is the log entry of a preemption.
	PreemptionLog PreemptionLog
	// StartFailure is the result of an attempt whose mount failed or whose
	// container could not be started.
	StartFailure StartFailure
	// ImagePullFailure is the form of an image that went missing before the run.
	ImagePullFailure ImagePullFailure

	// MaxParallelism is the most tasks of one execution that run at a time when
	// the job sets no parallelism; 0 means 100. The platform's own figure depends
	// on quota.
	MaxParallelism int32
}

// ValidateOnlyForm is a form of the answer to validate_only.
type ValidateOnlyForm int

const (
	// ValidateOnlyDone is done and holds the defaulted resource as metadata and
	// as response.
	ValidateOnlyDone ValidateOnlyForm = iota
	// ValidateOnlyMetadata is not done, holds metadata only, and cannot be polled.
	ValidateOnlyMetadata
	// ValidateOnlyPolled is not done, holds metadata, and a poll finds the
	// response.
	ValidateOnlyPolled
)

// StaleEtag is what a stale etag meets.
type StaleEtag int

const (
	// StaleEtagConflict is 409 ABORTED "Conflict for resource …".
	StaleEtagConflict StaleEtag = iota
	// StaleEtagPrecondition is 400 FAILED_PRECONDITION without details.
	StaleEtagPrecondition
	// StaleEtagIgnored carries the call out.
	StaleEtagIgnored
)

// GPULimits is what is filled in for a GPU job.
type GPULimits int

const (
	// GPULimitsMinimum fills the documented minimum of the type, and the key
	// nvidia.com/gpu.
	GPULimitsMinimum GPULimits = iota
	// GPULimitsMinimumWithoutGPU fills cpu and memory only.
	GPULimitsMinimumWithoutGPU
	// GPULimitsNone leaves what was sent.
	GPULimitsNone
)

// StageRule says whether a feature needs a preview launch stage.
type StageRule int

const (
	// StageBeta refuses the feature below BETA and reads BETA back.
	StageBeta StageRule = iota
	// StageGA takes the feature as generally available.
	StageGA
)

// LongTimeoutStage is StageRule with the other default.
type LongTimeoutStage int

const (
	// LongTimeoutGA takes the feature as generally available.
	LongTimeoutGA LongTimeoutStage = iota
	// LongTimeoutBeta refuses the feature below BETA and reads BETA back.
	LongTimeoutBeta
)

// GPUTimeoutLimit is what a timeout above twelve hours on a GPU task meets.
type GPUTimeoutLimit int

const (
	// GPUTimeoutAccepted keeps the timeout, as tutorials with 168 h suggest.
	GPUTimeoutAccepted GPUTimeoutLimit = iota
	// GPUTimeoutRefused is 400 INVALID_ARGUMENT.
	GPUTimeoutRefused
	// GPUTimeoutClamped stores twelve hours.
	GPUTimeoutClamped
)

// JobNameLimit is a limit of job names.
type JobNameLimit int

const (
	// JobNameLimit63 refuses more than 63 characters.
	JobNameLimit63 JobNameLimit = iota
	// JobNameLimit49 refuses more than 49, the rule of services, in other words.
	JobNameLimit49
)

// RespellQuantities is a spelling of cpu and memory.
type RespellQuantities int

const (
	// QuantitiesAsSent keeps the client's spelling.
	QuantitiesAsSent RespellQuantities = iota
	// QuantitiesMillicores writes cpu in thousandths: "8" becomes "8000m".
	QuantitiesMillicores
	// QuantitiesCanonical writes both in the shortest form: "8000m" becomes "8",
	// "1024Mi" becomes "1Gi".
	QuantitiesCanonical
)

// ListOfMissingJob is the answer to a list below a missing job.
type ListOfMissingJob int

const (
	// ListEmpty is an empty list.
	ListEmpty ListOfMissingJob = iota
	// ListNotFound is 404 NOT_FOUND.
	ListNotFound
)

// RunningCompleted is the state of Completed while an execution runs.
type RunningCompleted int

const (
	// RunningReconciling is CONDITION_RECONCILING.
	RunningReconciling RunningCompleted = iota
	// RunningPending is CONDITION_PENDING.
	RunningPending
)

// MessageForm is a wording of Completed messages.
type MessageForm int

const (
	// Messages2026 names the exit code, and says how long a success took.
	Messages2026 MessageForm = iota
	// Messages2024 names no exit code, and says nothing of a success.
	Messages2024
)

// CancelOperation is how the operation of a cancel ends.
type CancelOperation int

const (
	// CancelExecution ends it with the execution, or with the task's own failure
	// when that came first.
	CancelExecution CancelOperation = iota
	// CancelUnspecified ends it with code 2 although the cancel worked.
	CancelUnspecified
)

// SignalResult is the result of an attempt that a signal ended.
type SignalResult int

const (
	// SignalTerm sets term_signal.
	SignalTerm SignalResult = iota
	// SignalExitCode sets exit_code to 128 + the signal.
	SignalExitCode
)

// MemoryResult is the result of an attempt that reached its memory limit.
type MemoryResult int

const (
	// MemorySignal has status code 8 and term_signal 9.
	MemorySignal MemoryResult = iota
	// MemoryAborted has status code 10 and neither signal nor exit code.
	MemoryAborted
)

// PreemptionResult is the result of an attempt that maintenance ended. An
// attempt that exits with 0 has succeeded in every form.
type PreemptionResult int

const (
	// PreemptionAsExit shows how the process ended: its exit code, or the signal
	// that killed it after the grace.
	PreemptionAsExit PreemptionResult = iota
	// PreemptionAsSignal has term_signal 15, whatever the process did.
	PreemptionAsSignal
	// PreemptionAsInternal is a platform failure: status code 13.
	PreemptionAsInternal
)

// PreemptionLog is the log entry of a preemption.
type PreemptionLog int

const (
	// PreemptionText is a text entry in varlog/system.
	PreemptionText PreemptionLog = iota
	// PreemptionJSON is an entry in varlog/system with the fields message and
	// reason.
	PreemptionJSON
	// PreemptionAudit is an audit entry in system_event.
	PreemptionAudit
)

// StartFailure is the result of an attempt whose container could not start.
type StartFailure int

const (
	// StartFailureAborted has status code 10 and the cause as its message.
	StartFailureAborted StartFailure = iota
	// StartFailureInternal has status code 13 and "Internal error."; the cause is
	// in the log only.
	StartFailureInternal
	// StartFailurePrecondition has status code 9 and the cause as its message.
	StartFailurePrecondition
)

// ImagePullFailure is the form of an image that went missing before the run.
type ImagePullFailure int

const (
	// ImagePullExecution fails the execution before it has tasks.
	ImagePullExecution ImagePullFailure = iota
	// ImagePullTasks fails each task, with status code 5.
	ImagePullTasks
)
