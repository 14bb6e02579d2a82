// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// expired reports whether the time of a secret is over.
func (s *Service) expired(secret *secretmanagerpb.Secret) bool {
	at := secret.GetExpireTime()
	return at != nil && !s.clock.Now().Before(at.AsTime())
}

// destroyDue destroys a version whose delay is over.
func (s *Service) destroyDue(n versionName, v *secretmanagerpb.SecretVersion) error {
	if at := v.GetScheduledDestroyTime(); at != nil && !s.clock.Now().Before(at.AsTime()) {
		return s.destroy(n, v)
	}
	return nil
}

// destroy removes a version's payload for good; the version stays to be seen.
func (s *Service) destroy(n versionName, v *secretmanagerpb.SecretVersion) error {
	if err := s.store.Delete(n.key(payloadKeys)); err != nil {
		return internal(err)
	}
	t := s.stamp()
	v.State, v.DestroyTime, v.ScheduledDestroyTime = secretmanagerpb.SecretVersion_DESTROYED, timestamppb.New(t), nil
	v.Etag = etagOf(t)
	return s.put(n.key(versionKeys), v)
}
