// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// action is what a plan does with a resource.
type action string

const (
	noop    action = "no-op"
	create  action = "create"
	update  action = "update"
	replace action = "replace"
	remove  action = "delete"
)

// change is the plan for one resource.
type change struct {
	action        action
	before, after tftypes.Value
	private       []byte
}

// walk goes once through the resources: to plan, and then to apply.
type walk struct {
	*Core
	p       *process
	res     *Result
	changes map[string]*change
	values  map[string]tftypes.Value // what references get, by address
	broken  map[string]bool          // addresses that failed or were skipped

	replaced    []string // by a flag
	unrefreshed bool     // by a flag
}

// take takes over flags of the command line.
func (w *walk) take(flags []string) {
	w.t.Helper()
	for _, flag := range flags {
		address, replaced := strings.CutPrefix(flag, "-replace=")
		switch {
		case replaced:
			w.replaced = append(w.replaced, address)
		case flag == "-refresh=false":
			w.unrefreshed = true
		case flag == "-refresh=true", flag == "-destroy":
		default:
			w.t.Fatalf("the core does not know the flag %s", flag)
		}
	}
}

// plan reads and plans. A destroy is preceded by a whole plan of the
// configuration.
func (w *walk) plan(destroy bool) {
	w.t.Helper()
	if destroy && len(w.State) == 0 {
		return
	}
	// Without a refresh a destroy has no plan before it.
	for _, address := range w.addresses() {
		if destroy && w.unrefreshed {
			break
		}
		r, b := w.State[address], w.config.find(address)
		if r != nil && !w.unrefreshed {
			w.refreshAll(address, r)
		}
		switch {
		case w.res.Failed():
		case b != nil:
			w.changes[address] = w.planOne(b, nil)
		case w.State[address] != nil && w.State[address].Current != nil:
			w.changes[address] = w.planDestroy(address, w.State[address].Type, w.State[address].Current)
		}
		if w.changes[address] == nil {
			delete(w.changes, address)
		}
		if w.res.Failed() || w.interrupted.Load() {
			return
		}
	}
	if !destroy {
		return
	}
	w.changes = map[string]*change{}
	for _, address := range w.addresses() {
		if r := w.State[address]; r != nil && r.Current != nil {
			if ch := w.planDestroy(address, r.Type, r.Current); ch != nil {
				w.changes[address] = ch
			}
		}
		if w.res.Failed() || w.interrupted.Load() {
			return
		}
	}
}

// refreshAll reads every object of a resource. Those that are gone leave the
// state.
func (w *walk) refreshAll(address string, r *Resource) {
	next := *r
	if r.Current != nil {
		next.Current = w.refresh(w.p, w.res, address, r.Type, r.Current)
	}
	next.Deposed = nil
	for _, o := range r.Deposed {
		if left := w.refresh(w.p, w.res, address, r.Type, o); left != nil {
			next.Deposed = append(next.Deposed, left)
		}
	}
	w.put(address, &next)
}

// put puts a resource into the state, unless nothing is left of it.
func (c *Core) put(address string, r *Resource) {
	if r.Current == nil && len(r.Deposed) == 0 {
		delete(c.State, address)
		return
	}
	c.State[address] = r
}

// refresh reads an object; nil when it is gone. After an error it is as it was.
func (c *Core) refresh(p *process, res *Result, address, typeName string, o *Object) *Object {
	c.t.Helper()
	resp, err := call(p, p.server.ReadResource, &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: dynamic(o.Value), Private: o.Private})
	if err != nil {
		res.hear(address, nil, err)
		return o
	}
	if res.hear(address, resp.Diagnostics, nil) {
		return o
	}
	v, err := resp.NewState.Unmarshal(c.typ(p, typeName))
	if err != nil {
		c.t.Fatal(err)
	}
	if v.IsNull() {
		return nil
	}
	if !v.IsFullyKnown() {
		res.inconsistent(address, "Provider produced invalid object", []string{"unknown after a read: " + v.String()})
	}
	return &Object{Value: v, Private: resp.Private, Tainted: o.Tainted}
}

