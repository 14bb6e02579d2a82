// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package iam

import (
	"bytes"
	"context"
	"encoding/binary"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// GetIamPolicy implements adminpb.IAMServer: who may act as the account.
func (s *Service) GetIamPolicy(_ context.Context, req *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, err := s.get(req.GetResource(), "iam.serviceAccounts.getIamPolicy")
	if err != nil {
		return nil, err
	}
	return s.policy(account.GetUniqueId())
}

func (s *Service) policy(uniqueID string) (*iampb.Policy, error) {
	policy := &iampb.Policy{}
	found, err := store.GetProto(s.store, policyKeys+uniqueID, policy)
	if err != nil {
		return nil, internal(err)
	}
	if !found {
		policy.Etag = policyETag(1)
	}
	return policy, nil
}

// SetIamPolicy implements adminpb.IAMServer. Without an etag the last writer
// wins.
func (s *Service) SetIamPolicy(_ context.Context, req *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, err := s.get(req.GetResource(), "iam.serviceAccounts.setIamPolicy")
	if err != nil {
		return nil, err
	}
	current, err := s.policy(account.GetUniqueId())
	if err != nil {
		return nil, err
	}
	etag := req.GetPolicy().GetEtag()
	if len(etag) > 0 && !bytes.Equal(etag, current.GetEtag()) {
		return nil, status.Error(codes.Aborted, "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.")
	}
	revision, _ := binary.Uvarint(current.GetEtag()[1:])
	policy := &iampb.Policy{Version: max(req.GetPolicy().GetVersion(), 1), Etag: policyETag(revision + 1)}
	for _, b := range req.GetPolicy().GetBindings() {
		if len(b.GetMembers()) > 0 {
			policy.Bindings = append(policy.Bindings, b)
		}
	}
	if err := store.PutProto(s.store, policyKeys+account.GetUniqueId(), policy); err != nil {
		return nil, internal(err)
	}
	return policy, nil
}

// policyETag is protobuf field 1 with the revision, the form that bucket policies
// have.
func policyETag(revision uint64) []byte { return binary.AppendUvarint([]byte{0x08}, revision) }

// TestIamPermissions implements adminpb.IAMServer: the caller may do all.
func (s *Service) TestIamPermissions(_ context.Context, req *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.get(req.GetResource(), "iam.serviceAccounts.get"); err != nil {
		return nil, err
	}
	return &iampb.TestIamPermissionsResponse{Permissions: req.GetPermissions()}, nil
}
