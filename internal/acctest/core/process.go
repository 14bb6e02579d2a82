// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// errGone is what every call to a killed provider returns.
var errGone = errors.New("the plugin did not respond")

// process is one provider process.
type process struct {
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
	agent  string // how its calls are told from those of others
	dead   *atomic.Bool
	kill   context.CancelFunc
	life   context.Context
	close  func() error
}

// The schema is the same for every provider.
var schemaOnce = sync.OnceValues(func() (*tfprotov6.GetProviderSchemaResponse, error) {
	server, err := providerserver.NewProtocol6WithError(provider.New("test")())()
	if err != nil {
		return nil, err
	}
	return server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
})

// start starts a provider process.
func (c *Core) start() *process {
	c.t.Helper()
	c.started++
	p := &process{agent: fmt.Sprintf("process/%d", c.started), dead: &atomic.Bool{}}
	p.life, p.kill = context.WithCancel(c.t.Context())
	vars := map[string]string{
		"RESILIENTJOB_EMULATOR_HOST": c.e.Addr(), "GOOGLE_PROJECT": acctest.EmulatorProject, "GOOGLE_REGION": acctest.EmulatorRegion,
		"TF_APPEND_USER_AGENT": p.agent,
	}
	opts := []provider.Option{provider.WithEnvironment(func(name string) string { return vars[name] })}
	if c.clock != nil {
		opts = append(opts, provider.WithClock(c.clock))
	}
	made := provider.New("test", opts...)()
	if closer, ok := made.(io.Closer); ok {
		p.close = closer.Close
	}
	var err error
	if p.server, err = providerserver.NewProtocol6WithError(made)(); err == nil {
		p.schema, err = schemaOnce()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	// What a killed process sends does not arrive.
	c.e.Faults().Add(faults.Fault{Times: -1, Cut: true, Match: func(call faults.Call) bool { return p.dead.Load() && p.sent(call) }})
	c.mu.Lock()
	c.current = p
	c.mu.Unlock()
	c.running = append(c.running, p)
	return p
}

// end ends the processes of a command.
func (c *Core) end() {
	c.settle()
	for _, p := range c.running {
		p.kill()
		if err := p.close(); err != nil {
			c.t.Errorf("%s does not end: %v", p.agent, err)
		}
	}
	c.running = nil
}

// sent reports whether a call is one of this process.
func (p *process) sent(call faults.Call) bool {
	return slices.Contains(strings.Fields(call.UserAgent), p.agent)
}

// Sent reports whether a call came from a provider that a core started, and not
// from a test.
func Sent(call faults.Call) bool { return strings.Contains(call.UserAgent, " process/") }

// configure validates and configures.
func (p *process) configure(block tftypes.Value) ([]*tfprotov6.Diagnostic, error) {
	v, err := p.server.ValidateProviderConfig(p.life, &tfprotov6.ValidateProviderConfigRequest{Config: dynamic(block)})
	if err != nil || failed(v.Diagnostics) {
		return v.Diagnostics, err
	}
	r, err := p.server.ConfigureProvider(p.life, &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: dynamic(block)})
	return append(v.Diagnostics, r.Diagnostics...), err
}

func failed(diags []*tfprotov6.Diagnostic) bool {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return true
		}
	}
	return false
}

// call makes a call, unless the process is killed before or meanwhile.
func call[Req, Resp any](p *process, f func(context.Context, Req) (Resp, error), req Req) (Resp, error) {
	var none Resp
	if p.dead.Load() {
		return none, errGone
	}
	// What a killed process would still do is waited for: it must not be mixed up with what comes next.
	resp, err := f(p.life, req)
	if p.dead.Load() {
		return none, errGone
	}
	return resp, err
}

// Kill kills the provider process that runs, when the call that is on its way is
// done: its answer does not arrive, and no further call does. It is for a fault's
// Do.
func (c *Core) Kill(on faults.Call) {
	p := c.process()
	first := !p.dead.Swap(true)
	if !first {
		return
	}
	c.e.Faults().Watch(func(ended faults.Call) {
		if ended.Seq == on.Seq {
			p.kill()
		}
	})
}

// Interrupt is Ctrl-C, and returns when the provider has heard of it. It is for a
// fault's Do.
func (c *Core) Interrupt() {
	c.interrupted.Store(true)
	if _, err := c.process().server.StopProvider(context.Background(), &tfprotov6.StopProviderRequest{}); err != nil {
		c.t.Error(err)
	}
}

func (c *Core) process() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// settle waits until every call that a provider has sent is answered or given up:
// after an interrupt the emulator may still be at one.
func (c *Core) settle() {
	for {
		open := false
		for _, call := range c.e.Faults().Calls() {
			open = open || call.Code == codes.Unknown
		}
		if !open {
			return
		}
		yield()
	}
}
