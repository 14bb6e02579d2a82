// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package faults

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// UnaryInterceptor records gRPC calls and lets faults strike them.
func (s *Script) UnaryInterceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		call := Call{Method: strings.TrimPrefix(info.FullMethod, "/")}
		if m, ok := req.(proto.Message); ok {
			call.Request = withoutSecrets(m)
			call.Resource = resource(m)
		}
		if md, ok := metadata.FromIncomingContext(ctx); ok {
			call.UserAgent = strings.Join(md.Get("user-agent"), " ")
		}
		ctx, end, err := s.Begin(ctx, call)
		if errors.Is(err, ErrCut) {
			// Nobody sees it: the middleware closes the connection.
			return nil, status.Error(codes.Unavailable, err.Error())
		}
		if err != nil {
			return nil, err
		}
		resp, err := next(ctx, req)
		end(status.Code(err))
		return resp, err
	}
}

// resource finds what a request is about by the names that Google's APIs use
// for it.
func resource(req proto.Message) string {
	m := req.ProtoReflect()
	parent := text(m, "parent")
	switch {
	case parent != "" && text(m, "job_id") != "":
		return parent + "/jobs/" + text(m, "job_id")
	case parent != "" && text(m, "secret_id") != "":
		return parent + "/secrets/" + text(m, "secret_id")
	case parent != "":
		return parent
	case text(m, "account_id") != "":
		return text(m, "name") + "/serviceAccounts/" + text(m, "account_id")
	case text(m, "name") != "":
		return text(m, "name")
	case text(m, "resource") != "":
		return text(m, "resource")
	}
	for _, part := range []protoreflect.Name{"job", "secret", "service_account"} {
		if f := m.Descriptor().Fields().ByName(part); f != nil && f.Message() != nil && m.Has(f) {
			return text(m.Get(f).Message(), "name")
		}
	}
	return ""
}

func text(m protoreflect.Message, field protoreflect.Name) string {
	f := m.Descriptor().Fields().ByName(field)
	if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() || f.IsMap() {
		return ""
	}
	return m.Get(f).String()
}
