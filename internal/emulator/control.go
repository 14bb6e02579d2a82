// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxControl bounds the body of a control call, in bytes. A seed holds objects.
const maxControl = 64 << 20

// control is a call of the control API: what no Google API has.
type control struct {
	method, path string
	does         string
	body         string // an example; empty for none
	query        string // the parameters, for people
	f            func(e *Emulator, w *world, r *http.Request) (any, error)
	whole        bool // about the emulator, not what is in it: needs no world
}

// controls are in the order of their documentation.
func controls() []control {
	return []control{
		{"GET", "", "lists these calls", "", "", nil, true},
		{"POST", "preempt", "preempts a running task: SIGTERM, ten seconds, SIGKILL, and the next attempt", `{"job": "train", "task": 0}`, "", (*Emulator).controlPreempt, false},
		{"GET", "executions", "lists the executions that have not ended", "", "job", (*Emulator).controlExecutions, false},
		{"POST", "faults", "lets calls to come go wrong", `{"method": "*/RunJob", "after": 0, "times": 1, "code": "UNAVAILABLE"}`, "", (*Emulator).controlFault, false},
		{"DELETE", "faults", "lets no call go wrong any more", "", "", (*Emulator).controlForgetFaults, false},
		{"POST", "hide", "hides a service account from one view for some looks, as a fresh one is", `{"email": "trainer@my-project.iam.gserviceaccount.com", "view": "policy", "times": 2}`, "", (*Emulator).controlHide, false},
		{"POST", "timing", "says how long operations and the phases of executions take", `{"operations": "2s", "import": "1s", "provision": "1s", "start": "1s"}`, "", (*Emulator).controlTiming, false},
		{"GET", "clock", "shows the time of the emulator's clock", "", "", (*Emulator).controlClock, false},
		{"POST", "fast-forward", "puts the clock ahead, and lets what falls due happen", `{"by": "6h"}`, "", (*Emulator).controlFastForward, false},
		{"POST", "seed", "makes what a document says", `{"projects": {"my-project": {"buckets": [{"bucket": {"name": "my-checkpoints"}}]}}}`, "", (*Emulator).controlSeed, false},
		{"POST", "reset", "ends the tasks and forgets everything", "{}", "", (*Emulator).controlReset, true},
		{"GET", "calls", "lists the calls that the APIs got, the oldest first", "", "method, resource, code, since, after", (*Emulator).controlCalls, false},
		{"DELETE", "calls", "forgets the calls that are listed", "", "", (*Emulator).controlForgetCalls, false},
	}
}

// serveControl serves the control API. Every call needs the control token, as
// "Authorization: Bearer TOKEN".
func (e *Emulator) serveControl(rw http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(e.options.ControlToken)) != 1 {
		writeError(rw, status.New(codes.Unauthenticated, "The control API needs the control token that the emulator printed at its start, as the header Authorization: Bearer TOKEN."))
		return
	}
	answer, err := e.control(r)
	if err != nil {
		writeError(rw, status.Convert(err))
		return
	}
	writeJSON(rw, http.StatusOK, answer)
}

func (e *Emulator) control(r *http.Request) (any, error) {
	path := strings.TrimPrefix(r.URL.Path, controlPrefix)
	all := controls()
	at := slices.IndexFunc(all, func(c control) bool { return c.path == path && c.method == r.Method })
	if at < 0 {
		return nil, noControl(all, r.Method, path)
	}
	c := all[at]
	if err := c.checkQuery(r); err != nil {
		return nil, err
	}
	switch {
	case c.f == nil:
		return listControls(all), nil
	case c.whole:
		return c.f(e, nil, r)
	}
	w := e.world()
	if !w.enter() {
		return nil, errResetting().Err()
	}
	defer w.leave()
	return c.f(e, w, r)
}

// noControl says what there is instead.
func noControl(all []control, method, path string) error {
	var methods, paths []string
	for _, c := range all {
		if c.path == path {
			methods = append(methods, c.method)
		}
		if c.path != "" && !slices.Contains(paths, c.path) {
			paths = append(paths, c.path)
		}
	}
	if methods != nil {
		return status.Errorf(codes.NotFound, "The control API has no call %s %s%s: send %s.", method, controlPrefix, path, strings.Join(methods, " or "))
	}
	return status.Errorf(codes.NotFound, "The control API has no call %q. It has: %s. GET %s says more about them.", path, strings.Join(paths, ", "), controlPrefix)
}

// checkQuery refuses parameters that the call does not have: a filter that is
// spelled wrong would let everything through.
func (c control) checkQuery(r *http.Request) error {
	for name := range r.URL.Query() {
		switch {
		case slices.Contains(strings.Split(c.query, ", "), name):
		case c.query == "":
			return status.Errorf(codes.InvalidArgument, "This call has no parameter %q: it has none.", name)
		default:
			return status.Errorf(codes.InvalidArgument, "This call has no parameter %q: write %s.", name, or(strings.Split(c.query, ", ")))
		}
	}
	return nil
}

// listed is a call as the list shows it.
type listed struct {
	Call string          `json:"call"`
	Does string          `json:"does"`
	Body json.RawMessage `json:"body,omitempty"`
	// Query holds the names of the parameters.
	Query []string `json:"parameters,omitempty"`
}

func listControls(all []control) any {
	calls := make([]listed, 0, len(all))
	for _, c := range all {
		one := listed{Call: c.method + " " + controlPrefix + c.path, Does: c.does, Body: json.RawMessage(c.body)}
		if c.query != "" {
			one.Query = strings.Split(c.query, ", ")
		}
		calls = append(calls, one)
	}
	return map[string]any{"calls": calls}
}

// read decodes the body strictly; an empty one leaves v as it is.
func read(r *http.Request, v any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxControl))
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "The body cannot be read, or it is longer than %d MiB: %v", maxControl>>20, err)
	}
	return decode(raw, v)
}

// decode reads one JSON value into v, which may be of a type that says by itself
// what is wrong.
func decode(raw []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := decoder.Token(); errors.Is(more, io.EOF) {
			return nil
		}
		return status.Error(codes.InvalidArgument, "The body is more than one JSON value: send one object.")
	}
	var ofType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	text := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &ofType):
		text = cmp.Or(ofType.Field, "the body") + " cannot be a JSON " + ofType.Value + "."
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		text = "it is no JSON: " + err.Error() + "."
	case strings.HasPrefix(text, "unknown field"):
		text += ": the fields are " + and(fieldsOf(v)) + "."
	}
	return status.Errorf(codes.InvalidArgument, "The body is not as this call wants it: %s", text)
}

// or and and write a list for people.
func or(words []string) string  { return joined(words, "or") }
func and(words []string) string { return joined(words, "and") }

func joined(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
