// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"context"
	"sync"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Accounts is what a policy asks about its members.
type Accounts interface {
	// MemberExists reports whether a policy write sees the member.
	MemberExists(member string) bool
	// Lookup returns the account without counting as a look.
	Lookup(email string) (*adminpb.ServiceAccount, bool)
}

// Service implements secretmanagerpb.SecretManagerServiceServer. It is safe for
// concurrent use.
type Service struct {
	secretmanagerpb.UnimplementedSecretManagerServiceServer

	store    *store.Store
	clock    clockwork.Clock
	accounts Accounts

	mu     sync.Mutex
	last   time.Time // the newest change time that was given out
	denied map[denial]bool
}

type denial struct{ secret, permission string }

// New returns a service over what the store holds. A nil clock is the real one;
// without accounts a policy takes every member.
func New(s *store.Store, clock clockwork.Clock, accounts Accounts) *Service {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	return &Service{store: s, clock: clock, accounts: accounts, denied: map[denial]bool{}}
}

// AddSecret adds a version with the payload to a secret, which is made when it
// is missing, and returns the version's name.
func (s *Service) AddSecret(project, id string, payload []byte) (string, error) {
	parent := "projects/" + project
	_, err := s.CreateSecret(context.Background(), &secretmanagerpb.CreateSecretRequest{
		Parent: parent, SecretId: id,
		Secret: &secretmanagerpb.Secret{Replication: &secretmanagerpb.Replication{
			Replication: &secretmanagerpb.Replication_Automatic_{Automatic: &secretmanagerpb.Replication_Automatic{}},
		}},
	})
	if err != nil && !hasCode(err, codes.AlreadyExists) {
		return "", err
	}
	version, err := s.AddSecretVersion(context.Background(), &secretmanagerpb.AddSecretVersionRequest{
		Parent: parent + "/secrets/" + id, Payload: &secretmanagerpb.SecretPayload{Data: payload},
	})
	return version.GetName(), err
}

// Access returns the payload of a version, a number, "latest" or an alias, of
// projects/P/secrets/S, if the secret's policy gives the member
// secretmanager.versions.access. The error is a status.
func (s *Service) Access(secret, version, member string) ([]byte, error) {
	n, err := parseSecret(secret)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.resolve(n.version(version))
	if err != nil {
		return nil, err
	}
	allowed, err := s.allowed(n, member, accessPermission)
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, permissionDenied(accessPermission)
	}
	return s.payload(v)
}

// Deny takes a permission from the callers of the API, on one secret,
// projects/P/secrets/S, or, with an empty name, on all: TestIamPermissions leaves
// it out and the calls that need it are refused.
func (s *Service) Deny(secret, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err := parseSecret(secret); err == nil {
		secret = n.String()
	}
	s.denied[denial{secret, permission}] = true
}

// Allow gives back what Deny took, named in the same way.
func (s *Service) Allow(secret, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err := parseSecret(secret); err == nil {
		secret = n.String()
	}
	delete(s.denied, denial{secret, permission})
}

func (s *Service) isDenied(n secretName, permission string) bool {
	return s.denied[denial{n.String(), permission}] || s.denied[denial{"", permission}]
}

// may refuses a call for which the caller lacks the permission.
func (s *Service) may(n secretName, permission string) error {
	if s.isDenied(n, permission) {
		return permissionDenied(permission)
	}
	return nil
}

// stamp is a change time that no other change has, in microseconds; s.mu is held.
func (s *Service) stamp() time.Time {
	t := s.clock.Now().UTC().Truncate(time.Microsecond)
	if !t.After(s.last) {
		t = s.last.Add(time.Microsecond)
	}
	s.last = t
	return t
}
