// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// apply carries out the changes: first what is destroyed, what needs others
// before these; then what is made and changed; and last what a replacement that
// was made first has left.
func (w *walk) apply() {
	w.t.Helper()
	w.broken = map[string]bool{}
	w.values = map[string]tftypes.Value{}
	all := w.addresses()
	w.destroyAll(all)
	for _, b := range w.config.resources {
		w.applyOne(b)
	}
	for _, address := range slices.Backward(all) {
		w.destroyDeposed(address)
	}
}

// destroyAll destroys what is to be destroyed before anything is made.
func (w *walk) destroyAll(all []string) {
	for _, address := range slices.Backward(all) {
		ch := w.changes[address]
		if ch == nil || ch.action != remove && ch.action != replace || w.createsFirst(address) {
			continue
		}
		// Whoever needs it must be gone.
		if slices.ContainsFunc(all, func(other string) bool {
			return w.broken[other] && w.State[other] != nil && slices.Contains(w.State[other].needs, address)
		}) {
			w.broken[address] = true
			continue
		}
		r := w.State[address]
		if r == nil || r.Current == nil {
			continue
		}
		if w.halted(address) {
			w.broken[address] = true
			continue
		}
		next := *r
		gone := &change{action: remove, before: r.Current.Value, after: tftypes.NewValue(r.Current.Value.Type(), nil), private: ch.private}
		var ok bool
		next.Current, ok = w.carryOut(address, r.Type, r.Current, gone, gone.after)
		w.broken[address] = !ok
		w.put(address, &next)
	}
}

func (w *walk) createsFirst(address string) bool {
	b, ch := w.config.find(address), w.changes[address]
	return b != nil && b.createFirst && ch != nil && ch.action == replace
}

// applyOne makes or changes a resource.
func (w *walk) applyOne(b *block) {
	address := b.address()
	ch := w.changes[address]
	if w.broken[address] || slices.ContainsFunc(b.needs, func(a string) bool { return w.broken[a] }) {
		w.broken[address] = true
		return
	}
	if ch == nil || ch.action == remove {
		return
	}
	if ch.action == noop {
		w.values[address] = w.State[address].Current.Value
		return
	}
	// Whatever comes, what depends on this must not go on with half of it.
	w.broken[address] = true
	r := w.State[address]
	next := Resource{Type: b.typeName}
	if r != nil {
		next = *r
	}
	first := w.createsFirst(address)
	if first && next.Current != nil {
		next.Deposed = append(slices.Clone(next.Deposed), next.Current)
		next.Current = nil
		w.put(address, &next)
	}
	restore := func() {
		if n := len(next.Deposed); first && next.Current == nil && n > 0 {
			next.Current, next.Deposed = next.Deposed[n-1], next.Deposed[:n-1]
		}
		w.put(address, &next)
	}
	again := w.planOne(b, ch)
	if again == nil {
		// Terraform leaves the object deposed when not even the second plan could be made.
		w.put(address, &next)
		return
	}
	if again.action != ch.action && (ch.action != update || again.action != noop) {
		w.res.inconsistent(address, "Provider produced inconsistent final plan", []string{string(ch.action) + " became " + string(again.action)})
		return
	}
	if wrong := Incompatible(ch.after, again.after); len(wrong) > 0 {
		w.res.inconsistent(address, "Provider produced inconsistent final plan", wrong)
		return
	}
	if again.action == noop {
		w.broken[address] = false
		return
	}
	if w.halted(address) {
		restore()
		return
	}
	if again.action == replace { // the destroy is done, or comes later
		again.action, again.before = create, tftypes.NewValue(again.after.Type(), nil)
	}
	config, err := w.evaluate(b.attributes, again.after.Type(), w.values)
	if err != nil {
		w.t.Fatalf("%s: %v", address, err)
	}
	var ok bool
	next.Current, ok = w.carryOut(address, b.typeName, next.Current, again, config)
	if !ok && again.action == create && next.Current != nil {
		next.Current.Tainted = true
	}
	next.needs, next.createFirst = b.needs, b.createFirst
	if !ok {
		restore()
		return
	}
	w.put(address, &next)
	w.broken[address] = false
	w.values[address] = next.Current.Value
}

// destroyDeposed destroys what replacements have left: those of this apply, and
// of earlier ones. It is planned anew in the process that applies.
func (w *walk) destroyDeposed(address string) {
	r := w.State[address]
	if r == nil || len(r.Deposed) == 0 || w.broken[address] {
		return
	}
	next := *r
	next.Deposed = nil
	for _, o := range r.Deposed {
		left := o
		if ch := w.planDestroy(address, r.Type, o); ch != nil && !w.halted(address) {
			left, _ = w.carryOut(address, r.Type, o, ch, ch.after)
		}
		if left != nil {
			next.Deposed = append(next.Deposed, left)
		}
	}
	w.put(address, &next)
}

// carryOut applies one change to an object, and returns the object as Terraform
// keeps it: nil for none.
func (w *walk) carryOut(address, typeName string, o *Object, ch *change, config tftypes.Value) (*Object, bool) {
	w.t.Helper()
	typ := ch.after.Type()
	tainted := o != nil && o.Tainted
	resp, err := call(w.p, w.p.server.ApplyResourceChange, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeName, PriorState: dynamic(ch.before), Config: dynamic(config), PlannedState: dynamic(ch.after), PlannedPrivate: ch.private,
	})
	var next tftypes.Value
	var private []byte
	var bad bool
	switch {
	case err != nil:
		// No answer: the value is as it was, the private data are lost, and of an object that was to be made nothing is known.
		bad = w.res.hear(address, nil, err)
		next = ch.before
		if ch.after.IsNull() {
			next = ch.after
		}
	default:
		bad = w.res.hear(address, resp.Diagnostics, nil)
		private = resp.Private
		if next, err = resp.NewState.Unmarshal(typ); err != nil {
			w.t.Fatal(err)
		}
	}
	if !next.IsFullyKnown() {
		w.res.inconsistent(address, "Provider returned invalid result object after apply", []string{"unknown: " + next.String()})
		w.t.Errorf("%s: unknown after the apply: %s", address, next)
		bad = true
	}
	if !bad {
		var wrong []string
		if ch.action == remove != next.IsNull() {
			wrong = append(wrong, "after a "+string(ch.action)+" the object is "+next.String())
		} else if ch.action != remove {
			wrong = Incompatible(ch.after, next)
		}
		w.res.inconsistent(address, "Provider produced inconsistent result after apply", wrong)
		bad = len(wrong) > 0
	}
	switch {
	case bad && next.IsNull():
		return o, false // it is as it was
	case next.IsNull():
		return nil, true
	case bad:
		return &Object{Value: next, Private: private, Tainted: tainted}, false
	}
	return &Object{Value: next, Private: private}, true
}
