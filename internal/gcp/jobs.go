// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"strings"

	"cloud.google.com/go/longrunning"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
)

// runCall describes a call of the Cloud Run API.
func (c *Client) runCall(op, resource string, k kind, opts ...Option) *call {
	return (&call{op: op, resource: resource, project: projectOf(resource), to: &c.runAt, kind: k}).apply(opts)
}

// runDo sends a call of the Cloud Run API.
func (c *Client) runDo(ctx context.Context, k *call, send func(context.Context, *runClients, gax.CallOption) error) error {
	api, err := c.runAPI()
	if err != nil {
		return &Error{Op: k.op, Resource: k.resource, Code: codes.Unavailable, Err: err, unsent: true}
	}
	return c.do(ctx, k, func(ctx context.Context, a *attempt) error { return send(ctx, api, a.grpc()) })
}

// projectOf returns the project of a full resource name, "" when it has none.
func projectOf(name string) string {
	if parts := strings.Split(name, "/"); len(parts) > 1 && parts[0] == "projects" && parts[1] != "_" && parts[1] != "-" {
		return parts[1]
	}
	return ""
}

// GetJob reads a job by its full name.
func (c *Client) GetJob(ctx context.Context, name string, opts ...Option) (*runpb.Job, error) {
	k := c.runCall("read Cloud Run job", name, read, opts...)
	alone := func() (job *runpb.Job, err error) {
		err = c.runDo(ctx, k, func(ctx context.Context, api *runClients, o gax.CallOption) (err error) {
			job, err = api.jobs.GetJob(ctx, &runpb.GetJobRequest{Name: name}, o)
			return err
		})
		return job, err
	}
	where, id, ok := strings.Cut(name, "/jobs/")
	if !k.gathers() || !ok {
		return alone()
	}
	return c.jobReads.read(ctx, where, id, k.absent(), alone)
}

// CreateJob creates the job id below parent (projects/P/locations/L). It is sent once: when [IsAmbiguous] is true of the error the job may
// exist, and the caller must look.
func (c *Client) CreateJob(ctx context.Context, parent, id string, job *runpb.Job, opts ...Option) (*JobOperation, error) {
	name := parent + "/jobs/" + id
	k := c.runCall("create Cloud Run job", name, once, opts...)
	k.recreated = c.deleted.recent(name)
	k.private = privateIn(job)
	o := &JobOperation{client: c, op: k.op, resource: name, private: k.private}
	err := c.runDo(ctx, k, func(ctx context.Context, api *runClients, opt gax.CallOption) error {
		ctx, cancel := c.answered(ctx)
		defer cancel()
		op, err := api.jobs.CreateJob(ctx, &runpb.CreateJobRequest{Parent: parent, JobId: id, Job: job}, opt)
		if err == nil {
			o.first(op)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// UpdateJob replaces the job that is named in it; the API fills defaults for whatever is unset. With an etag in it a conflicting change of
// somebody else is an error of which [IsConflict] is true; without one the call is sent once.
func (c *Client) UpdateJob(ctx context.Context, job *runpb.Job, opts ...Option) (*JobOperation, error) {
	how := repeatable
	if job.GetEtag() == "" || job.GetStartExecutionToken() != "" || job.GetRunExecutionToken() != "" {
		how = once
	}
	k := c.runCall("update Cloud Run job", job.GetName(), how, opts...)
	k.private = privateIn(job)
	o := &JobOperation{client: c, op: k.op, resource: job.GetName(), private: k.private}
	err := c.runDo(ctx, k, func(ctx context.Context, api *runClients, opt gax.CallOption) error {
		op, err := api.jobs.UpdateJob(ctx, &runpb.UpdateJobRequest{Job: job}, opt)
		if err == nil {
			o.first(op)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// DeleteJob deletes a job; its running executions end with it. An empty etag deletes whatever is there.
func (c *Client) DeleteJob(ctx context.Context, name, etag string) (*JobOperation, error) {
	k := c.runCall("delete Cloud Run job", name, repeatable)
	o := &JobOperation{client: c, op: k.op, resource: name, deleting: true}
	err := c.runDo(ctx, k, func(ctx context.Context, api *runClients, opt gax.CallOption) error {
		op, err := api.jobs.DeleteJob(ctx, &runpb.DeleteJobRequest{Name: name, Etag: etag}, opt)
		if err == nil {
			o.first(op)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.deleted.add(name)
	return o, nil
}

// RunJob starts an execution and returns it as the API's first answer shows it. It is sent once, and again only when the answer proves
// that nothing was accepted. When [IsAmbiguous] is true of the error an execution may be running, and the caller must look for it.
func (c *Client) RunJob(ctx context.Context, req *runpb.RunJobRequest) (*runpb.Execution, error) {
	k := c.runCall("run Cloud Run job", req.GetName(), once)
	k.private = privateInRun(req)
	var execution *runpb.Execution
	var failed error
	err := c.runDo(ctx, k, func(ctx context.Context, api *runClients, opt gax.CallOption) error {
		ctx, cancel := c.answered(ctx)
		defer cancel()
		op, err := api.jobs.RunJob(ctx, req, opt)
		if err != nil {
			return err
		}
		execution, err = op.Metadata()
		if err != nil && !errors.Is(err, longrunning.ErrNoMetadata) {
			failed = err
		}
		if execution.GetName() == "" && op.Done() {
			execution, failed = op.Poll(ctx, opt) // done already: no call is made
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if execution.GetName() == "" {
		if failed != nil {
			e := operationError(k.op, k.resource, failed)
			e.clean(k.private)
			e.Ambiguous = true
			return nil, e
		}
		return nil, &Error{Op: k.op, Resource: k.resource, Code: codes.Unknown, Ambiguous: true,
			Message: "the call was accepted, but its answer does not name the execution"}
	}
	return execution, nil
}
