// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

// Core is Terraform with one folder: a state, and the configuration that a
// command names. One command runs at a time.
type Core struct {
	t     testing.TB
	e     *emulator.Emulator
	clock clockwork.Clock

	// State is by address.
	State map[string]*Resource

	config      *config
	started     int
	running     []*process
	interrupted atomic.Bool

	mu      sync.Mutex
	current *process
}

// New returns a core with an empty state. Its providers have the clock; nil is the
// real one.
func New(t testing.TB, e *emulator.Emulator, clock clockwork.Clock) *Core {
	return &Core{t: t, e: e, clock: clock, State: map[string]*Resource{}}
}

// Apply is terraform apply, with the flags -replace=ADDRESS and -refresh=false.
func (c *Core) Apply(config string, flags ...string) *Result {
	c.t.Helper()
	return c.command(config, false, true, flags)
}

// Plan is terraform plan, with the flags of Apply and -destroy. The state stays as
// it is.
func (c *Core) Plan(config string, flags ...string) *Result {
	c.t.Helper()
	return c.command(config, slices.Contains(flags, "-destroy"), false, flags)
}

// Destroy is terraform destroy, with the flag -refresh=false.
func (c *Core) Destroy(config string, flags ...string) *Result {
	c.t.Helper()
	return c.command(config, true, true, flags)
}

// Taint is terraform taint.
func (c *Core) Taint(address string) {
	c.t.Helper()
	c.taint(address, true)
}

// Untaint is terraform untaint.
func (c *Core) Untaint(address string) {
	c.t.Helper()
	c.taint(address, false)
}

func (c *Core) taint(address string, to bool) {
	c.t.Helper()
	r := c.State[address]
	if r == nil || r.Current == nil || r.Current.Tainted == to {
		c.t.Fatalf("no %s in the state whose taint could be made %t", address, to)
	}
	r.Current.Tainted = to
}

// Import is terraform import: the object is imported, read, and put into the
// state.
func (c *Core) Import(config, address, id string) *Result {
	c.t.Helper()
	defer c.end()
	res := &Result{Actions: map[string]string{}}
	p := c.begin(config, res)
	if p == nil {
		return res
	}
	b := c.config.find(address)
	if b == nil || c.State[address] != nil && c.State[address].Current != nil {
		c.t.Fatalf("%s is not configured, or in the state already", address)
	}
	resp, err := call(p, p.server.ImportResourceState, &tfprotov6.ImportResourceStateRequest{TypeName: b.typeName, ID: id})
	if err != nil {
		res.hear(address, nil, err)
		return res
	}
	if res.hear(address, resp.Diagnostics, nil) {
		return res
	}
	one := resp.ImportedResources[0]
	v, err := one.State.Unmarshal(c.typ(p, b.typeName))
	if err != nil {
		c.t.Fatal(err)
	}
	o := c.refresh(p, res, address, b.typeName, &Object{Value: v, Private: one.Private})
	switch {
	case res.Failed():
	case o == nil:
		res.inconsistent(address, "Cannot import non-existent remote object", []string{id})
	default:
		c.State[address] = &Resource{Type: b.typeName, Current: o, needs: b.needs}
	}
	return res
}

// begin reads the configuration and starts a configured provider; nil when there
// was an error.
func (c *Core) begin(text string, res *Result) *process {
	c.t.Helper()
	var err error
	if c.config, err = parse(text); err != nil {
		c.t.Fatalf("%v\n%s", err, text)
	}
	return c.startConfigured(res)
}

func (c *Core) startConfigured(res *Result) *process {
	c.t.Helper()
	p := c.start()
	block, err := c.evaluate(c.config.provider, p.schema.Provider.ValueType(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	diags, err := p.configure(block)
	if res.hear("", diags, err) {
		return nil
	}
	return p
}

func (c *Core) typ(p *process, typeName string) tftypes.Type {
	return p.schema.ResourceSchemas[typeName].ValueType()
}

// command plans, and applies the plan when it has no error.
func (c *Core) command(text string, destroy, apply bool, flags []string) *Result {
	c.t.Helper()
	w := &walk{Core: c, changes: map[string]*change{}, values: map[string]tftypes.Value{}}
	w.take(flags)
	defer c.end()
	c.interrupted.Store(false)
	res := &Result{Actions: map[string]string{}, planned: map[string]tftypes.Value{}}
	p := c.begin(text, res)
	if p == nil {
		return res
	}
	before := c.snapshot()
	w.p, w.res = p, res
	w.plan(destroy)
	if c.interrupted.Load() && !res.Failed() {
		res.inconsistent("", "operation canceled", []string{"interrupted during the plan"})
	}
	for address, ch := range w.changes {
		if ch.action != noop {
			res.Actions[address] = string(ch.action)
		}
		res.planned[address] = ch.after
	}
	for address, r := range c.State {
		if len(r.Deposed) > 0 && res.Actions[address] == "" {
			res.Actions[address] = "delete deposed"
		}
	}
	if res.Failed() || !apply {
		c.State = before
		return res
	}
	if len(res.Actions) == 0 {
		return res // what was read stays in the state
	}
	if w.p = c.startConfigured(res); w.p == nil {
		return res
	}
	w.apply()
	if c.interrupted.Load() && !res.Failed() {
		// The command line calls it a failure, even when everything was done in time.
		res.inconsistent("", "operation canceled", []string{"interrupted during the apply"})
	}
	return res
}

// snapshot is a copy of the state: what a plan reads is forgotten unless the plan
// is applied.
func (c *Core) snapshot() map[string]*Resource {
	out := map[string]*Resource{}
	for address, r := range c.State {
		one := *r
		one.Deposed = slices.Clone(r.Deposed)
		out[address] = &one
	}
	return out
}

// addresses are the resources of configuration and state, what others need first.
func (c *Core) addresses() []string {
	var out []string
	for _, b := range c.config.resources {
		out = append(out, b.address())
	}
	// What is in the state alone comes last, in an order in which it can be
	// taken down from the end.
	var orphans []string
	for _, address := range slices.Sorted(maps.Keys(c.State)) {
		if c.config.find(address) == nil {
			orphans = append(orphans, address)
		}
	}
	slices.SortStableFunc(orphans, func(a, b string) int {
		switch {
		case slices.Contains(c.State[b].needs, a):
			return -1
		case slices.Contains(c.State[a].needs, b):
			return 1
		}
		return 0
	})
	return append(out, orphans...)
}
