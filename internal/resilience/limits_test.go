// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCheckTimeout(t *testing.T) {
	t.Parallel()
	h := time.Hour
	for _, c := range []struct {
		gpu     string
		timeout time.Duration
		want    []want
	}{
		{NvidiaL4, h, nil},
		// case 52: what Google raised once is not refused.
		{NvidiaL4, 2 * h, nil},
		{NvidiaL4, 12 * h, nil},
		{NvidiaL4, 12*h + 1, []want{{TimeoutGPU, "is 12h for tasks with a GPU"}}},
		{NvidiaL4, 168 * h, []want{{TimeoutGPU, `task_timeout is 168h with gpu_type "nvidia-l4"`}}},
		{NvidiaL4, 168*h + time.Second, []want{{TimeoutMax, "task_timeout is 168h0m1s; one attempt of a task may run for at most 168h"}}},
		{NoGPU, 168 * h, nil},
		{NoGPU, 169 * h, []want{{TimeoutMax, "at most 168h"}}},
		{"tpu", 13 * h, []want{{TimeoutGPU, "tpu"}}},
	} {
		compare(t, c.gpu+" "+c.timeout.String(), CheckTimeout(c.gpu, c.timeout), c.want...)
	}
}

func TestCheckCounts(t *testing.T) {
	t.Parallel()
	compare(t, "retries -1", CheckRetries(-1, false), want{RetriesRange, "max_retries is -1"})
	compare(t, "retries 0", CheckRetries(0, false))
	compare(t, "retries 0 with a checkpoint", CheckRetries(0, true), want{RetriesNone, "Write 3 or more"})
	compare(t, "retries 10", CheckRetries(10, true))
	compare(t, "retries 11", CheckRetries(11, true), want{RetriesRange, "0 to 10 times"})
	compare(t, "tasks 10000", CheckTasks(10_000))
	compare(t, "tasks 10001", CheckTasks(10_001), want{TasksRange, "at most 10000 tasks"})
	// case 113: several tasks on one path.
	compare(t, "one task", CheckSharedCheckpoint(1, true, false))
	compare(t, "two tasks without checkpoint", CheckSharedCheckpoint(2, false, false))
	compare(t, "two tasks apart", CheckSharedCheckpoint(2, true, true))
	compare(t, "two tasks on one path", CheckSharedCheckpoint(2, true, false), want{CheckpointShared, "All 2 tasks see the same folder"})
	compare(t, "four tasks on one path", CheckSharedCheckpoint(4, true, false), want{CheckpointShared, "All 4 tasks see the same folder"})
	compare(t, "one hour without checkpoint", CheckLongTask(time.Hour, false))
	compare(t, "two hours with checkpoint", CheckLongTask(2*time.Hour, true))
	compare(t, "two hours without checkpoint", CheckLongTask(2*time.Hour, false), want{TimeoutWithoutCheckpoint, "task_timeout is 2h and the job has no checkpoint"})
}

func TestCheckCheckpointInterval(t *testing.T) {
	t.Parallel()
	m := time.Minute
	compare(t, "fits exactly", CheckCheckpointInterval(57*m, m, 2*m, time.Hour))
	compare(t, "one second too long", CheckCheckpointInterval(57*m+time.Second, m, 2*m, time.Hour), want{CheckpointFits, "take 1h0m1s, and one attempt has 1h (task_timeout)"})
	compare(t, "interval alone", CheckCheckpointInterval(2*time.Hour, 0, 0, time.Hour), want{CheckpointFits, "2h of work"})
	compare(t, "a sum that overflows", CheckCheckpointInterval(math.MaxInt64, math.MaxInt64, math.MaxInt64, time.Hour), want{CheckpointFits, "no progress would survive"})
}

func TestCheckRetryBudget(t *testing.T) {
	t.Parallel()
	in := RetryInput{Work: 24 * time.Hour, Interval: 2 * time.Hour, Write: time.Minute, Restore: 2 * time.Minute, Timeout: 12 * time.Hour,
		MeanTimeBetweenInterruptions: MaintenanceInterval, Probability: PlanProbability}
	compare(t, "enough", CheckRetryBudget(4, in))
	compare(t, "too few", CheckRetryBudget(3, in), want{RetriesBudget,
		"max_retries is 3; 24h of work (work_time), an attempt of at most 12h, one interruption in 168h on average and a probability of 0.99 need 4 retries. Write max_retries = 4,"})
	in.Work = 100 * time.Hour
	compare(t, "more than Cloud Run has", CheckRetryBudget(10, in), want{RetriesBudget, "need 13 retries. Cloud Run allows 10: plan for a second execution"})
	in.Timeout = in.Interval + in.Write + in.Restore
	compare(t, "no number", CheckRetryBudget(10, in), want{RetriesBudget, "No value of max_retries is enough for 100h of work"})
}

func TestExpose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gpu            string
		tasks, retries int64
		timeout        time.Duration
		want           Exposure
	}{
		// case 46: the default of twelve hours and three retries is 48 paid hours.
		{NvidiaL4, 1, 3, 12 * time.Hour, Exposure{4, 48, 48}},
		{NvidiaL4, 8, 0, 90 * time.Minute, Exposure{8, 12, 12}},
		{NoGPU, 3, 2, 20 * time.Minute, Exposure{9, 0, 3}},
		{NvidiaL4, 1, 10, 12 * time.Hour, Exposure{11, 132, 132}},
		{NvidiaL4, 10_000, 10, 168 * time.Hour, Exposure{110_000, 18_480_000, 18_480_000}},
	} {
		if got, err := Expose(c.gpu, c.tasks, c.retries, c.timeout); err != nil || got != c.want {
			t.Errorf("%s %d×%d %s: %+v, %v; want %+v", c.gpu, c.tasks, c.retries, c.timeout, got, err, c.want)
		}
	}
	for _, c := range []struct {
		tasks, retries int64
		timeout        time.Duration
	}{{0, 0, time.Hour}, {1, -1, time.Hour}, {1, 0, 0}, {math.MaxInt64, 1, time.Hour}, {1, math.MaxInt64, time.Hour}} {
		if got, err := Expose(NvidiaL4, c.tasks, c.retries, c.timeout); err == nil {
			t.Errorf("%+v: %+v, want an error", c, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		12 * time.Hour: "12h", 90 * time.Minute: "1h30m", time.Minute: "1m", 3500 * time.Millisecond: "3.5s", 0: "0s",
		time.Hour + time.Second: "1h0m1s", 10 * time.Second: "10s", 20 * time.Minute: "20m", 100 * time.Hour: "100h",
	} {
		if got := FormatDuration(in); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		if back, err := time.ParseDuration(FormatDuration(d)); err != nil || back != d {
			t.Fatalf("%d: %q, %v", d, FormatDuration(d), err)
		}
	})
}
