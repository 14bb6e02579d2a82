// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Records are kept by project number and secret; those of versions end in the
// version's number.
const (
	secretKeys  = "secretmanager/secrets/"
	versionKeys = "secretmanager/versions/"
	payloadKeys = "secretmanager/payloads/"
	policyKeys  = "secretmanager/policies/"
)

func (n secretName) key(kind string) string { return kind + n.project + "/" + n.secret }

func (n versionName) key(kind string) string { return n.secretName.key(kind) + "/" + n.id }

// etagOf is a quoted number in hexadecimal, as the real service's are.
func etagOf(t time.Time) string { return fmt.Sprintf("%q", strconv.FormatInt(t.UnixMicro(), 16)) }

// secret returns a secret that is there; s.mu is held.
func (s *Service) secret(n secretName) (*secretmanagerpb.Secret, error) {
	secret := &secretmanagerpb.Secret{}
	found, err := store.GetProto(s.store, n.key(secretKeys), secret)
	if err != nil {
		return nil, internal(err)
	}
	if found && s.expired(secret) {
		if err := s.forget(n); err != nil {
			return nil, err
		}
		found = false
	}
	if !found {
		return nil, n.notFound()
	}
	return secret, nil
}

// secrets returns every secret of a project.
func (s *Service) secrets(project string) ([]*secretmanagerpb.Secret, error) {
	var all []*secretmanagerpb.Secret
	prefix := secretKeys + project + "/"
	for _, key := range s.store.Keys(prefix) {
		switch secret, err := s.secret(secretName{project, strings.TrimPrefix(key, prefix)}); {
		case err == nil:
			all = append(all, secret)
		case !isNotFound(err):
			return nil, err
		}
	}
	return all, nil
}

// version returns a version by its number.
func (s *Service) version(n versionName) (*secretmanagerpb.SecretVersion, error) {
	v := &secretmanagerpb.SecretVersion{}
	found, err := store.GetProto(s.store, n.key(versionKeys), v)
	if err != nil {
		return nil, internal(err)
	}
	if !found {
		return nil, n.notFound()
	}
	return v, s.destroyDue(n, v)
}

// versions returns every version of a secret.
func (s *Service) versions(n secretName) ([]*secretmanagerpb.SecretVersion, error) {
	var all []*secretmanagerpb.SecretVersion
	prefix := n.key(versionKeys) + "/"
	for _, key := range s.store.Keys(prefix) {
		v, err := s.version(n.version(strings.TrimPrefix(key, prefix)))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// newest is the number of the version that was added last, 0 without any.
func (s *Service) newest(n secretName) int64 {
	var newest int64
	prefix := n.key(versionKeys) + "/"
	for _, key := range s.store.Keys(prefix) {
		if number, err := strconv.ParseInt(strings.TrimPrefix(key, prefix), 10, 64); err == nil {
			newest = max(newest, number)
		}
	}
	return newest
}

func (s *Service) put(key string, m proto.Message) error {
	if err := store.PutProto(s.store, key, m); err != nil {
		return internal(err)
	}
	return nil
}

// forget removes a secret with everything of it.
func (s *Service) forget(n secretName) error {
	keys := []string{n.key(secretKeys), n.key(policyKeys)}
	for _, kind := range []string{versionKeys, payloadKeys} {
		keys = append(keys, s.store.Keys(n.key(kind)+"/")...)
	}
	for _, key := range keys {
		if err := s.store.Delete(key); err != nil {
			return internal(err)
		}
	}
	return nil
}
