// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package faults

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// mark is how the call, deep inside, tells the middleware what to do with the
// connection. A nil mark, of a call outside the middleware, is harmless.
type mark struct{ state atomic.Int32 }

const (
	markLose = 1
	markCut  = 2
)

func (m *mark) cut() {
	if m != nil {
		m.state.Store(markCut)
	}
}

func (m *mark) lose() {
	if m != nil {
		m.state.CompareAndSwap(0, markLose)
	}
}

func (m *mark) struck() bool { return m.state.Load() != 0 }

type (
	markKey struct{}
	connKey struct{}
)

func markOf(ctx context.Context) *mark {
	m, _ := ctx.Value(markKey{}).(*mark)
	return m
}

// ConnContext is for http.Server.ConnContext: the middleware needs the
// connection to close it. Without it only the one stream of an HTTP/2
// connection is reset, which a gRPC client takes for another error.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Middleware closes the connection of calls that a fault cut, or whose answer
// it lost. It has to be the outermost handler, so that nothing of the answer
// gets out.
func (s *Script) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &mark{}
		out := &answer{ResponseWriter: w, mark: m}
		next.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), markKey{}, m)))
		if !m.struck() {
			return
		}
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, as when a peer dies
			}
			_ = c.Close()
		}
		panic(http.ErrAbortHandler)
	})
}

// answer drops what is written once the call is marked.
type answer struct {
	http.ResponseWriter
	mark *mark
}

func (a *answer) WriteHeader(code int) {
	if !a.mark.struck() {
		a.ResponseWriter.WriteHeader(code)
	}
}

func (a *answer) Write(p []byte) (int, error) {
	if a.mark.struck() {
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which the gRPC handler asks for.
func (a *answer) Flush() {
	if a.mark.struck() {
		return
	}
	if f, ok := a.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
