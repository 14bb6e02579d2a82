// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// RunKeyEnv is the environment variable in which each run that the provider
// starts carries its key. It is an override of the execution, so that the job
// itself never has it.
const RunKeyEnv = "RESILIENTJOB_RUN_KEY"

// TaskIndexEnv is the environment variable in which Cloud Run tells a task its
// index.
const TaskIndexEnv = "CLOUD_RUN_TASK_INDEX"

const (
	// MaxEnv is how many variables a container may have.
	MaxEnv = 1000
	// MaxEnvSize is how many bytes a name or a value may have.
	MaxEnvSize = 32_768
)

// platformEnv are the variables that the container runtime contract of jobs
// sets, and PORT, which older copies of the contract forbid too.
var platformEnv = []string{
	"CLOUD_RUN_JOB", "CLOUD_RUN_EXECUTION", TaskIndexEnv, "CLOUD_RUN_TASK_ATTEMPT", "CLOUD_RUN_TASK_COUNT", "PORT",
}

// envShape is a C identifier: the API accepts no other names.
var envShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckEnvName refuses a name that an environment variable of a job or of an
// execution cannot have: reserved or malformed. The error is for users and
// begins with the quoted name.
func CheckEnvName(name string) error {
	for _, reserved := range platformEnv {
		if name == reserved {
			return fmt.Errorf("%q is set by Cloud Run itself and cannot be set here: use another name", name)
		}
	}
	switch {
	case name == "":
		return errors.New(`"" cannot be the name of an environment variable: it is empty; write a name such as "LEARNING_RATE"`)
	case name == RunKeyEnv:
		return fmt.Errorf("%q is reserved: the provider marks its executions with it. Use another name", name)
	case strings.HasPrefix(name, "X_GOOGLE_"):
		return fmt.Errorf("%.80q begins with X_GOOGLE_, which Google reserves: use another name", name)
	case !envShape.MatchString(name):
		return fmt.Errorf("%.80q cannot be the name of an environment variable: use letters, digits and \"_\", and no digit first", name)
	}
	return nil
}

// ServiceEnvName reports whether a name belongs to the contract of Cloud Run's
// services (K_SERVICE and its like): a job may set it, but a program that looks
// at it may take itself for a service.
func ServiceEnvName(name string) bool { return strings.HasPrefix(name, "K_") }
