// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// What a job has that states nothing else.
const (
	DefaultTasks   = 1
	DefaultRetries = 3
	// DefaultTimeout is that of one attempt.
	DefaultTimeout = time.Hour
)

// Exposure is the most that one execution can use. A timeout counts for each
// attempt, and each attempt is billed in full.
type Exposure struct {
	// Attempts is task_count × (max_retries + 1).
	Attempts int64
	// GPUHours is the time of all attempts, times the GPUs of one task.
	GPUHours float64
	// TaskHours is the time of all attempts.
	TaskHours float64
}

// Expose computes the exposure of an execution. timeout is that of one attempt.
// It fails for negative numbers, for no task, and where the product is too
// large to be a number of attempts.
func Expose(gpuType string, tasks, retries int64, timeout time.Duration) (Exposure, error) {
	switch {
	case tasks < 1:
		return Exposure{}, fmt.Errorf("the number of tasks is %d; an execution has at least one", tasks)
	case retries < 0:
		return Exposure{}, fmt.Errorf("the number of retries is %d; it cannot be negative", retries)
	case timeout <= 0:
		return Exposure{}, fmt.Errorf("the task timeout is %s; it must be positive", FormatDuration(timeout))
	case retries == math.MaxInt64 || tasks > math.MaxInt64/(retries+1):
		return Exposure{}, errors.New("tasks times attempts is too large a number")
	}
	e := Exposure{Attempts: tasks * (retries + 1)}
	e.TaskHours = float64(e.Attempts) * timeout.Seconds() / 3600
	if HasGPU(gpuType) {
		e.GPUHours = e.TaskHours
	}
	return e, nil
}

// FormatDuration writes a duration without the zero parts of
// [time.Duration.String]: "12h", "1h30m", "3.5s".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
