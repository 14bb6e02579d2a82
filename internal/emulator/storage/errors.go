// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// apiError is an answer of Cloud Storage that is no success. It is written in
// the older envelope, with errors[] and without status.
type apiError struct {
	code    int
	reason  string
	message string

	locationType, location string

	// plain answers with the bare message, as resumable sessions do.
	plain bool
}

func (e *apiError) Error() string { return strconv.Itoa(e.code) + " " + e.message }

func failure(code int, reason, format string, args ...any) *apiError {
	return &apiError{code: code, reason: reason, message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *apiError {
	return failure(http.StatusBadRequest, "invalid", format, args...)
}

func conflict(text string) *apiError {
	return failure(http.StatusConflict, "conflict", "%s", text)
}

func notFound(format string, args ...any) *apiError {
	return failure(http.StatusNotFound, "notFound", format, args...)
}

func forbidden(format string, args ...any) *apiError {
	return failure(http.StatusForbidden, "forbidden", format, args...)
}

func required(parameter string) *apiError {
	e := failure(http.StatusBadRequest, "required", "Required parameter: %s", parameter)
	e.locationType, e.location = "parameter", parameter
	return e
}

// unmet is a precondition that does not hold, also one that no header named.
func unmet(format string, args ...any) *apiError {
	e := failure(http.StatusPreconditionFailed, "conditionNotMet", format, args...)
	e.locationType, e.location = "header", "If-Match"
	return e
}

func preconditionFailed() *apiError {
	return unmet("At least one of the pre-conditions you specified did not hold.")
}

func noBucket() *apiError { return notFound("The specified bucket does not exist.") }

func noObject(bucket, object string) *apiError {
	return notFound("No such object: %s/%s", bucket, object)
}

func unimplemented(what string) *apiError {
	return failure(http.StatusNotImplemented, "notImplemented", "The emulator does not implement %s.", what)
}

// internal is a fault of the emulator or its disk, never of the caller.
func internal(err error) *apiError {
	return failure(http.StatusInternalServerError, "backendError", "The emulator could not serve the call: %v", err)
}

// asAPIError turns whatever a handler returns into an answer.
func asAPIError(err error) *apiError {
	var e *apiError
	if errors.As(err, &e) {
		return e
	}
	if st, ok := status.FromError(err); ok {
		return fromStatus(st)
	}
	return internal(err)
}

// fromStatus is the answer for a scripted refusal.
func fromStatus(st *status.Status) *apiError {
	code, reason := http.StatusInternalServerError, "backendError"
	switch st.Code() {
	case codes.InvalidArgument, codes.OutOfRange:
		code, reason = http.StatusBadRequest, "invalid"
	case codes.Unauthenticated:
		code, reason = http.StatusUnauthorized, "authError"
	case codes.PermissionDenied:
		code, reason = http.StatusForbidden, "forbidden"
	case codes.NotFound:
		code, reason = http.StatusNotFound, "notFound"
	case codes.AlreadyExists, codes.Aborted:
		code, reason = http.StatusConflict, "conflict"
	case codes.FailedPrecondition:
		code, reason = http.StatusPreconditionFailed, "conditionNotMet"
	case codes.ResourceExhausted:
		code, reason = http.StatusTooManyRequests, "rateLimitExceeded"
	case codes.Canceled:
		code, reason = 499, "cancelled"
	case codes.Unimplemented:
		code, reason = http.StatusNotImplemented, "notImplemented"
	case codes.Unavailable:
		code = http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		code = http.StatusGatewayTimeout
	}
	e := failure(code, reason, "%s", st.Message())
	if code == http.StatusPreconditionFailed {
		e.locationType, e.location = "header", "If-Match"
	}
	return e
}

// CodeOf is the canonical code of an HTTP status, as the record of calls keeps it
// for an answer.
func CodeOf(httpStatus int) codes.Code {
	switch {
	case httpStatus < 400:
		return codes.OK
	case httpStatus == http.StatusBadRequest:
		return codes.InvalidArgument
	case httpStatus == http.StatusUnauthorized:
		return codes.Unauthenticated
	case httpStatus == http.StatusForbidden:
		return codes.PermissionDenied
	case httpStatus == http.StatusNotFound, httpStatus == http.StatusGone:
		return codes.NotFound
	case httpStatus == http.StatusConflict:
		return codes.AlreadyExists
	case httpStatus == http.StatusPreconditionFailed:
		return codes.FailedPrecondition
	case httpStatus == http.StatusRequestedRangeNotSatisfiable:
		return codes.OutOfRange
	case httpStatus == http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case httpStatus == 499:
		return codes.Canceled
	case httpStatus == http.StatusNotImplemented:
		return codes.Unimplemented
	case httpStatus == http.StatusServiceUnavailable:
		return codes.Unavailable
	case httpStatus == http.StatusGatewayTimeout:
		return codes.DeadlineExceeded
	}
	return codes.Internal
}

func (e *apiError) write(w http.ResponseWriter, r *http.Request) {
	if e.code == http.StatusNotModified || r.Method == http.MethodHead {
		w.WriteHeader(e.code)
		return
	}
	if e.plain {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(e.message)))
		w.WriteHeader(e.code)
		_, _ = w.Write([]byte(e.message))
		return
	}
	type item struct {
		Message      string `json:"message"`
		Domain       string `json:"domain"`
		Reason       string `json:"reason"`
		LocationType string `json:"locationType,omitempty"`
		Location     string `json:"location,omitempty"`
	}
	var body struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Errors  []item `json:"errors"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = e.code, e.message
	body.Error.Errors = []item{{e.message, "global", e.reason, e.locationType, e.location}}
	writeJSON(w, e.code, body)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil { // only maps of decoded JSON and plain structs get here
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(code)
	_, _ = w.Write(raw)
}
