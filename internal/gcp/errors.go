// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// Error is the error of every call of this package.
type Error struct {
	// Op says what was attempted, as a sentence part: "create Cloud Run job".
	Op string
	// Resource is the full name of what it was attempted on.
	Resource string
	// Code is the canonical code of the answer; codes.Unknown when there was none.
	Code codes.Code
	// HTTP is the status of the answer, or the one that belongs to Code. 0 when there was no answer.
	HTTP int
	// Message is Google's own text.
	Message string
	// Reason is the machine-readable reason of the answer, "" when it has none: "RATE_LIMIT_EXCEEDED", "conditionNotMet", "notFound".
	Reason string
	// Ambiguous says that the call may have taken effect although it failed: its answer was lost, or is not one that proves a refusal.
	Ambiguous bool
	// Operation says that the API had accepted the call, and that its operation ended in this error.
	Operation bool
	// Err is the library's error.
	Err error

	unsent     bool          // it never reached a server
	permanent  bool          // it looks like an outage, but waiting does not help
	retryAfter time.Duration // the server's wish
}

// Error returns one line for users.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Resource != "" {
		b.WriteString(" " + e.Resource)
	}
	b.WriteString(": ")
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString("no text given")
	}
	if s := e.Status(); s != "" {
		b.WriteString(" (" + s + ")")
	}
	return b.String()
}

// Status returns the status as Google writes it: "HTTP 404, NOT_FOUND" of an answer, "ABORTED" of an operation that ended in an error, ""
// when there was no answer.
func (e *Error) Status() string {
	name := statusNames[e.Code]
	switch {
	case e.unsent || e.HTTP == 0:
		return ""
	case e.Operation:
		return name
	case name == "":
		return fmt.Sprintf("HTTP %d", e.HTTP)
	}
	return fmt.Sprintf("HTTP %d, %s", e.HTTP, name)
}

// Unwrap returns the library's error.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns the [*Error] in err's chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

func hasCode(err error, code codes.Code) bool {
	e, ok := AsError(err)
	return ok && e.Code == code
}

// IsNotFound reports whether the API answered that the resource does not exist.
func IsNotFound(err error) bool { return hasCode(err, codes.NotFound) }

// IsAlreadyExists reports whether a create was refused because the name is taken.
func IsAlreadyExists(err error) bool { return hasCode(err, codes.AlreadyExists) }

// IsPermissionDenied reports whether the caller may not do this, or may not see whether the resource exists.
func IsPermissionDenied(err error) bool { return hasCode(err, codes.PermissionDenied) }

// IsInvalid reports whether the API refused the request for its content.
func IsInvalid(err error) bool { return hasCode(err, codes.InvalidArgument) }

// IsUnavailable reports whether the API could not be reached or could not answer for now.
func IsUnavailable(err error) bool {
	e, ok := AsError(err)
	return ok && transient(e)
}

// IsRateLimited reports whether the API refused the call only because too many came at once: that passes, and was waited for. A quota that
// is used up does not pass, and is not one.
func IsRateLimited(err error) bool {
	e, ok := AsError(err)
	return ok && rateLimited(e)
}

// IsConflict reports whether somebody else changed the resource since it was read (ABORTED, or HTTP 412). Cloud Storage gives the same
// status and reason to changes that a policy forbids; those are no conflicts, and only their texts tell.
func IsConflict(err error) bool {
	e, ok := AsError(err)
	return ok && (e.Code == codes.Aborted || e.HTTP == http.StatusPreconditionFailed && !forbidden(e.Message))
}

// forbidden recognises the texts of what an organization policy, public access prevention or uniform access forbids.
func forbidden(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"constraint", "organization policy", "permitted customer", "public access prevention",
		"uniform bucket-level access"}, func(part string) bool { return strings.Contains(text, part) })
}

// IsAmbiguous reports whether the failed call may have taken effect.
func IsAmbiguous(err error) bool {
	e, ok := AsError(err)
	return ok && e.Ambiguous
}

// statusNames are the canonical names as Google's answers spell them.
var statusNames = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}
