// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"context"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Limits of the proto's comments.
const (
	maxLabels      = 64
	maxAliases     = 50
	maxAnnotations = 16 << 10 // bytes of keys and values
	maxTopics      = 10
)

var (
	annotationForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

// CreateSecret implements secretmanagerpb.SecretManagerServiceServer.
func (s *Service) CreateSecret(_ context.Context, req *secretmanagerpb.CreateSecretRequest) (*secretmanagerpb.Secret, error) {
	project, err := parseProject(req.GetParent())
	if err != nil {
		return nil, err
	}
	n := secretName{project, req.GetSecretId()}
	sent := req.GetSecret()
	switch {
	case !secretID.MatchString(n.secret):
		return nil, invalid("secret_id", "The provided Secret ID [%s] does not match the expected format [[a-zA-Z_0-9-]+], of 1 to 255 characters.", n.secret)
	case sent.GetReplication().GetReplication() == nil:
		return nil, invalid("secret.replication", "The replication policy of a secret is required: automatic or user_managed.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.secrets.create"); err != nil {
		return nil, err
	}
	switch _, err := s.secret(n); {
	case err == nil:
		return nil, status.Errorf(codes.AlreadyExists, "Secret [%s] already exists.", n)
	case !isNotFound(err):
		return nil, err
	}
	t := s.stamp()
	secret := &secretmanagerpb.Secret{
		Name: n.String(), CreateTime: timestamppb.New(t), Etag: etagOf(t), Replication: sent.GetReplication(),
	}
	for _, path := range changeable {
		s.copyField(secret, sent, path)
	}
	secret = proto.CloneOf(secret)
	if err := s.check(n, secret); err != nil {
		return nil, err
	}
	return secret, s.put(n.key(secretKeys), secret)
}

// GetSecret implements secretmanagerpb.SecretManagerServiceServer.
func (s *Service) GetSecret(_ context.Context, req *secretmanagerpb.GetSecretRequest) (*secretmanagerpb.Secret, error) {
	n, err := parseSecret(req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.secrets.get"); err != nil {
		return nil, err
	}
	return s.secret(n)
}

// ListSecrets implements secretmanagerpb.SecretManagerServiceServer, newest
// first.
func (s *Service) ListSecrets(_ context.Context, req *secretmanagerpb.ListSecretsRequest) (*secretmanagerpb.ListSecretsResponse, error) {
	project, err := parseProject(req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.secrets(project)
	if err != nil {
		return nil, err
	}
	page, next, total, err := list(all, req)
	if err != nil {
		return nil, err
	}
	return &secretmanagerpb.ListSecretsResponse{Secrets: page, NextPageToken: next, TotalSize: total}, nil
}

// UpdateSecret implements secretmanagerpb.SecretManagerServiceServer.
func (s *Service) UpdateSecret(_ context.Context, req *secretmanagerpb.UpdateSecretRequest) (*secretmanagerpb.Secret, error) {
	n, err := parseSecret(req.GetSecret().GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.secrets.update"); err != nil {
		return nil, err
	}
	secret, err := s.secret(n)
	if err != nil {
		return nil, err
	}
	if etag := req.GetSecret().GetEtag(); etag != "" && etag != secret.GetEtag() {
		return nil, staleEtag(n.String())
	}
	paths := req.GetUpdateMask().GetPaths()
	if len(paths) == 0 {
		return nil, invalid("update_mask", "The update mask is required.")
	}
	for _, path := range paths {
		if path == "etag" {
			continue
		}
		if !s.copyField(secret, req.GetSecret(), path) {
			return nil, invalid("update_mask", "The field [%s] cannot be updated.", path)
		}
	}
	secret = proto.CloneOf(secret)
	if err := s.check(n, secret); err != nil {
		return nil, err
	}
	secret.Etag = etagOf(s.stamp())
	return secret, s.put(n.key(secretKeys), secret)
}

// DeleteSecret implements secretmanagerpb.SecretManagerServiceServer. The name is
// free again at once.
func (s *Service) DeleteSecret(_ context.Context, req *secretmanagerpb.DeleteSecretRequest) (*emptypb.Empty, error) {
	n, err := parseSecret(req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.secrets.delete"); err != nil {
		return nil, err
	}
	secret, err := s.secret(n)
	if err != nil {
		return nil, err
	}
	if etag := req.GetEtag(); etag != "" && etag != secret.GetEtag() {
		return nil, staleEtag(n.String())
	}
	return &emptypb.Empty{}, s.forget(n)
}

// changeable are the fields that an update may name.
var changeable = []string{"labels", "annotations", "version_aliases", "topics", "expire_time", "ttl", "rotation", "version_destroy_ttl"}

// copyField sets a field to what was sent and reports whether it is one that a
// caller may set. A time to live becomes the time at which it ends.
func (s *Service) copyField(secret, sent *secretmanagerpb.Secret, path string) bool {
	switch path {
	case "labels":
		secret.Labels = sent.GetLabels()
	case "annotations":
		secret.Annotations = sent.GetAnnotations()
	case "version_aliases":
		secret.VersionAliases = sent.GetVersionAliases()
	case "topics":
		secret.Topics = sent.GetTopics()
	case "rotation":
		secret.Rotation = sent.GetRotation()
	case "version_destroy_ttl":
		secret.VersionDestroyTtl = sent.GetVersionDestroyTtl()
	case "expire_time", "ttl":
		switch {
		case sent.GetTtl() != nil:
			secret.Expiration = &secretmanagerpb.Secret_ExpireTime{ExpireTime: timestamppb.New(s.clock.Now().Add(sent.GetTtl().AsDuration()))}
		case sent.GetExpireTime() != nil:
			secret.Expiration = &secretmanagerpb.Secret_ExpireTime{ExpireTime: sent.GetExpireTime()}
		default:
			secret.Expiration = nil
		}
	default:
		return false
	}
	return true
}

// labelText reports whether a key or value of a label has letters of no or lower
// case, digits, hyphens and underscores only, 63 and 128 bytes at most. A regular
// expression for it costs megabytes at the start of each task.
func labelText(text string) bool {
	for _, r := range text {
		if !unicode.In(r, unicode.Ll, unicode.Lo, unicode.N) && r != '_' && r != '-' {
			return false
		}
	}
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= 63 && len(text) <= 128
}

// beginsLabel reports whether the key of a label begins with a letter.
func beginsLabel(key string) bool {
	first, _ := utf8.DecodeRuneInString(key)
	return unicode.In(first, unicode.Ll, unicode.Lo)
}

// check applies the rules for what a caller may set.
func (s *Service) check(n secretName, secret *secretmanagerpb.Secret) error {
	if len(secret.GetLabels()) > maxLabels {
		return invalid("secret.labels", "A secret cannot have more than %d labels.", maxLabels)
	}
	for key, value := range secret.GetLabels() {
		if !labelText(key) || !beginsLabel(key) || !labelText(value) {
			return invalid("secret.labels", "The label [%s: %s] is not valid.", key, value)
		}
	}
	size := 0
	for key, value := range secret.GetAnnotations() {
		if size += len(key) + len(value); !annotationForm.MatchString(key) || !utf8.ValidString(value) {
			return invalid("secret.annotations", "The annotation [%s] is not valid.", key)
		}
	}
	if size >= maxAnnotations {
		return invalid("secret.annotations", "The annotations of a secret must be smaller than %d bytes.", maxAnnotations)
	}
	if len(secret.GetVersionAliases()) > maxAliases {
		return invalid("secret.version_aliases", "A secret cannot have more than %d aliases.", maxAliases)
	}
	newest := s.newest(n)
	for alias, number := range secret.GetVersionAliases() {
		if !aliasForm.MatchString(alias) || alias == latest || alias == "NEW" {
			return invalid("secret.version_aliases", "The alias [%s] is not valid.", alias)
		}
		if number < 1 || number > newest {
			return invalid("secret.version_aliases", "The alias [%s] names version %d, which does not exist.", alias, number)
		}
	}
	switch {
	case len(secret.GetTopics()) > maxTopics:
		return invalid("secret.topics", "A secret cannot have more than %d topics.", maxTopics)
	case secret.GetRotation() != nil && len(secret.GetTopics()) == 0:
		return invalid("secret.rotation", "A secret with a rotation must have a topic.")
	case secret.GetExpireTime() != nil && !secret.GetExpireTime().AsTime().After(s.clock.Now()):
		return invalid("secret.expire_time", "The time at which a secret expires must lie in the future.")
	case secret.GetVersionDestroyTtl() != nil && secret.GetVersionDestroyTtl().AsDuration() < 24*time.Hour:
		return invalid("secret.version_destroy_ttl", "The delay before a version is destroyed must be 24 hours or longer.")
	}
	return nil
}

func isNotFound(err error) bool { return hasCode(err, codes.NotFound) }
