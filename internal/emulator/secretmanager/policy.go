// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// emptyEtag is the etag of a resource whose policy was never set, as the common
// policy service has it.
var emptyEtag = []byte{0x00, 0x20, 0x01}

// policyEtag is the form that the common policy service gives an etag: a 7 and
// the microseconds in seven bytes.
func (s *Service) policyEtag() []byte {
	etag := binary.BigEndian.AppendUint64(nil, uint64(s.stamp().UnixMicro()))
	etag[0] = 0x07
	return etag
}

// policy returns the stored policy of a secret that is there; s.mu is held.
func (s *Service) policy(n secretName) (*iampb.Policy, error) {
	if _, err := s.secret(n); err != nil {
		return nil, err
	}
	p := &iampb.Policy{}
	found, err := store.GetProto(s.store, n.key(policyKeys), p)
	if err != nil {
		return nil, internal(err)
	}
	if !found {
		p.Etag = emptyEtag
	}
	return p, nil
}

// GetIamPolicy implements secretmanagerpb.SecretManagerServiceServer.
func (s *Service) GetIamPolicy(_ context.Context, req *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	n, err := parseSecret(req.GetResource())
	if err != nil {
		return nil, err
	}
	requested := req.GetOptions().GetRequestedPolicyVersion()
	if !policyVersion(requested) {
		return nil, invalid("options.requested_policy_version", "Invalid argument.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.secrets.getIamPolicy"); err != nil {
		return nil, err
	}
	p, err := s.policy(n)
	if err != nil {
		return nil, err
	}
	return s.rendered(p, requested), nil
}

func policyVersion(v int32) bool { return v == 0 || v == 1 || v == 3 }

// rendered answers version 3 with conditions when asked for, else version 1 with
// every conditional role under a name that cannot be granted.
func (s *Service) rendered(p *iampb.Policy, requested int32) *iampb.Policy {
	out := proto.CloneOf(p)
	for _, b := range out.GetBindings() {
		for i, m := range b.GetMembers() {
			b.Members[i] = s.shown(m)
		}
		switch {
		case b.GetCondition() == nil:
		case requested >= 3:
			out.Version = 3
		default:
			h := fnv.New128a()
			_, _ = h.Write([]byte(b.GetCondition().GetExpression()))
			b.Role = fmt.Sprintf("%s_withcond_%x", b.GetRole(), h.Sum(nil)[:10])
			b.Condition = nil
		}
	}
	return out
}

// SetIamPolicy implements secretmanagerpb.SecretManagerServiceServer. Without an
// etag the last writer wins.
func (s *Service) SetIamPolicy(_ context.Context, req *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	n, err := parseSecret(req.GetResource())
	if err != nil {
		return nil, err
	}
	sent := req.GetPolicy()
	if sent == nil {
		return nil, invalid("policy", "The policy is required.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.secrets.setIamPolicy"); err != nil {
		return nil, err
	}
	current, err := s.policy(n)
	if err != nil {
		return nil, err
	}
	if etag := sent.GetEtag(); len(etag) > 0 && string(etag) != string(current.GetEtag()) {
		return nil, status.Error(codes.Aborted, "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.")
	}
	next := &iampb.Policy{Version: 1, Bindings: current.GetBindings(), AuditConfigs: current.GetAuditConfigs()}
	paths := req.GetUpdateMask().GetPaths()
	if len(paths) == 0 {
		paths = []string{"bindings", "etag"}
	}
	for _, path := range paths {
		switch path {
		case "bindings":
			if next.Bindings, err = s.readBindings(sent); err != nil {
				return nil, err
			}
		case "audit_configs":
			next.AuditConfigs = sent.GetAuditConfigs()
		case "etag", "version":
		default:
			return nil, invalid("update_mask", "The policy has no field [%s] that can be set.", path)
		}
	}
	if err := refuseTwins(s.rendered(next, 3)); err != nil {
		return nil, err
	}
	next.Etag = s.policyEtag()
	if err := s.put(n.key(policyKeys), next); err != nil {
		return nil, err
	}
	return s.rendered(next, 3), nil
}

// readBindings checks the bindings of a policy that is to be written and returns
// their kept form: one for each role and condition, none without members.
func (s *Service) readBindings(sent *iampb.Policy) ([]*iampb.Binding, error) {
	if !policyVersion(sent.GetVersion()) {
		return nil, invalid("policy.version", "Invalid argument.")
	}
	var out []*iampb.Binding
	for _, given := range sent.GetBindings() {
		if err := roleProblem(given.GetRole()); err != nil {
			return nil, err
		}
		if c := given.GetCondition(); c != nil {
			if c.GetExpression() == "" {
				return nil, invalid("", "The condition of role %s must have an expression.", given.GetRole())
			}
			if sent.GetVersion() < 3 {
				return nil, invalid("policy.version", "Specified policy version (%d) must be at least 3 based on the policy's contents. For more information, please refer to https://cloud.google.com/iam/help/allow-policies/versions.", sent.GetVersion())
			}
		}
		b := &iampb.Binding{Role: given.GetRole(), Condition: given.GetCondition()}
		if at := slices.IndexFunc(out, func(o *iampb.Binding) bool {
			return o.GetRole() == b.GetRole() && proto.Equal(o.GetCondition(), b.GetCondition())
		}); at >= 0 {
			b = out[at]
		} else if len(given.GetMembers()) > 0 {
			out = append(out, b)
		}
		for _, m := range given.GetMembers() {
			member, err := s.readMember(m)
			if err != nil {
				return nil, err
			}
			if member = s.kept(member); !slices.Contains(b.GetMembers(), member) {
				b.Members = append(b.Members, member)
			}
		}
	}
	return out, nil
}

// TestIamPermissions implements secretmanagerpb.SecretManagerServiceServer. The
// caller has every permission but those that Deny took. On a secret that does not
// exist nobody has any.
func (s *Service) TestIamPermissions(_ context.Context, req *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	n, err := parseSecret(req.GetResource())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &iampb.TestIamPermissionsResponse{}
	if _, err := s.secret(n); isNotFound(err) {
		return answer, nil
	} else if err != nil {
		return nil, err
	}
	for _, p := range req.GetPermissions() {
		if strings.HasPrefix(p, "secretmanager.") && !s.isDenied(n, p) {
			answer.Permissions = append(answer.Permissions, p)
		}
	}
	return answer, nil
}
