// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// DurationRange is the validator made by [DurationBetween].
type DurationRange struct {
	min, max time.Duration
	why      string
}

// DurationBetween accepts durations from shortest to longest, both included. It also
// checks the spelling: an attribute needs no other validator.
func DurationBetween(shortest, longest time.Duration) DurationRange {
	return DurationRange{min: shortest, max: longest}
}

// Because adds the reason of the range to the message, as a whole sentence.
func (r DurationRange) Because(why string) DurationRange {
	r.why = why
	return r
}

// Description says in words what is accepted.
func (r DurationRange) Description(context.Context) string {
	return fmt.Sprintf("a duration from %s to %s", FormatDuration(r.min), FormatDuration(r.max))
}

// MarkdownDescription is Description.
func (r DurationRange) MarkdownDescription(ctx context.Context) string { return r.Description(ctx) }

// ValidateString reports one error for a value that is misspelt or out of range.
func (r DurationRange) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	s, ok := known(req)
	if !ok {
		return
	}
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		invalid(req, resp, "Invalid duration", err)
	case d < r.min:
		r.refuse(req, resp, s, "shorter", "shortest", r.min)
	case d > r.max:
		r.refuse(req, resp, s, "longer", "longest", r.max)
	}
}

func (r DurationRange) refuse(req validator.StringRequest, resp *validator.StringResponse, s, comparative, superlative string, limit time.Duration) {
	why := ""
	if r.why != "" {
		why = " " + r.why
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Duration out of range", fmt.Sprintf(
		"%s = %q is %s than %s.%s Write a duration from %s to %s; the %s is %q.",
		req.Path, resourcename.Shorten(s), comparative, FormatDuration(limit), why, FormatDuration(r.min), FormatDuration(r.max), superlative, FormatDuration(limit)))
}

// IsDuration accepts every duration that is more than zero.
func IsDuration() validator.String {
	return parses{"a duration such as \"90m\" or \"1h30m\"", "Invalid duration", func(s string) error {
		d, err := ParseDuration(s)
		if err == nil && d <= 0 {
			return fmt.Errorf("%q is not more than zero: write a duration such as \"90m\"", resourcename.Shorten(s))
		}
		return err
	}}
}

// IsQuantity accepts every quantity, of whatever it may be.
func IsQuantity() validator.String {
	return parses{"a quantity such as \"4\" or \"16Gi\"", "Invalid quantity", func(s string) error {
		_, err := ParseQuantity(s)
		return err
	}}
}

// IsCPU accepts amounts of CPU.
func IsCPU() validator.String {
	return parses{"an amount of CPU such as \"4\" or \"4000m\"", "Invalid amount of CPU", func(s string) error {
		_, err := ParseCPU(s)
		return err
	}}
}

// IsMemory accepts amounts of memory.
func IsMemory() validator.String {
	return parses{"an amount of memory such as \"16Gi\"", "Invalid amount of memory", func(s string) error {
		_, err := ParseMemory(s)
		return err
	}}
}

// IsLocation accepts what can be a location.
func IsLocation() validator.String {
	return parses{"a location such as \"us-central1\"", "Invalid location", resourcename.CheckLocation}
}

// IsJob accepts the name of a job in every form. The parts that a short form
// leaves out come from the provider, which a validator does not know.
func IsJob() validator.String {
	return parses{"the name of a job, or its full name projects/P/locations/L/jobs/J", "Invalid job", func(s string) error {
		_, err := resourcename.ParseJob(s, resourcename.Defaults{Project: "project", Location: "location"})
		return err
	}}
}

// IsExecutionName accepts the name of an execution within its job. without is
// what an attribute that is left out stands for: "for the newest".
func IsExecutionName(without string) validator.String {
	return parses{"the name of an execution within its job, such as \"train-x7k2p\"", "Invalid name of an execution", func(s string) error {
		defaults := resourcename.Defaults{Project: "project", Location: "location"}
		if strings.Contains(s, "/") {
			return fmt.Errorf("%q is a full name: write its last part, %q, and the job in job", s, s[strings.LastIndex(s, "/")+1:])
		}
		if _, err := resourcename.ParseExecution("job/"+s, defaults); err != nil {
			return fmt.Errorf("%q cannot be the name of an execution: write one that \"gcloud run jobs executions list\" shows, such as \"train-x7k2p\", or leave the attribute out %s", resourcename.Shorten(s), without)
		}
		return nil
	}}
}

// IsLimit accepts how many of something are wanted, the newest, from 1 to most.
// usual is how many come where nothing is written.
func IsLimit(most, usual int64) validator.Int64 { return limit{most, usual} }

type limit struct{ most, usual int64 }

func (v limit) Description(context.Context) string { return fmt.Sprintf("from 1 to %d", v.most) }

func (v limit) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v limit) ValidateInt64(ctx context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if n := req.ConfigValue; n.IsNull() || n.IsUnknown() || n.ValueInt64() >= 1 && n.ValueInt64() <= v.most {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Limit out of range", fmt.Sprintf(
		"%s is %d, and a number %s is wanted. Leave it out for the newest %d.", req.Path, req.ConfigValue.ValueInt64(), v.Description(ctx), v.usual))
}

// Parses accepts what check has no error for. The error's text is the message,
// which begins with the quoted value: one rule, written once, for validators
// and for the code that uses the value.
func Parses(description, summary string, check func(string) error) validator.String {
	return parses{description, summary, check}
}

type parses struct {
	description, summary string
	check                func(string) error
}

func (p parses) Description(context.Context) string { return p.description }

func (p parses) MarkdownDescription(context.Context) string { return p.description }

func (p parses) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if s, ok := known(req); ok {
		if err := p.check(s); err != nil {
			invalid(req, resp, p.summary, err)
		}
	}
}

func known(req validator.StringRequest) (string, bool) {
	v := req.ConfigValue
	return v.ValueString(), !v.IsNull() && !v.IsUnknown()
}

func invalid(req validator.StringRequest, resp *validator.StringResponse, summary string, err error) {
	resp.Diagnostics.AddAttributeError(req.Path, summary, fmt.Sprintf("%s: %s.", named(req.Path), err))
}

// named is a path as a message names it. An element of a set has no other name
// than its value, which the message shows anyway: the set is named.
func named(p path.Path) path.Path {
	steps := p.Steps()
	if n := len(steps); n > 0 {
		if _, element := steps[n-1].(path.PathStepElementKeyValue); element {
			return p.ParentPath()
		}
	}
	return p
}
