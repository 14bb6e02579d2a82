// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package operations

import (
	"context"
	"strings"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const (
	// maxWait bounds a wait that names no timeout; the real bound is not known,
	// only that the call may return early.
	maxWait = 30 * time.Second
	// defaultPage is the page size of a list that names none.
	defaultPage = 100
)

// GetOperation implements longrunningpb.OperationsServer.
func (s *Service) GetOperation(ctx context.Context, req *longrunningpb.GetOperationRequest) (*longrunningpb.Operation, error) {
	s.settle(ctx, req.GetName())
	return s.read(req.GetName())
}

// settle waits for the operation when its end is under way.
func (s *Service) settle(ctx context.Context, name string) {
	s.mu.Lock()
	op := s.open[name]
	due := op != nil && op.due
	s.mu.Unlock()
	if !due {
		return
	}
	select {
	case <-op.done:
	case <-ctx.Done():
	}
}

func (s *Service) read(name string) (*longrunningpb.Operation, error) {
	project, location, id, ok := parse(name)
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid operation name %q: want projects/PROJECT/locations/LOCATION/operations/OPERATION.", name)
	}
	pb := &longrunningpb.Operation{}
	found, err := store.GetProto(s.store, keyPrefix+name, pb)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if !found {
		return nil, status.Errorf(codes.NotFound, "Resource '%s' of kind 'OPERATION' in region '%s' in project '%s' does not exist.", id, location, project)
	}
	return pb, nil
}

// ListOperations implements longrunningpb.OperationsServer. The name is the
// parent, projects/P/locations/L.
func (s *Service) ListOperations(_ context.Context, req *longrunningpb.ListOperationsRequest) (*longrunningpb.ListOperationsResponse, error) {
	if req.GetFilter() != "" {
		return nil, status.Error(codes.InvalidArgument, "The emulator does not filter operations: leave the filter out.")
	}
	parent := strings.TrimSuffix(req.GetName(), "/operations")
	if _, _, _, ok := parse(parent + "/operations/x"); !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid parent %q: want projects/PROJECT/locations/LOCATION.", req.GetName())
	}
	prefix := keyPrefix + parent + "/operations/"
	size := int(req.GetPageSize())
	if size <= 0 || size > defaultPage {
		size = defaultPage
	}
	resp := &longrunningpb.ListOperationsResponse{}
	for _, key := range s.store.Keys(prefix) {
		id := strings.TrimPrefix(key, prefix)
		if id <= req.GetPageToken() {
			continue
		}
		if len(resp.Operations) == size {
			_, _, resp.NextPageToken, _ = parse(resp.Operations[size-1].GetName())
			break
		}
		if pb, err := s.read(parent + "/operations/" + id); err == nil { // else deleted meanwhile
			resp.Operations = append(resp.Operations, pb)
		}
	}
	return resp, nil
}

// DeleteOperation implements longrunningpb.OperationsServer: the record goes,
// what the operation does goes on.
func (s *Service) DeleteOperation(_ context.Context, req *longrunningpb.DeleteOperationRequest) (*emptypb.Empty, error) {
	if _, err := s.read(req.GetName()); err != nil {
		return nil, err
	}
	if err := s.store.Delete(keyPrefix + req.GetName()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &emptypb.Empty{}, nil
}

// WaitOperation implements longrunningpb.OperationsServer. It returns the
// operation as it is when the time is over.
func (s *Service) WaitOperation(ctx context.Context, req *longrunningpb.WaitOperationRequest) (*longrunningpb.Operation, error) {
	if _, err := s.read(req.GetName()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	op := s.open[req.GetName()]
	s.mu.Unlock()
	if op != nil {
		limit := maxWait
		if t := req.GetTimeout(); t != nil {
			limit = min(limit, t.AsDuration())
		}
		timer := s.clock.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-op.done:
		case <-timer.Chan():
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return s.read(req.GetName())
}
