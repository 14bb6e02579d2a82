// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// recordedCall is a call in JSON: in the list of the control API, and in the
// lines of a record.
type recordedCall struct {
	Seq       int             `json:"seq"`
	Time      time.Time       `json:"time"`
	Method    string          `json:"method"`
	Resource  string          `json:"resource"`
	Code      string          `json:"code"`
	UserAgent string          `json:"userAgent,omitempty"`
	Request   json.RawMessage `json:"request,omitempty"`
	Query     string          `json:"query,omitempty"`
}

// confidentialParameters of a query admit to something.
var confidentialParameters = []string{"access_token", "oauth_token", "key", "upload_id"}

// inJSON is a call as it is shown. Payloads of secrets were taken out when it
// came.
func inJSON(c faults.Call) recordedCall {
	query := url.Values{}
	for name, values := range c.Query {
		if !slices.Contains(confidentialParameters, name) {
			query[name] = values
		}
	}
	one := recordedCall{
		Seq: c.Seq, Time: c.Time.UTC(), Method: c.Method, Resource: c.Resource,
		Code: codeText(c.Code), UserAgent: c.UserAgent, Query: query.Encode(),
	}
	if c.Request != nil {
		one.Request, _ = protojson.Marshal(c.Request) // left out when it has no JSON form
	} else if json.Valid(c.Body) {
		one.Request = c.Body
	}
	return one
}

// codeText is the name of a code as every Google API writes it.
func codeText(c codes.Code) string {
	if name, ok := codeName[c]; ok {
		return name
	}
	return c.String()
}

// recorder writes each call that has ended as a line of JSON.
type recorder struct {
	out    io.Writer
	logger *slog.Logger
}

func (r recorder) call(c faults.Call) {
	line, err := json.Marshal(inJSON(c))
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if err != nil {
		r.logger.Error("a call is missing in the record", "method", c.Method, "error", err)
	}
}

// controlCalls lists the recorded calls. They may be narrowed: by ?method=, exact
// or with *, ?resource=, a part of it, ?code=, ?since=, a time of the emulator's
// clock, and ?after=, a number of a call.
func (e *Emulator) controlCalls(w *world, r *http.Request) (any, error) {
	q := r.URL.Query()
	if method := q.Get("method"); !w.serves(method) {
		return nil, status.Errorf(codes.InvalidArgument, "No method is called %q. Write a name as this list shows it without a filter, or a pattern such as \"*/RunJob\" or \"storage.buckets.*\".", method)
	}
	var since time.Time
	var after int
	var err error
	if text := q.Get("since"); text != "" {
		if since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "since=%s is no time: write one such as %s, by the emulator's clock.", text, w.clock.Now().UTC().Format(time.RFC3339))
		}
	}
	if text := q.Get("after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "after=%s is no number: write the \"seq\" of a call.", text)
		}
	}
	calls := []recordedCall{}
	for _, c := range w.faults.Find(q.Get("method")) {
		if c.Seq <= after || c.Time.Before(since) || !strings.Contains(c.Resource, q.Get("resource")) {
			continue
		}
		if want := q.Get("code"); want != "" && !strings.EqualFold(want, codeText(c.Code)) {
			continue
		}
		calls = append(calls, inJSON(c))
	}
	return map[string]any{"calls": calls}, nil
}
