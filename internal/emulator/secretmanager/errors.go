// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func hasCode(err error, code codes.Code) bool { return status.Code(err) == code }

// invalid is 400 INVALID_ARGUMENT, about one field when it names one.
func invalid(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	st := status.New(codes.InvalidArgument, text)
	if field == "" {
		return st.Err()
	}
	detailed, err := st.WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}},
	})
	if err != nil {
		return st.Err()
	}
	return detailed.Err()
}

func (n secretName) notFound() error {
	return status.Errorf(codes.NotFound, "Secret [%s] not found.", n)
}

func (n versionName) notFound() error {
	if n.id == latest {
		return status.Errorf(codes.NotFound, "Secret [%s] not found or has no versions.", n.secretName)
	}
	return status.Errorf(codes.NotFound, "Secret Version [%s] not found.", n)
}

func permissionDenied(permission string) error {
	return status.Errorf(codes.PermissionDenied, "Permission '%s' denied on resource (or it may not exist).", permission)
}

func staleEtag(name string) error {
	return status.Errorf(codes.FailedPrecondition, "The etag in the request does not match the etag of [%s].", name)
}

// internal is a fault of the emulator or its disk.
func internal(err error) error { return status.Error(codes.Internal, err.Error()) }
