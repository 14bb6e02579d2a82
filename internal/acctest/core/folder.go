// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

// Folder is a core that a test writes a configuration for and gives commands to
// as it does with acctest.CLI, and that answers in the same words.
type Folder struct {
	*Core
	text string
}

// Open returns a folder with nothing in it.
func Open(t testing.TB, e *emulator.Emulator) *Folder {
	return &Folder{Core: New(t, e, nil)}
}

// Write replaces the configuration.
func (f *Folder) Write(hcl string) { f.text = hcl }

// Apply applies, with the flags of the core.
func (f *Folder) Apply(flags ...string) *Outcome {
	f.t.Helper()
	return f.outcome(f.Core.Apply(f.text, flags...), "apply")
}

// Plan plans, with the flags of the core.
func (f *Folder) Plan(flags ...string) *Outcome {
	f.t.Helper()
	return f.outcome(f.Core.Plan(f.text, flags...), "plan")
}

// Destroy destroys, with the flags of the core.
func (f *Folder) Destroy(flags ...string) *Outcome {
	f.t.Helper()
	return f.outcome(f.Core.Destroy(f.text, flags...), "destroy")
}

// Import imports into the state.
func (f *Folder) Import(address, id string) *Outcome {
	f.t.Helper()
	return f.outcome(f.Core.Import(f.text, address, id), "import")
}

// State returns the state as terraform show writes it.
func (f *Folder) State() *acctest.State {
	f.t.Helper()
	module := &tfjson.StateModule{}
	add := func(address, typeName, deposed string, o *Object) {
		module.Resources = append(module.Resources, &tfjson.StateResource{
			Address: address, Type: typeName, DeposedKey: deposed, Tainted: o.Tainted, AttributeValues: o.Values(),
		})
	}
	for _, address := range slices.Sorted(maps.Keys(f.Core.State)) {
		r := f.Core.State[address]
		if r.Current != nil {
			add(address, r.Type, "", r.Current)
		}
		for i, o := range r.Deposed {
			add(address, r.Type, fmt.Sprintf("%08x", i+1), o)
		}
	}
	return &acctest.State{JSON: tfjson.State{Values: &tfjson.StateValues{RootModule: module}}}
}

func (f *Folder) outcome(res *Result, verb string) *Outcome {
	return &Outcome{Result: res, t: f.t, verb: verb, known: f.Core.State, config: f.config}
}

// Outcome is how a command of a Folder ended.
type Outcome struct {
	*Result

	t      testing.TB
	verb   string
	known  map[string]*Resource
	config *config
}

// Text returns the messages as running text.
func (o *Outcome) Text() string {
	var b strings.Builder
	for severity, diags := range map[string][]Diagnostic{"Warning": o.Warnings, "Error": o.Errors} {
		for _, d := range diags {
			fmt.Fprintf(&b, "%s: %s ", severity, d.Summary)
			if d.Address != "" {
				fmt.Fprintf(&b, "with %s, ", d.Address)
			}
			b.WriteString(d.Detail + "\n")
		}
	}
	return running(b.String())
}

func running(text string) string { return strings.Join(strings.Fields(text), " ") }

// Succeeds fails the test when there was an error.
func (o *Outcome) Succeeds() *Outcome {
	o.t.Helper()
	if o.Failed() {
		o.t.Fatalf("%s failed:%s", o.verb, o)
	}
	return o
}

// Fails fails the test unless there was an error and each of the texts is said.
func (o *Outcome) Fails(texts ...string) *Outcome {
	o.t.Helper()
	if !o.Failed() {
		o.t.Fatalf("%s succeeded:%s", o.verb, o)
	}
	return o.Says(texts...)
}

// Says fails the test unless each of the texts is in a message.
func (o *Outcome) Says(texts ...string) *Outcome {
	o.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.Text(), running(text)) {
			o.t.Fatalf("%s does not say %q:%s", o.verb, text, o)
		}
	}
	return o
}

// SaysNot fails the test when one of the texts is in a message.
func (o *Outcome) SaysNot(texts ...string) *Outcome {
	o.t.Helper()
	for _, text := range texts {
		if strings.Contains(o.Text(), running(text)) {
			o.t.Fatalf("%s says %q:%s", o.verb, text, o)
		}
	}
	return o
}

// IsEmpty fails the test unless the plan succeeded and changes nothing.
func (o *Outcome) IsEmpty() *Outcome {
	o.t.Helper()
	if !o.Empty() {
		o.t.Fatalf("the plan is not empty:%s", o)
	}
	return o
}

// Actions returns what the plan does with a resource, in the words of the command
// line: "no-op", "create", "update", "delete,create", "create,delete", "delete";
// "" when the plan does not have it.
func (o *Outcome) Actions(address string) string {
	o.t.Helper()
	if o.Failed() {
		return ""
	}
	switch a := o.Result.Actions[address]; {
	case a == "" && o.known[address] != nil:
		return string(noop)
	case a == string(replace):
		if b := o.config.find(address); b != nil && b.createFirst {
			return "create,delete"
		}
		return "delete,create"
	default:
		return a
	}
}
