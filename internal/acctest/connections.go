// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// connections are the providers that terraform reaches in the test's own
// process. Where terraform would start a process it opens a connection, and each
// connection has a provider of its own, which ends with it. A process costs more
// than everything else that a command does.
type connections struct {
	t        testing.TB
	listener net.Listener
	getenv   func(string) string

	mu   sync.Mutex
	idle *sync.Cond
	open map[net.Conn]bool
}

// serveConnections begins to serve, with the environment NAME=value that a
// process would have.
func serveConnections(t testing.TB, env []string) *connections {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	c := &connections{t: t, listener: listener, getenv: func(name string) string { return vars[name] }, open: map[net.Conn]bool{}}
	c.idle = sync.NewCond(&c.mu)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			c.mu.Lock()
			c.open[conn] = true
			c.mu.Unlock()
			go c.serve(conn)
		}
	}()
	t.Cleanup(func() {
		listener.Close() //nolint:errcheck // Nobody dials it any more.
		c.wait()
	})
	return c
}

// variable is how terraform is told where the provider is.
func (c *connections) variable() string {
	type addr struct{ Network, String string }
	raw, err := json.Marshal(map[string]any{source: map[string]any{
		"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.Getpid(), "Test": true, "Addr": addr{"tcp", c.listener.Addr().String()},
	}})
	if err != nil {
		panic(err) // texts and numbers
	}
	return "TF_REATTACH_PROVIDERS=" + string(raw)
}

// serve is one provider, until the other side hangs up and its last call is done.
func (c *connections) serve(conn net.Conn) {
	defer func() {
		c.mu.Lock()
		delete(c.open, conn)
		c.mu.Unlock()
		c.idle.Broadcast()
	}()
	made := provider.New("test", provider.WithEnvironment(c.getenv))()
	server := grpc.NewServer(grpc.WaitForHandlers(true), grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))
	plugin := tf6server.GRPCProviderPlugin{Name: provider.Address, GRPCProvider: providerserver.NewProtocol6(made)}
	if err := plugin.GRPCServer(nil, server); err != nil {
		c.t.Errorf("the provider cannot be served: %v", err)
	}
	only := &onlyConnection{conn: conn, done: make(chan struct{})}
	//nolint:errcheck // It ends when the connection does, with an error that says so.
	server.Serve(only)
	server.Stop()
	if closer, ok := made.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			c.t.Errorf("the provider does not end: %v", err)
		}
	}
}

// wait waits until every provider has ended.
func (c *connections) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) > 0 {
		c.idle.Wait()
	}
}

// onlyConnection is a listener with one connection, which closes with it.
type onlyConnection struct {
	conn net.Conn
	done chan struct{}

	mu     sync.Mutex
	taken  bool
	closed sync.Once
}

func (l *onlyConnection) Accept() (net.Conn, error) {
	l.mu.Lock()
	first := !l.taken
	l.taken = true
	l.mu.Unlock()
	if first {
		return closing{l.conn, l}, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *onlyConnection) Close() error {
	l.closed.Do(func() { close(l.done) })
	return nil
}

func (l *onlyConnection) Addr() net.Addr { return l.conn.LocalAddr() }

// closing ends its listener when it is closed.
type closing struct {
	net.Conn
	l *onlyConnection
}

func (c closing) Close() error {
	defer c.l.Close() //nolint:errcheck // It has no error.
	return c.Conn.Close()
}
