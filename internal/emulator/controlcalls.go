// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// controlPreempt preempts the running attempt of a task, of an execution or of
// the one execution of a job that runs.
func (e *Emulator) controlPreempt(w *world, r *http.Request) (any, error) {
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
		switch running := w.run.Running(body.Job); len(running) {
		case 0:
			return nil, status.Errorf(codes.FailedPrecondition, "No execution of job %s is running.", body.Job)
		case 1:
			body.Execution = running[0]
		default:
			return nil, status.Errorf(codes.FailedPrecondition, "Job %s has several running executions, name one of them: %s.", body.Job, strings.Join(running, ", "))
		}
	}
	if err := w.run.Preempt(body.Execution, body.Task); err != nil {
		return nil, err
	}
	return map[string]any{"execution": body.Execution, "task": body.Task}, nil
}

// controlExecutions lists the executions that have not ended, of one job with
// ?job=.
func (e *Emulator) controlExecutions(w *world, r *http.Request) (any, error) {
	return map[string]any{"running": append([]string{}, w.run.Running(r.URL.Query().Get("job"))...)}, nil
}

// controlFault adds a fault.
func (e *Emulator) controlFault(w *world, r *http.Request) (any, error) {
	type end struct {
		Code       code     `json:"code"`
		Message    string   `json:"message"`
		NoResponse bool     `json:"noResponse"`
		Never      bool     `json:"never"`
		Delay      duration `json:"delay"`
	}
	var body struct {
		Method    string `json:"method"`
		After     int    `json:"after"`
		Times     int    `json:"times"`
		Code      code   `json:"code"`
		Message   string `json:"message"`
		Cut       bool   `json:"cut"`
		Lose      bool   `json:"lose"`
		Operation *end   `json:"operation"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	f := faults.Fault{Method: body.Method, After: body.After, Times: body.Times, Cut: body.Cut, Lose: body.Lose}
	if body.Code != code(codes.OK) {
		f.Status = status.New(codes.Code(body.Code), body.Message)
	}
	if o := body.Operation; o != nil {
		f.Operation = &faults.OperationFault{NoResponse: o.NoResponse, Never: o.Never, Delay: time.Duration(o.Delay)}
		if o.Code != code(codes.OK) {
			f.Operation.Status = status.New(codes.Code(o.Code), o.Message)
		}
	}
	switch {
	case f.Status == nil && !f.Cut && !f.Lose && f.Operation == nil:
		return nil, status.Error(codes.InvalidArgument, "The fault does nothing: give a code, cut, lose or operation.")
	case body.After < 0 || body.Times < -1:
		return nil, status.Error(codes.InvalidArgument, `"after" is how many calls pass first, and "times" how many go wrong then: 0 is one, -1 all.`)
	case !w.serves(body.Method):
		return nil, status.Errorf(codes.InvalidArgument, "No method is called %q, so that the fault would never strike. Write a name as GET %scalls shows it, or a pattern such as \"*/RunJob\" or \"storage.buckets.*\".", body.Method, controlPrefix)
	}
	w.faults.Add(f)
	return struct{}{}, nil
}

// serves reports whether the pattern matches a method of the APIs.
func (w *world) serves(pattern string) bool {
	for _, m := range w.methods {
		if faults.Matches(pattern, m) {
			return true
		}
	}
	return false
}

func (e *Emulator) controlForgetFaults(w *world, _ *http.Request) (any, error) {
	w.faults.Reset()
	return struct{}{}, nil
}

func (e *Emulator) controlForgetCalls(w *world, _ *http.Request) (any, error) {
	w.faults.Forget()
	return struct{}{}, nil
}

// controlHide hides an account from one view for some looks.
func (e *Emulator) controlHide(w *world, r *http.Request) (any, error) {
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
	w.iam.Hide(body.Email, view, body.Times)
	return struct{}{}, nil
}

// controlTiming says how long operations and the phases of executions take.
func (e *Emulator) controlTiming(w *world, r *http.Request) (any, error) {
	var body struct {
		Operations duration `json:"operations"`
		Import     duration `json:"import"`
		Provision  duration `json:"provision"`
		Start      duration `json:"start"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	w.operations.SetDelay(time.Duration(body.Operations))
	w.run.SetTiming(run.Timing{Import: time.Duration(body.Import), Provision: time.Duration(body.Provision), Start: time.Duration(body.Start)})
	return struct{}{}, nil
}

// controlClock shows the clock: its time, and how far that is ahead.
func (e *Emulator) controlClock(w *world, _ *http.Request) (any, error) {
	return map[string]any{
		"now":   w.clock.Now().UTC().Format(time.RFC3339Nano),
		"ahead": hours(w.clock.Offset()),
	}, nil
}

// controlFastForward puts the clock ahead.
func (e *Emulator) controlFastForward(w *world, r *http.Request) (any, error) {
	var body struct {
		By *duration `json:"by"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	if body.By == nil {
		return nil, status.Error(codes.InvalidArgument, `Say how far the clock is to go: {"by": "6h"}.`)
	}
	if err := w.fastForward(r.Context(), time.Duration(*body.By)); err != nil {
		return nil, err
	}
	return e.controlClock(w, r)
}

// controlReset empties the emulator.
func (e *Emulator) controlReset(_ *world, r *http.Request) (any, error) {
	if err := read(r, &struct{}{}); err != nil {
		return nil, err
	}
	if err := e.Reset(); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// duration is text such as "1.5s" in JSON.
type duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if parsed, err := time.ParseDuration(text); err == nil {
			*d = duration(parsed)
			return nil
		}
	}
	return fmt.Errorf("%s is no length of time: write a text such as \"90s\", \"30m\" or \"6h\" (there are no days: \"24h\")", raw)
}

// code is a status code in JSON, by its name or number.
type code codes.Code

// UnmarshalJSON implements json.Unmarshaler.
func (c *code) UnmarshalJSON(raw []byte) error {
	var parsed codes.Code
	if err := parsed.UnmarshalJSON(raw); err != nil {
		return fmt.Errorf("%s is no status code: write a name such as \"UNAVAILABLE\", \"PERMISSION_DENIED\", \"RESOURCE_EXHAUSTED\" or \"NOT_FOUND\"", raw)
	}
	*c = code(parsed)
	return nil
}

// fieldsOf are the JSON names of a struct, of those in it too, in quotes.
func fieldsOf(v any) []string { return namesIn(reflect.TypeOf(v)) }

func namesIn(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		text := fmt.Sprintf("%q", name)
		if inner := namesIn(t.Field(i).Type); inner != nil {
			text += " (in it " + strings.Join(inner, ", ") + ")"
		}
		names = append(names, text)
	}
	return names
}
