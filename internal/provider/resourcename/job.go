// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"fmt"
	"strings"
)

// Defaults fill in what a short form leaves out: the provider's project and
// region. Either may be empty.
type Defaults struct{ Project, Location string }

// Job is the name of a Cloud Run job.
type Job struct{ Project, Location, Name string }

// String returns the full name, projects/P/locations/L/jobs/N.
func (j Job) String() string { return j.Parent() + "/jobs/" + j.Name }

// Parent returns projects/P/locations/L.
func (j Job) Parent() string { return "projects/" + j.Project + "/locations/" + j.Location }

const jobForms = "write projects/PROJECT/locations/LOCATION/jobs/NAME, PROJECT/LOCATION/NAME, LOCATION/NAME or NAME"

// ParseJob reads the full name of a job, PROJECT/LOCATION/NAME, LOCATION/NAME
// or NAME, and takes what is left out from d. The error is for users.
func ParseJob(s string, d Defaults) (Job, error) {
	p := strings.Split(s, "/")
	j := Job{Project: d.Project, Location: d.Location}
	switch {
	case len(p) == 6 && p[0] == "projects" && p[2] == "locations" && p[4] == "jobs":
		j = Job{p[1], p[3], p[5]}
	case len(p) == 3 && p[0] != "projects":
		j = Job{p[0], p[1], p[2]}
	case len(p) == 2:
		j.Location, j.Name = p[0], p[1]
	case len(p) == 1:
		j.Name = p[0]
	default:
		return Job{}, fmt.Errorf("%q is not the name of a Cloud Run job: %s", Shorten(s), jobForms)
	}
	if err := j.check(s, "the name of a Cloud Run job", jobForms); err != nil {
		return Job{}, err
	}
	j.Location = strings.ToLower(j.Location)
	return j, nil
}

// check says what is missing from a name that was written as s, or cannot be a
// part of one.
func (j Job) check(s, kind, forms string) error {
	var err error
	switch {
	case j.Project == "":
		return fmt.Errorf("%q names no project, and the provider has none: set project in the provider block or the environment variable GOOGLE_PROJECT, or %s", Shorten(s), fullForm(forms))
	case j.Location == "":
		return fmt.Errorf("%q names no location, and the provider has no region: set region in the provider block or the environment variable GOOGLE_REGION, or %s", Shorten(s), fullForm(forms))
	case !projectShape.MatchString(j.Project):
		err = fmt.Errorf("%q cannot be a project", Shorten(j.Project))
	case !segmentShape.MatchString(j.Name):
		err = fmt.Errorf("%q cannot be a job's name, which has lower-case letters, digits and \"-\"", Shorten(j.Name))
	default:
		err = CheckLocation(j.Location)
	}
	if err != nil {
		return fmt.Errorf("%q is not %s: %w; %s", Shorten(s), kind, err, forms)
	}
	return nil
}

// fullForm is the first of the forms, which leaves nothing to the provider.
func fullForm(forms string) string {
	full, _, _ := strings.Cut(forms, ",")
	return full
}

// Execution is the name of one execution of a job.
type Execution struct {
	Job  Job
	Name string
}

// String returns the full name, projects/P/locations/L/jobs/J/executions/E.
func (e Execution) String() string { return e.Job.String() + "/executions/" + e.Name }

const executionForms = "write projects/PROJECT/locations/LOCATION/jobs/JOB/executions/NAME, PROJECT/LOCATION/JOB/NAME, LOCATION/JOB/NAME or JOB/NAME"

// ParseExecution reads the full name of an execution, PROJECT/LOCATION/JOB/NAME,
// LOCATION/JOB/NAME or JOB/NAME, and takes what is left out from d. The error
// is for users.
func ParseExecution(s string, d Defaults) (Execution, error) {
	p := strings.Split(s, "/")
	e := Execution{Job: Job{Project: d.Project, Location: d.Location}}
	switch {
	case len(p) == 8 && p[0] == "projects" && p[2] == "locations" && p[4] == "jobs" && p[6] == "executions":
		e = Execution{Job{p[1], p[3], p[5]}, p[7]}
	case len(p) == 4 && p[0] != "projects":
		e = Execution{Job{p[0], p[1], p[2]}, p[3]}
	case len(p) == 3 && p[0] != "projects":
		e.Job.Location, e.Job.Name, e.Name = p[0], p[1], p[2]
	case len(p) == 2:
		e.Job.Name, e.Name = p[0], p[1]
	default:
		return Execution{}, fmt.Errorf("%q is not the name of an execution: %s", Shorten(s), executionForms)
	}
	if err := e.Job.check(s, "the name of an execution", executionForms); err != nil {
		return Execution{}, err
	}
	if !segmentShape.MatchString(e.Name) {
		return Execution{}, fmt.Errorf("%q is not the name of an execution: %q cannot be one; %s", Shorten(s), Shorten(e.Name), executionForms)
	}
	e.Job.Location = strings.ToLower(e.Job.Location)
	return e, nil
}
