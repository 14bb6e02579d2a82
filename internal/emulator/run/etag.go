// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"encoding/base64"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// etagOf returns the etag of a resource that last changed at t: "A/B" with the
// quotes inside, A the change time as an encoded timestamp, B the encoded name.
func etagOf(name string, t time.Time) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(timestamppb.New(t))
	if err != nil { // a timestamp always marshals
		return ""
	}
	return `"` + base64.RawURLEncoding.EncodeToString(b) + "/" + base64.RawURLEncoding.EncodeToString([]byte(name)) + `"`
}

// etagTime returns the change time that an etag holds.
func etagTime(etag string) (time.Time, bool) {
	first, _, found := strings.Cut(strings.Trim(etag, `"`), "/")
	b, err := base64.RawURLEncoding.DecodeString(first)
	if !found || err != nil {
		return time.Time{}, false
	}
	ts := &timestamppb.Timestamp{}
	if err := proto.Unmarshal(b, ts); err != nil || ts.CheckValid() != nil {
		return time.Time{}, false
	}
	return ts.AsTime(), true
}

// checkEtag compares an etag that a client gave with the current one. An empty
// one is no check.
func checkEtag(form StaleEtag, given, current, short string) error {
	if given == "" || given == current || form == StaleEtagIgnored {
		return nil
	}
	if form == StaleEtagPrecondition {
		return preconditionFailed()
	}
	was, ok := etagTime(given)
	if !ok {
		return invalid("etag", "Invalid etag.")
	}
	now, _ := etagTime(current)
	return failure(codes.Aborted, "Conflict for resource '%s': version '%d' was specified but current version is '%d'.",
		short, was.UnixMicro(), now.UnixMicro())
}
