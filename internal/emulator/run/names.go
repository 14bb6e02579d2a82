// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
)

// location is projects/P/locations/L.
type location struct{ project, location string }

func (l location) String() string {
	return "projects/" + l.project + "/locations/" + l.location
}

// jobName is the full name of a job.
type jobName struct {
	location
	job string
}

func (n jobName) String() string { return n.location.String() + "/jobs/" + n.job }

func (n jobName) execution(id string) executionName { return executionName{n, id} }

// executionName is the full name of an execution.
type executionName struct {
	jobName
	execution string
}

func (n executionName) String() string { return n.jobName.String() + "/executions/" + n.execution }

func (n executionName) task(index int) taskName {
	return taskName{n, n.execution + "-task" + strconv.Itoa(index)}
}

// taskName is the full name of a task.
type taskName struct {
	executionName
	task string
}

func (n taskName) String() string { return n.executionName.String() + "/tasks/" + n.task }

// parseName splits a resource name by its collections: parseName(name,
// "projects", "locations") returns the two ids. "-" is an id.
func parseName(field, name string, collections ...string) ([]string, error) {
	parts := strings.Split(name, "/")
	ok := len(parts) == 2*len(collections)
	ids := make([]string, 0, len(collections))
	for i, c := range collections {
		ok = ok && parts[2*i] == c && parts[2*i+1] != ""
		if ok {
			ids = append(ids, parts[2*i+1])
		}
	}
	if !ok {
		form := strings.Join(collections, "/*/") + "/*"
		return nil, invalid(field, "Invalid resource name %q, must be of the form %s.", name, form)
	}
	return ids, nil
}

func parseLocation(field, name string) (location, error) {
	p, err := parseName(field, name, "projects", "locations")
	if err != nil {
		return location{}, err
	}
	return location{p[0], p[1]}, nil
}

func parseJob(field, name string) (jobName, error) {
	p, err := parseName(field, name, "projects", "locations", "jobs")
	if err != nil {
		return jobName{}, err
	}
	return jobName{location{p[0], p[1]}, p[2]}, nil
}

func parseExecution(field, name string) (executionName, error) {
	p, err := parseName(field, name, "projects", "locations", "jobs", "executions")
	if err != nil {
		return executionName{}, err
	}
	return executionName{jobName{location{p[0], p[1]}, p[2]}, p[3]}, nil
}

func parseTask(field, name string) (taskName, error) {
	p, err := parseName(field, name, "projects", "locations", "jobs", "executions", "tasks")
	if err != nil {
		return taskName{}, err
	}
	return taskName{executionName{jobName{location{p[0], p[1]}, p[2]}, p[3]}, p[4]}, nil
}

// shortName is the last segment of a resource name.
func shortName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

var jobID = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// checkJobID applies the naming rule of jobs. The texts are this emulator's own.
func (s *Service) checkJobID(id string) error {
	limit, text := 63, "Job name must use only lowercase alphanumeric characters and dashes, must begin with a letter, cannot end with a dash, and cannot be longer than 63 characters."
	if s.o.Behaviour.JobNameLimit == JobNameLimit49 {
		limit, text = 49, "Invalid resource name: only lowercase letters, digits and hyphens, starting with a letter, fewer than 50 characters."
	}
	if len(id) > limit || !jobID.MatchString(id) {
		return invalid("job_id", "%s", text)
	}
	return nil
}

// suffixAlphabet is what the suffixes of execution names are made of.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"

func randomSuffix() string {
	b := make([]byte, 5)
	for i := range b {
		b[i] = suffixAlphabet[rand.IntN(len(suffixAlphabet))]
	}
	return string(b)
}

// newExecutionName finds a free name for an execution of the job.
func (s *Service) newExecutionName(job jobName) (executionName, error) {
	for range 100 {
		n := job.execution(job.job + "-" + randomSuffix())
		if e, err := s.execution(n); err != nil {
			return executionName{}, err
		} else if e == nil {
			return n, nil
		}
	}
	return executionName{}, failure(codes.Internal, "Internal error.")
}
