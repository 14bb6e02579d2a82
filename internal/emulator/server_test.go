// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"log/slog"
	"net/http"
	"testing"
)

// A client that keeps a connection unused gives it up before the server does:
// what it sends in that moment would be answered with 400.
func TestClientsGiveUpConnectionsFirst(t *testing.T) {
	t.Parallel()
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t.Fatal("not the transport that clients copy")
	}
	if s := newServer(nil, slog.New(slog.DiscardHandler)); s.ReadHeaderTimeout <= transport.IdleConnTimeout {
		t.Errorf("the server waits %s, a client %s", s.ReadHeaderTimeout, transport.IdleConnTimeout)
	}
}
