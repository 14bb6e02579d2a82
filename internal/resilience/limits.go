// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"fmt"
	"math"
	"time"
)

const (
	// MaxTimeout is the longest task timeout of any job.
	MaxTimeout = 168 * time.Hour
	// MaxGPUTimeout is the longest documented task timeout with a GPU (preview).
	MaxGPUTimeout = 12 * time.Hour
	// MaxGPUTimeoutGA is the longest task timeout with a GPU without preview.
	MaxGPUTimeoutGA = time.Hour
	// LongTask is the timeout above which a job should have a checkpoint.
	LongTask = time.Hour
	// MaxRetries is the highest number of retries of a task.
	MaxRetries = 10
	// MaxTasks is the highest number of tasks of a job.
	MaxTasks = 10_000
	// MaintenanceInterval is the mean time between interruptions that plans
	// assume: the platform's maintenance is weekly.
	MaintenanceInterval = 168 * time.Hour
	// PlanProbability is how sure a plan wants to be that retries suffice.
	PlanProbability = 0.99
)

// CheckTimeout refuses a timeout above the platform's maximum and warns of one
// above the documented maximum for GPU tasks.
func CheckTimeout(gpuType string, timeout time.Duration) []Finding {
	switch {
	case timeout > MaxTimeout:
		return []Finding{{TimeoutMax, fmt.Sprintf(
			"task_timeout is %s; one attempt of a task may run for at most %s. Work that takes longer continues from its checkpoint in the next attempt (max_retries) or in another execution. Write a timeout of at most %[2]s.",
			FormatDuration(timeout), FormatDuration(MaxTimeout))}}
	case HasGPU(gpuType) && timeout > MaxGPUTimeout:
		return []Finding{{TimeoutGPU, fmt.Sprintf(
			"task_timeout is %s with gpu_type %q; the limit documented on %s is %s for tasks with a GPU. Cloud Run may refuse the job or stop the attempt earlier. Longer work continues from its checkpoint in the next attempt.",
			FormatDuration(timeout), gpuType, TableDate, FormatDuration(MaxGPUTimeout))}}
	}
	return nil
}

// CheckLongTask warns of a long task that saves no checkpoint.
func CheckLongTask(timeout time.Duration, checkpoint bool) []Finding {
	if checkpoint || timeout <= LongTask {
		return nil
	}
	return []Finding{{TimeoutWithoutCheckpoint, fmt.Sprintf(
		"task_timeout is %s and the job has no checkpoint: an interruption or a timeout loses all the work of the attempt, which is paid in full. Add checkpoint = { bucket = … } and let the program save to its mount path, or write a timeout of at most %s.",
		FormatDuration(timeout), FormatDuration(LongTask))}}
}

// CheckRetries refuses a number of retries outside the platform's range and
// warns of a checkpoint that no retry could use.
func CheckRetries(retries int64, checkpoint bool) []Finding {
	switch {
	case retries < 0 || retries > MaxRetries:
		return []Finding{{RetriesRange, fmt.Sprintf(
			"max_retries is %d; Cloud Run retries a task 0 to %d times. Write at most %[2]d; work that needs more attempts continues from its checkpoint in another execution.", retries, MaxRetries)}}
	case retries == 0 && checkpoint:
		return []Finding{{RetriesNone,
			"max_retries is 0: after an interruption nothing continues from the checkpoint until somebody runs the job again. Write 3 or more; each retry is one more attempt that may be paid in full."}}
	}
	return nil
}

// CheckTasks refuses a number of tasks above the platform's maximum.
func CheckTasks(tasks int64) []Finding {
	if tasks <= MaxTasks {
		return nil
	}
	return []Finding{{TasksRange, fmt.Sprintf(
		"task_count is %d; a job has at most %d tasks. Write a smaller number and let each task do more.", tasks, MaxTasks)}}
}

// CheckSharedCheckpoint warns of several tasks that share one checkpoint path,
// unless something says that the program keeps them apart.
func CheckSharedCheckpoint(tasks int64, checkpoint, apart bool) []Finding {
	if tasks <= 1 || !checkpoint || apart {
		return nil
	}
	return []Finding{{CheckpointShared, fmt.Sprintf(
		"All %d tasks see the same folder, and of two tasks that write to one name, one loses its checkpoint. A program that puts %s into the path of its checkpoints keeps them apart. "+
			"When yours does, say so with per_task = true in checkpoint; else make it do so, or write task_count = 1.", tasks, TaskIndexEnv)}}
}

// CheckCheckpointInterval refuses an interval that, with the time to write a
// checkpoint and the time to restore one, does not fit into one attempt: no
// progress would survive a timeout. Unknown write and restore times are zero.
func CheckCheckpointInterval(interval, write, restore, timeout time.Duration) []Finding {
	// Saturated: the sum of three durations may overflow one.
	sum := interval
	for _, d := range []time.Duration{write, restore} {
		sum += min(d, math.MaxInt64-sum)
	}
	if sum <= timeout {
		return nil
	}
	return []Finding{{CheckpointFits, fmt.Sprintf(
		"Restoring (%s), %s of work and writing a checkpoint (%s) take %s, and one attempt has %s (task_timeout): it would end before its first checkpoint and no progress would survive. Write a shorter interval or a longer task_timeout.",
		FormatDuration(restore), FormatDuration(interval), FormatDuration(write), FormatDuration(sum), FormatDuration(timeout))}}
}

// CheckRetryBudget warns when retries do not cover the work of in, and prints
// the numbers.
func CheckRetryBudget(retries int64, in RetryInput) []Finding {
	need, err := RequiredRetries(in)
	assumed := fmt.Sprintf("%s of work (work_time), an attempt of at most %s, one interruption in %s on average and a probability of %g",
		FormatDuration(in.Work), FormatDuration(in.Timeout), FormatDuration(in.MeanTimeBetweenInterruptions), in.Probability)
	if err != nil {
		return []Finding{{RetriesBudget, fmt.Sprintf("No value of max_retries is enough for %s: %s.", assumed, err)}}
	}
	if retries >= int64(need) {
		return nil
	}
	detail := fmt.Sprintf("max_retries is %d; %s need %d retries.", retries, assumed, need)
	if need > MaxRetries {
		detail += fmt.Sprintf(" Cloud Run allows %d: plan for a second execution that continues from the checkpoint, or write a longer task_timeout.", MaxRetries)
	} else {
		detail += fmt.Sprintf(" Write max_retries = %d, or a longer task_timeout.", need)
	}
	return []Finding{{RetriesBudget, detail}}
}
