// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"encoding/binary"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// emptyPolicyEtag is the etag of a resource whose policy was never set, as the
// common policy service has it.
var emptyPolicyEtag = []byte{0x00, 0x01}

// GetIamPolicy implements runpb.JobsServer.
func (s *Service) GetIamPolicy(_ context.Context, req *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	n, err := parseJob("resource", req.GetResource())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.currentPolicy(n)
}

func (s *Service) currentPolicy(n jobName) (*iampb.Policy, error) {
	if _, err := s.existingJob(n); err != nil {
		return nil, err
	}
	p, err := s.policy(n)
	if err == nil && p == nil {
		p = &iampb.Policy{Etag: emptyPolicyEtag}
	}
	return p, err
}

// SetIamPolicy implements runpb.JobsServer. Without an etag the last writer wins.
func (s *Service) SetIamPolicy(_ context.Context, req *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	n, err := parseJob("resource", req.GetResource())
	if err != nil {
		return nil, err
	}
	if req.GetPolicy() == nil {
		return nil, invalid("policy", "Required field not specified.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.currentPolicy(n)
	if err != nil {
		return nil, err
	}
	if given := req.GetPolicy().GetEtag(); len(given) > 0 && string(given) != string(old.GetEtag()) {
		return nil, failure(codes.Aborted, "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.")
	}
	p := proto.CloneOf(req.GetPolicy())
	if p.Version == 0 && len(p.Bindings) > 0 {
		p.Version = 1
	}
	p.Etag = binary.BigEndian.AppendUint64(nil, uint64(s.stamp().UnixMicro()))
	return p, s.put(policyKey+n.String(), p)
}

// TestIamPermissions implements runpb.JobsServer: the caller has every
// permission on jobs.
func (s *Service) TestIamPermissions(_ context.Context, req *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	n, err := parseJob("resource", req.GetResource())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.existingJob(n); err != nil {
		return nil, err
	}
	answer := &iampb.TestIamPermissionsResponse{}
	for _, p := range req.GetPermissions() {
		if strings.HasPrefix(p, "run.jobs.") {
			answer.Permissions = append(answer.Permissions, p)
		}
	}
	return answer, nil
}
