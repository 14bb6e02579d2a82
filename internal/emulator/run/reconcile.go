// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"regexp"
	"strings"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
)

var tokenForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// executionToken is the token that makes a create or update start an execution.
func executionToken(job *runpb.Job) string {
	switch t := job.GetCreateExecution().(type) {
	case *runpb.Job_StartExecutionToken:
		return t.StartExecutionToken
	case *runpb.Job_RunExecutionToken:
		return t.RunExecutionToken
	default:
		return ""
	}
}

func tokenField(job *runpb.Job) string {
	if _, ok := job.GetCreateExecution().(*runpb.Job_RunExecutionToken); ok {
		return "run_execution_token"
	}
	return "start_execution_token"
}

// apply writes a created or updated job, answers the operation, and lets the job
// become ready: at once, or with a token when its execution has started or ended.
func (s *Service) apply(ctx context.Context, n jobName, job *runpb.Job, token, method string) (*longrunningpb.Operation, error) {
	var first executionName
	if token != "" {
		first = n.execution(n.job + "-" + token)
		if e, err := s.execution(first); err != nil {
			return nil, err
		} else if e != nil {
			return nil, failure(codes.AlreadyExists, "Resource '%s' already exists.", first.execution)
		}
	}
	op, answer, err := s.open(ctx, n.location, job)
	if err != nil {
		return nil, err
	}
	if err := s.putJob(job); err != nil {
		return nil, err
	}
	s.applying[n] = op.Name()
	s.adminActivity(n, method)
	fault := s.reconcileFault(op, n, job)
	if token == "" || fault != nil {
		s.finishApply(op, n, job, method, fault)
		return answer, nil
	}
	x, err := s.newRun(n, job, first, nil)
	if err != nil {
		return nil, err
	}
	ready := func(end *status.Status) { s.finishApply(op, n, job, method, end) }
	if _, untilEnd := job.GetCreateExecution().(*runpb.Job_RunExecutionToken); untilEnd {
		x.atEnd = append(x.atEnd, func(_ *runpb.Execution, end *status.Status) { ready(end) })
	} else {
		x.atStart = ready
	}
	s.begin(x)
	return answer, nil
}

// reconcileFault is the error with which the job fails to become ready.
func (s *Service) reconcileFault(op *operations.Operation, n jobName, job *runpb.Job) *status.Status {
	if f := op.Fault(); f != nil && f.Status != nil {
		return f.Status
	}
	for _, c := range job.GetTemplate().GetTemplate().GetContainers() {
		if s.missing[c.GetImage()] {
			return imageNotFound(c.GetImage())
		}
	}
	return s.secretFault(n.project, job.GetTemplate().GetTemplate())
}

func imageNotFound(image string) *status.Status {
	return status.Newf(codes.NotFound, "Image '%s' not found.", image)
}

// finishApply ends the operation of a create or update. A later write to the same
// job takes over: then the operation only reports what is there.
func (s *Service) finishApply(op *operations.Operation, n jobName, applied *runpb.Job, method string, fault *status.Status) {
	uid, token := applied.GetUid(), executionToken(applied) != ""
	s.o.Operations.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(openKey + op.Name())
		job, err := s.job(n)
		if err != nil || job == nil || job.GetUid() != uid {
			return nil, nil, status.Convert(n.notFound())
		}
		if s.applying[n] == op.Name() {
			delete(s.applying, n)
			trouble := fault
			if f := op.Fault(); trouble == nil && f != nil {
				trouble = f.Unready
			}
			s.settle(job, trouble)
			if err := s.putJob(job); err != nil {
				return nil, nil, status.Convert(err)
			}
			s.jobEvent(n, method, trouble)
		}
		if token && fault == nil && s.o.Behaviour.TokenOperationWithoutResponse {
			return job, nil, nil
		}
		return job, job, fault
	})
}

// keep ends the update of a job whose specification it does not change, without
// setting it up again: a job that could not be set up stays as it is.
func (s *Service) keep(ctx context.Context, n jobName, job *runpb.Job) (*longrunningpb.Operation, error) {
	op, answer, err := s.open(ctx, n.location, job)
	if err != nil {
		return nil, err
	}
	if err := s.putJob(job); err != nil {
		return nil, err
	}
	s.adminActivity(n, "UpdateJob")
	s.o.Operations.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(openKey + op.Name())
		return job, job, nil
	})
	return answer, nil
}

