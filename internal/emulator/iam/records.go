// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package iam

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Accounts are kept by e-mail, deleted ones by unique id: the e-mail is free
// again at once.
const (
	liveKeys    = "iam/accounts/"
	deletedKeys = "iam/deleted/"
	policyKeys  = "iam/policies/"
)

// uniqueIDPrefix marks the unique ids that the emulator makes; they have 21
// digits as real ones.
const uniqueIDPrefix = "9990"

// newUniqueID returns 21 digits.
func newUniqueID() (string, error) {
	const digits = 17 // of 21, behind the prefix
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%0*d", uniqueIDPrefix, digits, n), nil
}

// email returns the address of an account; a domain-scoped project
// "example.com:p" turns around.
func email(accountID, project string) string {
	if domain, name, scoped := strings.Cut(project, ":"); scoped {
		project = name + "." + domain
	}
	return accountID + "@" + project + ".iam.gserviceaccount.com"
}

// byEmail returns a copy of the account; s.mu is held.
func (s *Service) byEmail(email string) (*adminpb.ServiceAccount, bool) {
	account, found := s.shared(email)
	return proto.CloneOf(account), found
}

// shared returns the account for reading only: a policy asks for each of its
// members with every write; s.mu is held.
func (s *Service) shared(email string) (*adminpb.ServiceAccount, bool) {
	key := strings.ToLower(email)
	if account, ok := s.decoded[key]; ok {
		return account, true
	}
	account := &adminpb.ServiceAccount{}
	found, err := store.GetProto(s.store, liveKeys+key, account)
	if !found || err != nil {
		return nil, false
	}
	s.decoded[key] = account
	return account, true
}

// find looks an account up by e-mail or unique id.
func (s *Service) find(id string) (*adminpb.ServiceAccount, bool) {
	if strings.Contains(id, "@") {
		return s.byEmail(id)
	}
	for _, key := range s.store.Keys(liveKeys) {
		account, found := s.byEmail(strings.TrimPrefix(key, liveKeys))
		if found && account.GetUniqueId() == id {
			return account, true
		}
	}
	return nil, false
}

func (s *Service) put(account *adminpb.ServiceAccount) error {
	delete(s.decoded, strings.ToLower(account.GetEmail()))
	return store.PutProto(s.store, liveKeys+strings.ToLower(account.GetEmail()), account)
}

// parse splits projects/PROJECT/serviceAccounts/ID.
func parse(name string) (project, id string, ok bool) {
	p := strings.Split(name, "/")
	if len(p) != 4 || p[0] != "projects" || p[2] != "serviceAccounts" || p[1] == "" || p[3] == "" {
		return "", "", false
	}
	return p[1], p[3], true
}

// inProject reports whether the account belongs to the project, which may be a
// project id, a number, or "-" for any.
func inProject(account *adminpb.ServiceAccount, project string) bool {
	return project == "-" || project == account.GetProjectId() || project == store.ProjectNumber(account.GetProjectId())
}