// planOne plans a configured resource. planned is what the plan said, when this
// is the second one, made during the apply. nil means an error.
func (w *walk) planOne(b *block, planned *change) *change {
	w.t.Helper()
	address, typ := b.address(), w.typ(w.p, b.typeName)
	schema := w.p.schema.ResourceSchemas[b.typeName].Block.Attributes
	null := tftypes.NewValue(typ, nil)
	config, err := w.evaluate(b.attributes, typ, w.values)
	if err != nil {
		w.t.Fatalf("%s: %v", address, err)
	}
	prior, tainted := null, null
	var private []byte
	if r := w.State[address]; r != nil && r.Current != nil {
		if r.Current.Tainted {
			tainted = r.Current.Value // planned as if it were not there
		} else {
			prior, private = r.Current.Value, r.Current.Private
		}
	}
	v, err := call(w.p, w.p.server.ValidateResourceConfig, &tfprotov6.ValidateResourceConfigRequest{TypeName: b.typeName, Config: dynamic(config)})
	if err != nil {
		w.res.hear(address, nil, err)
		return nil
	}
	if w.res.hear(address, v.Diagnostics, nil) {
		return nil
	}
	if w.halted(address) {
		return nil
	}
	after, private, replaces, ok := w.ask(address, b.typeName, prior, config, private)
	if !ok {
		return nil
	}
	if wrong := InvalidPlan(schema, prior, config, after); len(wrong) > 0 {
		w.res.inconsistent(address, "Provider produced invalid plan", wrong)
		return nil
	}
	ch := &change{before: prior, after: after, private: private}
	switch {
	case prior.IsNull():
		ch.action = create
	case slices.Contains(w.replaced, address), changes(replaces, prior, after):
		ch.action = replace
		if ch.after, ch.private, _, ok = w.ask(address, b.typeName, null, config, private); !ok {
			return nil
		}
	case after.Equal(prior):
		ch.action = noop
	default:
		ch.action = update
	}
	if ch.action == create && !tainted.IsNull() {
		ch.action, ch.before = replace, tainted
	}
	if planned != nil && planned.action == replace && ch.action == create {
		ch.action, ch.before = replace, planned.before
	}
	w.values[address] = ch.after
	return ch
}

// changes reports whether an attribute that would need a replacement changes.
// Terraform does not take the provider's word alone.
func changes(paths []*tftypes.AttributePath, prior, after tftypes.Value) bool {
	for _, p := range paths {
		was, _, errWas := tftypes.WalkAttributePath(prior, p)
		will, _, errWill := tftypes.WalkAttributePath(after, p)
		a, okA := was.(tftypes.Value)
		b, okB := will.(tftypes.Value)
		if errWas != nil || errWill != nil || !okA || !okB || !b.IsFullyKnown() || !a.Equal(b) {
			return true
		}
	}
	return false
}

// ask asks the provider for a plan.
func (w *walk) ask(address, typeName string, prior, config tftypes.Value, private []byte) (after tftypes.Value, planned []byte, replaces []*tftypes.AttributePath, ok bool) {
	w.t.Helper()
	proposed := tftypes.NewValue(prior.Type(), nil)
	if !config.IsNull() {
		proposed = Proposed(w.p.schema.ResourceSchemas[typeName].Block.Attributes, prior, config)
	}
	resp, err := call(w.p, w.p.server.PlanResourceChange, &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, PriorState: dynamic(prior), PriorPrivate: private, Config: dynamic(config), ProposedNewState: dynamic(proposed),
	})
	if err != nil {
		w.res.hear(address, nil, err)
		return after, nil, nil, false
	}
	if w.res.hear(address, resp.Diagnostics, nil) {
		return after, nil, nil, false
	}
	if after, err = resp.PlannedState.Unmarshal(prior.Type()); err != nil {
		w.t.Fatal(err)
	}
	return after, resp.PlannedPrivate, resp.RequiresReplace, true
}

// planDestroy plans the end of an object; nil means an error.
func (w *walk) planDestroy(address, typeName string, o *Object) *change {
	w.t.Helper()
	null := tftypes.NewValue(o.Value.Type(), nil)
	after, private, _, ok := w.ask(address, typeName, o.Value, null, o.Private)
	if !ok {
		return nil
	}
	if !after.IsNull() {
		w.res.inconsistent(address, "Provider produced invalid plan", []string{"a destroy is planned as something"})
		return nil
	}
	return &change{action: remove, before: o.Value, after: null, private: private}
}

// halted adds the error with which Terraform ends what an interrupt kept from
// beginning.
func (w *walk) halted(address string) bool {
	if w.interrupted.Load() {
		w.res.inconsistent(address, "execution halted", []string{"interrupted"})
		return true
	}
	return false
}
