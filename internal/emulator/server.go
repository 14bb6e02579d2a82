// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/storage"
)

const (
	healthPath    = "/healthz"
	controlPrefix = "/control/v1/"
)

// headerTimeout is how long a connection may take to send its first header. It is
// counted from the connection's begin, and a header that arrives when it ends is
// read in part and answered with 400. Clients keep connections that they have not
// used yet, Go's for 90 seconds: they must give up first.
const headerTimeout = 3 * time.Minute

// newServer speaks HTTP/1.1 and, for gRPC, HTTP/2 without encryption.
func newServer(handler http.Handler, logger *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ConnContext:       faults.ConnContext,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		Protocols:         new(http.Protocols),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// ServeHTTP implements http.Handler, behind the guard.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == healthPath:
		health(w, r)
	case strings.HasPrefix(r.URL.Path, controlPrefix):
		e.serveControl(w, r)
	default:
		e.world().ServeHTTP(w, r)
	}
}

// handler is the way to the APIs. The function stops the gRPC server, when no
// request is under way any more.
func (w *world) handler(logger *slog.Logger) (http.Handler, func(), error) {
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(recoverPanic(logger), w.faults.UnaryInterceptor()))
	w.run.Register(server)
	longrunningpb.RegisterOperationsServer(server, w.operations)
	adminpb.RegisterIAMServer(server, w.iam)
	loggingpb.RegisterLoggingServiceV2Server(server, w.logging)
	secretmanagerpb.RegisterSecretManagerServiceServer(server, w.secrets)
	w.methods = storage.Methods()
	for service, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			w.methods = append(w.methods, service+"/"+m.Name)
		}
	}
	front, err := newRESTFront(server)
	if err != nil {
		return nil, nil, err
	}
	route := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !isGRPC(r) && storage.Owns(r) {
			w.storage.ServeHTTP(rw, r)
			return
		}
		front.ServeHTTP(rw, r)
	})
	return w.faults.Middleware(route), server.Stop, nil
}

func health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeError(w, status.New(codes.Unimplemented, "The health check is asked by GET."))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// recoverPanic keeps the emulator alive through a defect of a room. The client
// is told no more than the real service would tell.
func recoverPanic(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if r := recover(); r != nil {
				logger.Error("the emulator failed; this is a defect of it", "method", info.FullMethod, "panic", r, "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "Internal error encountered.")
			}
		}()
		return next(ctx, req)
	}
}
