// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"bytes"
	"encoding/json"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// httpStatus is the HTTP status of each code, by the comments of
// google/rpc/code.proto.
var httpStatus = map[codes.Code]int{
	codes.OK:                 http.StatusOK,
	codes.Canceled:           499,
	codes.Unknown:            http.StatusInternalServerError,
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.DeadlineExceeded:   http.StatusGatewayTimeout,
	codes.NotFound:           http.StatusNotFound,
	codes.AlreadyExists:      http.StatusConflict,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.ResourceExhausted:  http.StatusTooManyRequests,
	codes.FailedPrecondition: http.StatusBadRequest,
	codes.Aborted:            http.StatusConflict,
	codes.OutOfRange:         http.StatusBadRequest,
	codes.Unimplemented:      http.StatusNotImplemented,
	codes.Internal:           http.StatusInternalServerError,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.DataLoss:           http.StatusInternalServerError,
	codes.Unauthenticated:    http.StatusUnauthorized,
}

// codeName is the canonical name of each code, which Google's envelope shows.
var codeName = map[codes.Code]string{
	codes.Canceled:           "CANCELLED",
	codes.Unknown:            "UNKNOWN",
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.DeadlineExceeded:   "DEADLINE_EXCEEDED",
	codes.NotFound:           "NOT_FOUND",
	codes.AlreadyExists:      "ALREADY_EXISTS",
	codes.PermissionDenied:   "PERMISSION_DENIED",
	codes.ResourceExhausted:  "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted:            "ABORTED",
	codes.OutOfRange:         "OUT_OF_RANGE",
	codes.Unimplemented:      "UNIMPLEMENTED",
	codes.Internal:           "INTERNAL",
	codes.Unavailable:        "UNAVAILABLE",
	codes.DataLoss:           "DATA_LOSS",
	codes.Unauthenticated:    "UNAUTHENTICATED",
}

// envelope is the body of every REST error of Google's newer APIs.
type envelope struct {
	Error struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Status  string            `json:"status"`
		Details []json.RawMessage `json:"details,omitempty"`
	} `json:"error"`
}

// writeError answers with the status as Google's REST front does.
func writeError(w http.ResponseWriter, st *status.Status) {
	var body envelope
	body.Error.Code = httpStatus[st.Code()]
	body.Error.Message = st.Message()
	body.Error.Status = codeName[st.Code()]
	for _, detail := range st.Proto().GetDetails() {
		raw, err := protojson.MarshalOptions{Resolver: protoregistry.GlobalTypes}.Marshal(detail)
		if err == nil { // else a detail that nobody could read
			body.Error.Details = append(body.Error.Details, raw)
		}
	}
	writeJSON(w, body.Error.Code, body)
}

// writeJSON answers with indented JSON and the headers that Google's front sends.
func writeJSON(w http.ResponseWriter, code int, v any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		b.Reset()
		code = http.StatusInternalServerError
	}
	setHeaders(w.Header())
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}

func setHeaders(h http.Header) {
	h.Set("Content-Type", "application/json; charset=UTF-8")
	h.Set("Server", "ESF")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("X-Xss-Protection", "0")
	h["Vary"] = []string{"Origin", "X-Origin", "Referer"}
}
