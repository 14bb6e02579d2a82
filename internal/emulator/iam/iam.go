// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package iam

import (
	"regexp"
	"strings"
	"sync"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Viewer is who asks whether an account exists.
type Viewer int

// The views, which become consistent one by one after a change.
const (
	// ReadView is that of reads through the IAM API.
	ReadView Viewer = iota
	// PolicyView is that of policy writes, such as a bucket's.
	PolicyView
	// RunView is that of Cloud Run, when a job names the account.
	RunView
)

// Service implements adminpb.IAMServer for service accounts. It is safe for
// concurrent use.
type Service struct {
	adminpb.UnimplementedIAMServer

	store *store.Store
	clock clockwork.Clock

	mu     sync.Mutex
	hidden map[view]int
	// decoded are accounts of the store that were read, by their e-mail.
	decoded map[string]*adminpb.ServiceAccount
}

type view struct {
	email string
	by    Viewer
}

// New returns a service over what the store holds; a nil clock is the real one.
func New(s *store.Store, clock clockwork.Clock) *Service {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	return &Service{store: s, clock: clock, hidden: map[view]int{}, decoded: map[string]*adminpb.ServiceAccount{}}
}

// Exists reports whether the account is there for the viewer. A look uses up one
// of the times that it is hidden. Accounts that Google makes, such as service
// agents and default accounts, are always there.
func (s *Service) Exists(email string, by Viewer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if googleMade(email) {
		return true
	}
	account, found := s.shared(email)
	return found && !s.hides(account.GetEmail(), by)
}

// Hide makes the account missing for the next n looks of the viewer. The account
// need not be there yet.
func (s *Service) Hide(email string, by Viewer, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden[view{strings.ToLower(email), by}] = n
}

// hides counts a look; s.mu is held.
func (s *Service) hides(email string, by Viewer) bool {
	v := view{strings.ToLower(email), by}
	left := s.hidden[v]
	switch {
	case left > 1:
		s.hidden[v] = left - 1
	case left == 1:
		delete(s.hidden, v)
	}
	return left > 0
}

// Lookup returns the account, for reading only, without counting as a look.
func (s *Service) Lookup(email string) (*adminpb.ServiceAccount, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared(email)
}

// RunViewExists is Exists for Cloud Run.
func (s *Service) RunViewExists(email string) bool { return s.Exists(email, RunView) }

// MemberExists reports whether a policy may name the member: the account of
// "serviceAccount:EMAIL" has to exist in the PolicyView, other kinds of members
// are taken as they are.
func (s *Service) MemberExists(member string) bool {
	kind, email, _ := strings.Cut(member, ":")
	if kind != "serviceAccount" || strings.Contains(email, "[") { // [ns/name] is a workload identity
		return true
	}
	return s.Exists(email, PolicyView)
}

// accountDomain ends the addresses of accounts that users create.
const accountDomain = ".iam.gserviceaccount.com"

var serviceAgent = regexp.MustCompile(`^service-\d+@`)

// googleMade reports whether the account is none that a user can create.
func googleMade(email string) bool {
	email = strings.ToLower(email)
	name, domain, _ := strings.Cut(email, "@")
	project, ok := strings.CutSuffix(domain, accountDomain)
	if !ok || name == "" || project == "" || strings.Contains(domain, "@") {
		return true
	}
	return strings.HasPrefix(email, "service-") && serviceAgent.MatchString(email)
}
