// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// failure is a status error without details.
func failure(code codes.Code, format string, args ...any) error {
	return status.Error(code, fmt.Sprintf(format, args...))
}

// invalid is 400 INVALID_ARGUMENT about one field of the request.
func invalid(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	message := text
	if field != "" {
		message = field + ": " + text
	}
	st := status.New(codes.InvalidArgument, message)
	detailed, err := st.WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}},
	})
	if err != nil {
		return st.Err()
	}
	return detailed.Err()
}

// notFound is the recorded 404 of a job; executions and tasks follow its form.
func notFound(l location, kind, short string) error {
	return failure(codes.NotFound, "Resource '%s' of kind '%s' in region '%s' in project '%s' does not exist.",
		short, kind, l.location, l.project)
}

func (n jobName) notFound() error       { return notFound(n.location, "JOB", n.job) }
func (n executionName) notFound() error { return notFound(n.location, "EXECUTION", n.execution) }
func (n taskName) notFound() error      { return notFound(n.location, "TASK", n.task) }

// preconditionFailed is the bare form of 400 FAILED_PRECONDITION.
func preconditionFailed() error {
	return failure(codes.FailedPrecondition, "Precondition check failed.")
}

// storeFailed hides the cause from the client; the log has it.
func (s *Service) storeFailed(err error) error {
	s.o.Logger.Error("the store failed", "error", err)
	return failure(codes.Internal, "Internal error.")
}
