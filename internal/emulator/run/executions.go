// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// GetExecution implements runpb.ExecutionsServer.
func (s *Service) GetExecution(_ context.Context, req *runpb.GetExecutionRequest) (*runpb.Execution, error) {
	n, err := parseExecution("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.existingExecution(n)
}

func (s *Service) existingExecution(n executionName) (*runpb.Execution, error) {
	e, err := s.execution(n)
	if err == nil && e == nil {
		err = n.notFound()
	}
	return e, err
}

// checkListed answers a list below a job that does not exist.
func (s *Service) checkListed(n jobName) error {
	if n.job == "-" || s.o.Behaviour.ListOfMissingJob == ListEmpty {
		return nil
	}
	_, err := s.existingJob(n)
	return err
}

// ListExecutions implements runpb.ExecutionsServer. "-" stands for every job.
func (s *Service) ListExecutions(_ context.Context, req *runpb.ListExecutionsRequest) (*runpb.ListExecutionsResponse, error) {
	n, err := parseJob("parent", req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkListed(n); err != nil {
		return nil, err
	}
	all, err := readAll(s, executionKey, func(key string) bool {
		e, err := parseExecution("name", key)
		return err == nil && e.location == n.location && within(n.job, e.job)
	}, newExecution)
	if err != nil {
		return nil, err
	}
	page, next, err := newestFirst(all, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &runpb.ListExecutionsResponse{Executions: page, NextPageToken: next}, nil
}

// CancelExecution implements runpb.ExecutionsServer. Its operation ends with the
// execution.
func (s *Service) CancelExecution(ctx context.Context, req *runpb.CancelExecutionRequest) (*longrunningpb.Operation, error) {
	n, err := parseExecution("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.existingExecution(n)
	if err != nil {
		return nil, err
	}
	if err := checkEtag(s.o.Behaviour.StaleEtagOnCancel, req.GetEtag(), e.GetEtag(), n.execution); err != nil {
		return nil, err
	}
	x := s.running[n.String()]
	if x == nil || finished(e) {
		return nil, failure(codes.FailedPrecondition, "Execution '%s' cannot be cancelled because it is not running.", n.execution)
	}
	if req.GetValidateOnly() {
		return s.validated(ctx, n.location, e)
	}
	op, answer, err := s.open(ctx, n.location, e)
	if err != nil {
		return nil, err
	}
	x.atEnd = append(x.atEnd, func(e *runpb.Execution, end *status.Status) {
		if s.o.Behaviour.CancelOperation == CancelUnspecified {
			end = status.New(codes.Unknown, "Unspecified error.")
		}
		s.finish(op, e, end)
	})
	s.stop(x, stopCancelled)
	return answer, nil
}

// DeleteExecution implements runpb.ExecutionsServer. An execution that runs is
// cancelled first.
func (s *Service) DeleteExecution(ctx context.Context, req *runpb.DeleteExecutionRequest) (*longrunningpb.Operation, error) {
	n, err := parseExecution("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.existingExecution(n)
	if err != nil {
		return nil, err
	}
	if err := checkEtag(s.o.Behaviour.StaleEtagOnDelete, req.GetEtag(), e.GetEtag(), n.execution); err != nil {
		return nil, err
	}
	x := s.running[n.String()]
	if x != nil && s.o.Behaviour.DeleteRunningRefused {
		return nil, preconditionFailed()
	}
	if req.GetValidateOnly() {
		return s.validated(ctx, n.location, e)
	}
	t := s.stamp()
	e.UpdateTime, e.DeleteTime, e.ExpireTime = timestamp(t), timestamp(t), timestamp(t.Add(keptDeleted))
	e.Etag = etagOf(e.GetName(), t)
	op, answer, err := s.open(ctx, n.location, e)
	if err != nil {
		return nil, err
	}
	if err := s.putExecution(e); err != nil {
		return nil, err
	}
	gone := func() {
		s.o.Operations.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) {
			s.mu.Lock()
			defer s.mu.Unlock()
			last, err := s.execution(n)
			if err != nil || last == nil {
				last = e
			}
			s.removeExecution(n)
			s.remove(openKey + op.Name())
			return last, last, nil
		})
	}
	if x == nil {
		gone()
		return answer, nil
	}
	x.atEnd = append(x.atEnd, func(*runpb.Execution, *status.Status) { gone() })
	s.stop(x, stopDeleted)
	return answer, nil
}
