// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"context"
	"hash/crc32"
	"strconv"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const maxPayload = 64 << 10 // bytes, of the proto's comment

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(payload []byte) int64 { return int64(crc32.Checksum(payload, castagnoli)) }

// AddSecretVersion implements secretmanagerpb.SecretManagerServiceServer.
func (s *Service) AddSecretVersion(_ context.Context, req *secretmanagerpb.AddSecretVersionRequest) (*secretmanagerpb.SecretVersion, error) {
	n, err := parseSecret(req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.versions.add"); err != nil {
		return nil, err
	}
	secret, err := s.secret(n)
	if err != nil {
		return nil, err
	}
	payload := req.GetPayload().GetData()
	var sum *int64
	if req.GetPayload() != nil {
		sum = req.GetPayload().DataCrc32C
	}
	switch {
	case len(payload) == 0:
		return nil, invalid("payload.data", "Secret Payload cannot be empty.")
	case len(payload) > maxPayload:
		return nil, invalid("payload.data", "The payload of a secret version cannot be larger than %d bytes.", maxPayload)
	case sum != nil && *sum != checksum(payload):
		return nil, invalid("payload.data_crc32c", "The payload does not have the given checksum.")
	}
	v := n.version(strconv.FormatInt(s.newest(n)+1, 10))
	t := s.stamp()
	version := &secretmanagerpb.SecretVersion{
		Name: v.String(), CreateTime: timestamppb.New(t), Etag: etagOf(t), State: secretmanagerpb.SecretVersion_ENABLED,
		ReplicationStatus: replicationStatus(secret.GetReplication()), ClientSpecifiedPayloadChecksum: sum != nil,
	}
	// The payload first: a version that is seen has one.
	if err := s.store.Put(v.key(payloadKeys), payload); err != nil {
		return nil, internal(err)
	}
	return version, s.put(v.key(versionKeys), version)
}

func replicationStatus(r *secretmanagerpb.Replication) *secretmanagerpb.ReplicationStatus {
	managed := r.GetUserManaged()
	if managed == nil {
		return &secretmanagerpb.ReplicationStatus{ReplicationStatus: &secretmanagerpb.ReplicationStatus_Automatic{
			Automatic: &secretmanagerpb.ReplicationStatus_AutomaticStatus{},
		}}
	}
	out := &secretmanagerpb.ReplicationStatus_UserManagedStatus{}
	for _, replica := range managed.GetReplicas() {
		out.Replicas = append(out.Replicas, &secretmanagerpb.ReplicationStatus_UserManagedStatus_ReplicaStatus{Location: replica.GetLocation()})
	}
	return &secretmanagerpb.ReplicationStatus{ReplicationStatus: &secretmanagerpb.ReplicationStatus_UserManaged{UserManaged: out}}
}

// resolve finds the version that a name means, also by "latest" or an alias. The
// newest version is the latest even when it is disabled or destroyed.
func (s *Service) resolve(n versionName) (*secretmanagerpb.SecretVersion, error) {
	secret, err := s.secret(n.secretName)
	if isNotFound(err) {
		return nil, n.notFound()
	}
	if err != nil {
		return nil, err
	}
	number := n
	switch alias, isAlias := secret.GetVersionAliases()[n.id]; {
	case n.id == latest:
		number.id = strconv.FormatInt(s.newest(n.secretName), 10)
	case isAlias:
		number.id = strconv.FormatInt(alias, 10)
	case !numberForm.MatchString(n.id):
		return nil, n.notFound()
	}
	version, err := s.version(number)
	if isNotFound(err) {
		return nil, n.notFound()
	}
	return version, err
}

// payload returns what a version holds, if it is enabled.
func (s *Service) payload(version *secretmanagerpb.SecretVersion) ([]byte, error) {
	if version.GetState() != secretmanagerpb.SecretVersion_ENABLED {
		return nil, status.Errorf(codes.FailedPrecondition, "Secret Version [%s] is in %s state.", version.GetName(), version.GetState())
	}
	n, err := parseVersion(version.GetName())
	if err != nil {
		return nil, err
	}
	payload, ok := s.store.Get(n.key(payloadKeys))
	if !ok {
		return nil, status.Error(codes.Internal, "Internal error encountered.")
	}
	return payload, nil
}

// GetSecretVersion implements secretmanagerpb.SecretManagerServiceServer.
func (s *Service) GetSecretVersion(_ context.Context, req *secretmanagerpb.GetSecretVersionRequest) (*secretmanagerpb.SecretVersion, error) {
	n, err := parseVersion(req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n.secretName, "secretmanager.versions.get"); err != nil {
		return nil, err
	}
	return s.resolve(n)
}

