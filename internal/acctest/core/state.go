// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Object is one object of a resource as a state keeps it.
type Object struct {
	Value   tftypes.Value
	Private []byte
	Tainted bool
}

// Values are the attributes as JSON has them: nil, string, bool, float64, []any,
// map[string]any.
func (o *Object) Values() map[string]any {
	all, _ := plain(o.Value).(map[string]any)
	return all
}

// Attribute returns one of the Values; nil when it is null.
func (o *Object) Attribute(name string) any { return o.Values()[name] }

// Text returns an attribute that is a string; "" when it is null.
func (o *Object) Text(name string) string {
	s, _ := o.Attribute(name).(string)
	return s
}

// Resource is a resource in a state.
type Resource struct {
	Type string
	// Current is nil when there are deposed objects only.
	Current *Object
	// Deposed are the objects that a replacement has left, oldest first.
	Deposed []*Object

	needs       []string
	createFirst bool
}

// Objects are all objects of the resource.
func (r *Resource) Objects() []*Object {
	out := slices.Clone(r.Deposed)
	if r.Current != nil {
		out = append(out, r.Current)
	}
	return out
}

// Diagnostic is what Terraform shows.
type Diagnostic struct {
	// Address is the resource; empty for the provider.
	Address string
	// Attribute is dotted; empty for none.
	Attribute       string
	Summary, Detail string
}

func (d Diagnostic) String() string {
	return fmt.Sprintf("%s %s: %s: %s", d.Address, d.Attribute, d.Summary, d.Detail)
}

// Result is how a command ended.
type Result struct {
	Errors, Warnings []Diagnostic
	// Actions are what the plan does, by address: "create", "update", "replace",
	// "delete". What stays is not in it.
	Actions map[string]string

	planned map[string]tftypes.Value
}

// Failed reports whether the command ended with an error.
func (r *Result) Failed() bool { return len(r.Errors) > 0 }

// Unknown reports whether an attribute will be known only after the apply.
func (r *Result) Unknown(address, attribute string) bool {
	after, ok := r.planned[address]
	return ok && keyed(after) && !elements(after)[attribute].IsKnown()
}

// Empty reports whether the plan had nothing to do.
func (r *Result) Empty() bool { return !r.Failed() && len(r.Actions) == 0 }

func (r *Result) String() string {
	var b strings.Builder
	for _, address := range slices.Sorted(maps.Keys(r.Actions)) {
		fmt.Fprintf(&b, "\n  %s %s", r.Actions[address], address)
	}
	for _, d := range r.Errors {
		fmt.Fprintf(&b, "\n  error %s", d)
	}
	for _, d := range r.Warnings {
		fmt.Fprintf(&b, "\n  warning %s", d)
	}
	return b.String()
}

// hear takes over diagnostics, and reports whether there are errors among them.
func (r *Result) hear(address string, diags []*tfprotov6.Diagnostic, err error) bool {
	if err != nil {
		r.Errors = append(r.Errors, Diagnostic{Address: address, Summary: "Plugin did not respond", Detail: err.Error()})
		return true
	}
	for _, d := range diags {
		one := Diagnostic{Address: address, Attribute: Dotted(d.Attribute), Summary: d.Summary, Detail: d.Detail}
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			r.Errors = append(r.Errors, one)
		} else {
			r.Warnings = append(r.Warnings, one)
		}
	}
	return failed(diags)
}

// inconsistent adds what Terraform says of a provider that breaks its rules.
func (r *Result) inconsistent(address, summary string, faults []string) {
	for _, f := range faults {
		r.Errors = append(r.Errors, Diagnostic{Address: address, Summary: summary, Detail: f})
	}
}

// Dotted writes a path as "volumes.v.gcs.bucket".
func Dotted(p *tftypes.AttributePath) string {
	var parts []string
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			parts = append(parts, string(step))
		case tftypes.ElementKeyString:
			parts = append(parts, string(step))
		case tftypes.ElementKeyInt:
			parts = append(parts, fmt.Sprint(int64(step)))
		default:
			parts = append(parts, "*")
		}
	}
	return strings.Join(parts, ".")
}
