// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"

	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// outageBudget is how long a wait outlasts polls that fail with nothing but transient errors, one after the other.
const outageBudget = 5 * time.Minute

// JobOperation is a create, an update or a delete of a job that the API has accepted.
type JobOperation struct {
	client   *Client
	op       string
	resource string
	deleting bool
	private  []private // what was sent and stands in no error

	name   string
	job    *runpb.Job
	done   bool
	result *runpb.Job
	failed error
}

// jobOperation is what the library's three kinds of operation have in common.
type jobOperation interface {
	Name() string
	Done() bool
	Metadata() (*runpb.Job, error)
	Poll(ctx context.Context, opts ...gax.CallOption) (*runpb.Job, error)
}

// first takes over the operation's first answer.
func (o *JobOperation) first(op jobOperation) {
	o.name, o.done = op.Name(), op.Done()
	o.job, _ = op.Metadata() // an answer without metadata is no failure
	if o.done {
		o.result, o.failed = op.Poll(context.Background()) // done: no call is made
		if _, isStatus := status.FromError(o.failed); !isStatus {
			o.failed = nil // neither an error nor a response
		}
	}
}

// Name returns the operation's full name.
func (o *JobOperation) Name() string { return o.name }

// Job returns the job as the API's first answer shows it, nil when the answer shows none. While the operation runs it is reconciling.
func (o *JobOperation) Job() *runpb.Job { return o.job }

// Wait polls until the operation ends, at once and then at growing intervals, and returns the job as it is then; for a delete, as it was.
//
// An operation that ended in an error gives an [*Error] with the operation's code and text. After a create or an update the job exists
// nevertheless, with its Ready condition failed. An operation that is done with neither an error nor a response has succeeded. Polls that
// fail for want of a reachable API are tolerated for five minutes; where the caller may not read operations, or the operation has been
// forgotten, the job itself is watched. When ctx ends first the error is ambiguous: the operation goes on.
func (o *JobOperation) Wait(ctx context.Context) (*runpb.Job, error) {
	pauses := Backoff{Initial: 250 * time.Millisecond, Max: 10 * time.Second, Clock: o.client.clock}.Start()
	lastAnswer := o.client.clock.Now()
	for !o.done {
		op, err := o.poll(ctx)
		switch {
		case err == nil:
			lastAnswer = o.client.clock.Now()
			o.take(op)
		case ctx.Err() != nil:
			return nil, o.interrupted(ctx)
		case IsUnavailable(err) && o.client.clock.Since(lastAnswer) < outageBudget:
		case IsNotFound(err) || IsPermissionDenied(err) || hasCode(err, codes.Unimplemented):
			return o.watchJob(ctx, pauses)
		default:
			if e, ok := AsError(err); ok {
				e.Ambiguous = true
			}
			return nil, err
		}
		if !o.done && !pauses.Wait(ctx, 0) {
			return nil, o.interrupted(ctx)
		}
	}
	if o.failed != nil {
		e := operationError(o.op, o.resource, o.failed)
		e.clean(o.private)
		return nil, e
	}
	if o.result != nil {
		return o.result, nil
	}
	return o.watchJob(ctx, pauses)
}

func (o *JobOperation) poll(ctx context.Context) (*longrunningpb.Operation, error) {
	k := o.client.runCall("wait for the operation to "+o.op, o.resource, read)
	var op *longrunningpb.Operation
	err := o.client.runDo(ctx, k, func(ctx context.Context, api *runClients, opt gax.CallOption) (err error) {
		op, err = api.jobs.GetOperation(ctx, &longrunningpb.GetOperationRequest{Name: o.name}, opt)
		return err
	})
	return op, err
}

// take reads one answer of a poll.
func (o *JobOperation) take(op *longrunningpb.Operation) {
	o.done = op.GetDone()
	switch r := op.GetResult().(type) {
	case *longrunningpb.Operation_Error:
		o.failed = status.ErrorProto(r.Error)
	case *longrunningpb.Operation_Response:
		job := &runpb.Job{}
		if r.Response.UnmarshalTo(job) == nil {
			o.result = job
		}
	}
}

// watchJob finds the operation's outcome by reading the job, until it is reconciled or, after a delete, gone.
func (o *JobOperation) watchJob(ctx context.Context, pauses *Pauses) (*runpb.Job, error) {
	var opts []Option
	if !o.deleting {
		opts = append(opts, Fresh()) // it was accepted: one read that does not see it yet is not believed
	}
	for {
		job, err := o.client.GetJob(ctx, o.resource, opts...)
		switch {
		case o.deleting && (IsNotFound(err) || err == nil && job.GetDeleteTime() != nil && !job.GetReconciling()):
			return o.job, nil
		case ctx.Err() != nil:
			return nil, o.interrupted(ctx)
		case err != nil:
			return nil, err
		case o.deleting && job.GetDeleteTime() == nil && !job.GetReconciling():
			return nil, &Error{Op: o.op, Resource: o.resource, Code: codes.Unknown, Ambiguous: true,
				Message: "the operation gave no outcome, and the job is still there"}
		case !o.deleting && !job.GetReconciling():
			if t := job.GetTerminalCondition(); t.GetState() == runpb.Condition_CONDITION_FAILED {
				e := &Error{Op: o.op, Resource: o.resource, Code: codes.FailedPrecondition, HTTP: httpStatus(codes.FailedPrecondition),
					Message: t.GetMessage(), Reason: conditionReason(t), Operation: true}
				e.clean(o.private)
				return nil, e
			}
			return job, nil
		}
		if !pauses.Wait(ctx, 0) {
			return nil, o.interrupted(ctx)
		}
	}
}

// conditionReason returns the name of a condition's reason, "" when it has none.
func conditionReason(c *runpb.Condition) string {
	switch r := c.GetReasons().(type) {
	case *runpb.Condition_Reason:
		return r.Reason.String()
	case *runpb.Condition_RevisionReason_:
		return r.RevisionReason.String()
	case *runpb.Condition_ExecutionReason_:
		return r.ExecutionReason.String()
	}
	return ""
}

func (o *JobOperation) interrupted(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = context.DeadlineExceeded // the next poll would have come after the deadline
	}
	return &Error{Op: o.op, Resource: o.resource, Code: contextCode(err), Err: err, Ambiguous: true,
		Message: "stopped waiting, because " + contextText(err) + "; the operation goes on"}
}

// operationError makes an *Error of the error in which an operation ended. Its status is the operation's, not that of an HTTP answer.
func operationError(op, resource string, err error) *Error {
	e := &Error{Op: op, Resource: resource, Code: codes.Unknown, Message: err.Error(), Err: err}
	st, ok := status.FromError(err)
	if ok {
		e.fromStatus(st)
	}
	e.Operation = true
	return e
}