// settle ends the reconciliation of a job.
func (s *Service) settle(job *runpb.Job, fault *status.Status) {
	job.Reconciling = false
	job.TerminalCondition = &runpb.Condition{
		Type: "Ready", State: runpb.Condition_CONDITION_SUCCEEDED, LastTransitionTime: timestamp(s.now()),
	}
	if fault == nil {
		job.ObservedGeneration = job.GetGeneration()
		return
	}
	job.TerminalCondition.State = runpb.Condition_CONDITION_FAILED
	job.TerminalCondition.Message = fault.Message()
	if reason := faultReason(fault); reason != runpb.Condition_COMMON_REASON_UNDEFINED {
		job.TerminalCondition.Reasons = &runpb.Condition_Reason{Reason: reason}
	}
}

// faultReason is the condition reason that fits an operation error.
func faultReason(st *status.Status) runpb.Condition_CommonReason {
	text := strings.ToLower(st.Message())
	switch {
	case strings.Contains(text, "secret"):
		return runpb.Condition_SECRETS_ACCESS_CHECK_FAILED
	case st.Code() == codes.NotFound && strings.Contains(text, "image"):
		return runpb.Condition_CONTAINER_MISSING
	case st.Code() == codes.Internal && strings.Contains(text, "image"):
		return runpb.Condition_CONTAINER_PERMISSION_DENIED
	default:
		return runpb.Condition_COMMON_REASON_UNDEFINED
	}
}

// finishDelete ends the operation of a delete: the job, its executions, their
// tasks and its policy are gone.
func (s *Service) finishDelete(op *operations.Operation, n jobName, uid string) {
	s.o.Operations.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(openKey + op.Name())
		job, err := s.job(n)
		if err != nil || job == nil || job.GetUid() != uid {
			return nil, nil, status.Convert(n.notFound())
		}
		delete(s.applying, n)
		if op.Fault() != nil && op.Fault().Status != nil {
			job.DeleteTime, job.ExpireTime = nil, nil
			s.settle(job, op.Fault().Status)
			if err := s.putJob(job); err != nil {
				return nil, nil, status.Convert(err)
			}
			return job, nil, op.Fault().Status
		}
		t := s.stamp()
		s.settle(job, nil)
		job.UpdateTime = timestamp(t)
		job.Etag = etagOf(job.GetName(), t)
		if err := s.put(deletedKey+job.GetName()+"/"+uid, job); err != nil {
			return nil, nil, status.Convert(err)
		}
		s.forgetExecutions(n)
		s.remove(policyKey + n.String())
		s.remove(jobKey + n.String())
		return job, job, nil
	})
}

// forgetExecutions removes every execution of a job. Those whose tasks are still
// ending write no more.
func (s *Service) forgetExecutions(n jobName) {
	for _, x := range s.running {
		if x.name.jobName == n {
			s.forget(x)
		}
	}
	for _, key := range s.o.Store.Keys(executionKey + n.String() + "/executions/") {
		if e, err := parseExecution("name", strings.TrimPrefix(key, executionKey)); err == nil {
			s.removeExecution(e)
		}
	}
}

// open starts an operation about a resource, and notes it for the next start in
// case that this emulator does not finish it.
func (s *Service) open(ctx context.Context, parent location, about interface {
	proto.Message
	GetName() string
}) (*operations.Operation, *longrunningpb.Operation, error) {
	op, answer, err := s.o.Operations.Start(ctx, parent.String(), about)
	if err == nil {
		err = s.o.Store.Put(openKey+op.Name(), []byte(about.GetName()))
	}
	if err != nil {
		return nil, nil, s.storeFailed(err)
	}
	return op, answer, nil
}

// validated answers a call with validate_only.
func (s *Service) validated(ctx context.Context, parent location, m proto.Message) (*longrunningpb.Operation, error) {
	if s.o.Behaviour.ValidateOnlyForm == ValidateOnlyPolled {
		op, answer, err := s.o.Operations.Start(ctx, parent.String(), m)
		if err != nil {
			return nil, s.storeFailed(err)
		}
		s.o.Operations.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) { return m, m, nil })
		return answer, nil
	}
	packed, err := anypb.New(m)
	if err != nil {
		return nil, s.storeFailed(err)
	}
	answer := &longrunningpb.Operation{Name: parent.String() + "/operations/" + uuid.NewString(), Metadata: packed}
	if s.o.Behaviour.ValidateOnlyForm == ValidateOnlyDone {
		answer.Done = true
		answer.Result = &longrunningpb.Operation_Response{Response: packed}
	}
	return answer, nil
}