// AccessSecretVersion implements secretmanagerpb.SecretManagerServiceServer. The
// caller is the project's owner; what a task may read is decided by Access.
func (s *Service) AccessSecretVersion(_ context.Context, req *secretmanagerpb.AccessSecretVersionRequest) (*secretmanagerpb.AccessSecretVersionResponse, error) {
	n, err := parseVersion(req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n.secretName, accessPermission); err != nil {
		return nil, err
	}
	version, err := s.resolve(n)
	if err != nil {
		return nil, err
	}
	payload, err := s.payload(version)
	if err != nil {
		return nil, err
	}
	sum := checksum(payload)
	return &secretmanagerpb.AccessSecretVersionResponse{
		Name: version.GetName(), Payload: &secretmanagerpb.SecretPayload{Data: payload, DataCrc32C: &sum},
	}, nil
}

// ListSecretVersions implements secretmanagerpb.SecretManagerServiceServer,
// newest first.
func (s *Service) ListSecretVersions(_ context.Context, req *secretmanagerpb.ListSecretVersionsRequest) (*secretmanagerpb.ListSecretVersionsResponse, error) {
	n, err := parseSecret(req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n, "secretmanager.versions.list"); err != nil {
		return nil, err
	}
	if _, err := s.secret(n); err != nil {
		return nil, err
	}
	all, err := s.versions(n)
	if err != nil {
		return nil, err
	}
	page, next, total, err := list(all, req)
	if err != nil {
		return nil, err
	}
	return &secretmanagerpb.ListSecretVersionsResponse{Versions: page, NextPageToken: next, TotalSize: total}, nil
}

// EnableSecretVersion implements secretmanagerpb.SecretManagerServiceServer. It
// also takes back a destruction that was put off.
func (s *Service) EnableSecretVersion(_ context.Context, req *secretmanagerpb.EnableSecretVersionRequest) (*secretmanagerpb.SecretVersion, error) {
	return s.changeState(req, "secretmanager.versions.enable", func(_ versionName, v *secretmanagerpb.SecretVersion) error {
		v.State, v.ScheduledDestroyTime = secretmanagerpb.SecretVersion_ENABLED, nil
		return nil
	})
}

// DisableSecretVersion implements secretmanagerpb.SecretManagerServiceServer. It
// also takes back a destruction that was put off.
func (s *Service) DisableSecretVersion(_ context.Context, req *secretmanagerpb.DisableSecretVersionRequest) (*secretmanagerpb.SecretVersion, error) {
	return s.changeState(req, "secretmanager.versions.disable", func(_ versionName, v *secretmanagerpb.SecretVersion) error {
		v.State, v.ScheduledDestroyTime = secretmanagerpb.SecretVersion_DISABLED, nil
		return nil
	})
}

// DestroySecretVersion implements secretmanagerpb.SecretManagerServiceServer. A
// secret with a delay gets its version disabled, and destroyed later.
func (s *Service) DestroySecretVersion(_ context.Context, req *secretmanagerpb.DestroySecretVersionRequest) (*secretmanagerpb.SecretVersion, error) {
	return s.changeState(req, "secretmanager.versions.destroy", func(n versionName, v *secretmanagerpb.SecretVersion) error {
		secret, err := s.secret(n.secretName)
		if err != nil {
			return err
		}
		if delay := secret.GetVersionDestroyTtl(); delay != nil {
			v.State = secretmanagerpb.SecretVersion_DISABLED
			v.ScheduledDestroyTime = timestamppb.New(s.clock.Now().Add(delay.AsDuration()))
			return nil
		}
		return s.destroy(n, v)
	})
}

// stateRequest is a request that changes the state of a version.
type stateRequest interface {
	GetName() string
	GetEtag() string
}

// changeState changes a version that is not destroyed, named by its number.
func (s *Service) changeState(req stateRequest, permission string, change func(versionName, *secretmanagerpb.SecretVersion) error) (*secretmanagerpb.SecretVersion, error) {
	n, err := parseVersion(req.GetName())
	if err != nil {
		return nil, err
	}
	if !numberForm.MatchString(n.id) {
		return nil, invalid("name", "The version [%s] must be named by its number here.", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.may(n.secretName, permission); err != nil {
		return nil, err
	}
	version, err := s.resolve(n)
	if err != nil {
		return nil, err
	}
	if etag := req.GetEtag(); etag != "" && etag != version.GetEtag() {
		return nil, staleEtag(n.String())
	}
	if version.GetState() == secretmanagerpb.SecretVersion_DESTROYED {
		return nil, status.Errorf(codes.FailedPrecondition, "Secret Version [%s] is in DESTROYED state.", n)
	}
	if err := change(n, version); err != nil {
		return nil, err
	}
	version.Etag = etagOf(s.stamp())
	return version, s.put(n.key(versionKeys), version)
}
