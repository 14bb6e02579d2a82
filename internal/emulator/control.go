// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// maxControl bounds the body of a control call, in bytes.
const maxControl = 1 << 20

// controlHandler serves what no Google API has: preempting a task, making calls
// go wrong, asking what was called. Every call needs the control token, as
// "Authorization: Bearer TOKEN".
func (e *Emulator) controlHandler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(r *http.Request) (any, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+controlPrefix+path, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r)
			if err != nil {
				writeError(w, status.Convert(err))
				return
			}
			writeJSON(w, http.StatusOK, answer)
		})
	}
	handle("POST preempt", e.controlPreempt)
	handle("GET executions", e.controlExecutions)
	handle("GET calls", e.controlCalls)
	handle("POST faults", e.controlFault)
	handle("DELETE faults", func(*http.Request) (any, error) {
		e.faults.Reset()
		return struct{}{}, nil
	})
	handle("DELETE calls", func(*http.Request) (any, error) {
		e.faults.Forget()
		return struct{}{}, nil
	})
	handle("POST hide", e.controlHide)
	handle("POST timing", e.controlTiming)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, status.Newf(codes.NotFound, "The control API has no such method: %s %s", r.Method, r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(e.token)) != 1 {
			writeError(w, status.New(codes.Unauthenticated, "The control API needs the control token that the emulator printed at its start, as the header Authorization: Bearer TOKEN."))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// read decodes the body strictly; an empty one leaves v as it is.
func read(r *http.Request, v any) error {
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxControl))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return status.Errorf(codes.InvalidArgument, "The body is not as this method wants it: %v", err)
	}
	return nil
}

// controlPreempt preempts the running attempt of a task, of an execution or of
// the one execution of a job that runs.
func (e *Emulator) controlPreempt(r *http.Request) (any, error) {
	var body struct {
		Execution string `json:"execution"`
		Job       string `json:"job"`
		Task      int    `json:"task"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	if (body.Execution == "") == (body.Job == "") {
		return nil, status.Error(codes.InvalidArgument, "Name either an execution or a job, by its full or its short name.")
	}
	if body.Job != "" {
		switch running := e.run.Running(body.Job); len(running) {
		case 0:
			return nil, status.Errorf(codes.FailedPrecondition, "No execution of job %s is running.", body.Job)
		case 1:
			body.Execution = running[0]
		default:
			return nil, status.Errorf(codes.FailedPrecondition, "Job %s has several running executions, name one of them: %s.", body.Job, strings.Join(running, ", "))
		}
	}
	if err := e.run.Preempt(body.Execution, body.Task); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return map[string]any{"execution": body.Execution, "task": body.Task}, nil
}

// controlExecutions lists the executions that have not ended, of one job with
// ?job=.
func (e *Emulator) controlExecutions(r *http.Request) (any, error) {
	return map[string]any{"running": append([]string{}, e.run.Running(r.URL.Query().Get("job"))...)}, nil
}

// controlCall is a recorded call in JSON.
type controlCall struct {
	Seq       int             `json:"seq"`
	Time      time.Time       `json:"time"`
	Method    string          `json:"method"`
	Resource  string          `json:"resource"`
	Code      string          `json:"code"`
	UserAgent string          `json:"userAgent,omitempty"`
	Request   json.RawMessage `json:"request,omitempty"`
	Query     string          `json:"query,omitempty"`
}

// controlCalls lists the recorded calls, of one method or pattern with ?method=.
func (e *Emulator) controlCalls(r *http.Request) (any, error) {
	calls := []controlCall{}
	for _, c := range e.faults.Find(r.URL.Query().Get("method")) {
		one := controlCall{
			Seq: c.Seq, Time: c.Time, Method: c.Method, Resource: c.Resource,
			Code: c.Code.String(), UserAgent: c.UserAgent, Query: c.Query.Encode(),
		}
		if c.Request != nil {
			one.Request, _ = protojson.Marshal(c.Request) // left out when it has no JSON form
		} else if json.Valid(c.Body) {
			one.Request = c.Body
		}
		calls = append(calls, one)
	}
	return map[string]any{"calls": calls}, nil
}

// controlFault adds a fault.
func (e *Emulator) controlFault(r *http.Request) (any, error) {
	type end struct {
		Code       codes.Code `json:"code"`
		Message    string     `json:"message"`
		NoResponse bool       `json:"noResponse"`
		Never      bool       `json:"never"`
		Delay      duration   `json:"delay"`
	}
	var body struct {
		Method    string     `json:"method"`
		After     int        `json:"after"`
		Times     int        `json:"times"`
		Code      codes.Code `json:"code"`
		Message   string     `json:"message"`
		Cut       bool       `json:"cut"`
		Lose      bool       `json:"lose"`
		Operation *end       `json:"operation"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	f := faults.Fault{Method: body.Method, After: body.After, Times: body.Times, Cut: body.Cut, Lose: body.Lose}
	if body.Code != codes.OK {
		f.Status = status.New(body.Code, body.Message)
	}
	if o := body.Operation; o != nil {
		f.Operation = &faults.OperationFault{NoResponse: o.NoResponse, Never: o.Never, Delay: time.Duration(o.Delay)}
		if o.Code != codes.OK {
			f.Operation.Status = status.New(o.Code, o.Message)
		}
	}
	if f.Status == nil && !f.Cut && !f.Lose && f.Operation == nil {
		return nil, status.Error(codes.InvalidArgument, "The fault does nothing: give a code, cut, lose or operation.")
	}
	e.faults.Add(f)
	return struct{}{}, nil
}

// controlHide hides an account from one view for some looks.
func (e *Emulator) controlHide(r *http.Request) (any, error) {
	var body struct {
		Email string `json:"email"`
		View  string `json:"view"`
		Times int    `json:"times"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	views := map[string]iam.Viewer{"read": iam.ReadView, "policy": iam.PolicyView, "run": iam.RunView}
	view, known := views[body.View]
	if !known || body.Email == "" || body.Times < 0 {
		return nil, status.Error(codes.InvalidArgument, `Give an email, a view ("read", "policy" or "run") and how many times it is hidden.`)
	}
	e.iam.Hide(body.Email, view, body.Times)
	return struct{}{}, nil
}

// controlTiming says how long operations and the phases of executions take.
func (e *Emulator) controlTiming(r *http.Request) (any, error) {
	var body struct {
		Operations duration `json:"operations"`
		Import     duration `json:"import"`
		Provision  duration `json:"provision"`
		Start      duration `json:"start"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	e.operations.SetDelay(time.Duration(body.Operations))
	e.run.SetTiming(run.Timing{Import: time.Duration(body.Import), Provision: time.Duration(body.Provision), Start: time.Duration(body.Start)})
	return struct{}{}, nil
}

// duration is text such as "1.5s" in JSON.
type duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("a duration is a text such as \"1.5s\": %w", err)
	}
	parsed, err := time.ParseDuration(text)
	*d = duration(parsed)
	return err
}
