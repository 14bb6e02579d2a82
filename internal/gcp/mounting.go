// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
)

// ExecutionsMounting returns the executions of a location ("projects/P/locations/L") that have not ended and mount a bucket. It lists the
// jobs, and the executions of those alone that mount the bucket now or whose newest execution has not ended: a job may have been changed
// since its executions began.
func (c *Client) ExecutionsMounting(ctx context.Context, parent, bucket string) ([]*runpb.Execution, error) {
	var found []*runpb.Execution
	for job, err := range c.Jobs(ctx, parent) {
		if err != nil {
			return nil, err
		}
		newest := job.GetLatestCreatedExecution()
		open := newest.GetName() != "" && !newest.GetCompletionTime().IsValid()
		if !open && !mounts(job.GetTemplate().GetTemplate(), bucket) {
			continue
		}
		for e, err := range c.Executions(ctx, job.GetName()) {
			if IsNotFound(err) {
				break // deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			if !ExecutionEnded(e) && mounts(e.GetTemplate(), bucket) {
				found = append(found, e)
			}
		}
	}
	return found, nil
}

// ExecutionEnded tells whether an execution has ended. One that was cancelled before it started may have no completion time; its Completed
// condition tells.
func ExecutionEnded(e *runpb.Execution) bool {
	if e.GetCompletionTime().IsValid() || e.GetDeleteTime().IsValid() {
		return true
	}
	return slices.ContainsFunc(e.GetConditions(), func(c *runpb.Condition) bool {
		ended := c.GetState() == runpb.Condition_CONDITION_SUCCEEDED || c.GetState() == runpb.Condition_CONDITION_FAILED
		return c.GetType() == "Completed" && ended
	})
}

// mounts tells whether tasks of a template mount a bucket, whose name may stand alone or after "projects/P/buckets/".
func mounts(t *runpb.TaskTemplate, bucket string) bool {
	return slices.ContainsFunc(t.GetVolumes(), func(v *runpb.Volume) bool {
		name := v.GetGcs().GetBucket()
		return name[strings.LastIndex(name, "/")+1:] == bucket
	})
}
