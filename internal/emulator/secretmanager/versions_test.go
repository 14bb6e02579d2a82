// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager_test

import (
	"hash/crc32"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (w *world) add(payload *pb.SecretPayload) (*pb.SecretVersion, error) {
	w.t.Helper()
	return w.AddSecretVersion(w.t.Context(), &pb.AddSecretVersionRequest{Parent: key, Payload: payload})
}

func TestAddVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.add(&pb.SecretPayload{Data: []byte("a")})
	want(t, err, codes.NotFound, "Secret ["+keyNumber+"] not found.")
	replicas := &pb.Replication{Replication: &pb.Replication_UserManaged_{UserManaged: &pb.Replication_UserManaged{
		Replicas: []*pb.Replication_UserManaged_Replica{{Location: "us-central1"}},
	}}}
	if _, err := w.createSecret("key", &pb.Secret{Replication: replicas}); err != nil {
		t.Fatal(err)
	}
	sum := int64(crc32.Checksum([]byte("a"), crc32.MakeTable(crc32.Castagnoli)))
	got, err := w.add(&pb.SecretPayload{Data: []byte("a"), DataCrc32C: &sum})
	if err != nil {
		t.Fatal(err)
	}
	wanted := &pb.SecretVersion{
		Name: keyNumber + "/versions/1", State: pb.SecretVersion_ENABLED, ClientSpecifiedPayloadChecksum: true,
		CreateTime: got.GetCreateTime(), Etag: got.GetEtag(),
		ReplicationStatus: &pb.ReplicationStatus{ReplicationStatus: &pb.ReplicationStatus_UserManaged{UserManaged: &pb.ReplicationStatus_UserManagedStatus{
			Replicas: []*pb.ReplicationStatus_UserManagedStatus_ReplicaStatus{{Location: "us-central1"}},
		}}},
	}
	if d := cmp.Diff(wanted, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	answer, err := w.AccessSecretVersion(t.Context(), &pb.AccessSecretVersionRequest{Name: key + "/versions/latest"})
	if err != nil || answer.GetName() != keyNumber+"/versions/1" || answer.GetPayload().GetDataCrc32C() != sum {
		t.Errorf("access: %v, %v", answer, err)
	}
	_, err = w.add(nil)
	want(t, err, codes.InvalidArgument, "Secret Payload cannot be empty.")
	for _, p := range []*pb.SecretPayload{{Data: []byte("b"), DataCrc32C: &sum}, {Data: make([]byte, 64<<10+1)}} {
		_, err := w.add(p)
		want(t, err, codes.InvalidArgument, "")
	}
	if next, err := w.add(&pb.SecretPayload{Data: make([]byte, 64<<10)}); err != nil || next.GetName() != keyNumber+"/versions/2" {
		t.Errorf("the largest payload: %v, %v", next, err)
	}
}

func TestWhichVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.access("latest")
	want(t, err, codes.NotFound, "Secret ["+keyNumber+"] not found or has no versions.")
	if _, err := w.createSecret("key", &pb.Secret{}); err != nil {
		t.Fatal(err)
	}
	_, err = w.access("latest")
	want(t, err, codes.NotFound, "Secret ["+keyNumber+"] not found or has no versions.")
	w.secret("one", "two", "three")
	w.mustUpdate(&pb.Secret{VersionAliases: map[string]int64{"stable": 2}}, "version_aliases")
	for version, payload := range map[string]string{"1": "one", "stable": "two", "latest": "three", "3": "three"} {
		if got, err := w.access(version); err != nil || got != payload {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	for _, version := range []string{"4", "other"} {
		_, err := w.access(version)
		want(t, err, codes.NotFound, "Secret Version ["+keyNumber+"/versions/"+version+"] not found.")
	}
	for _, version := range []string{"0", "01", "a b", "-1"} {
		_, err := w.access(version)
		want(t, err, codes.InvalidArgument, "")
	}
	got, err := w.GetSecretVersion(t.Context(), &pb.GetSecretVersionRequest{Name: key + "/versions/stable"})
	if err != nil || got.GetName() != keyNumber+"/versions/2" {
		t.Errorf("get by alias: %v, %v", got, err)
	}
}

// A version that is not enabled cannot be read, not even as the latest.
func TestStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("one", "two")
	name := key + "/versions/2"
	disable := func(etag string) (*pb.SecretVersion, error) {
		return w.DisableSecretVersion(t.Context(), &pb.DisableSecretVersionRequest{Name: name, Etag: etag})
	}
	enable := func() (*pb.SecretVersion, error) {
		return w.EnableSecretVersion(t.Context(), &pb.EnableSecretVersionRequest{Name: name})
	}
	destroy := func() (*pb.SecretVersion, error) {
		return w.DestroySecretVersion(t.Context(), &pb.DestroySecretVersionRequest{Name: name})
	}
	_, err := disable(`"0"`)
	want(t, err, codes.FailedPrecondition, "")
	v, err := disable("")
	if err != nil || v.GetState() != pb.SecretVersion_DISABLED {
		t.Fatalf("disabled: %v, %v", v, err)
	}
	for _, version := range []string{"2", "latest"} {
		_, err := w.access(version)
		want(t, err, codes.FailedPrecondition, "Secret Version ["+keyNumber+"/versions/2] is in DISABLED state.")
	}
	if v, err = enable(); err != nil || v.GetState() != pb.SecretVersion_ENABLED {
		t.Fatalf("enabled: %v, %v", v, err)
	}
	if got, err := w.access("latest"); err != nil || got != "two" {
		t.Errorf("enabled again: %q, %v", got, err)
	}
	v, err = destroy()
	if err != nil || v.GetState() != pb.SecretVersion_DESTROYED || v.GetDestroyTime() == nil {
		t.Fatalf("destroyed: %v, %v", v, err)
	}
	_, err = w.access("latest")
	want(t, err, codes.FailedPrecondition, "Secret Version ["+keyNumber+"/versions/2] is in DESTROYED state.")
	_, err = enable()
	want(t, err, codes.FailedPrecondition, "")
	for _, record := range w.store.Keys("") {
		if value, _ := w.store.Get(record); strings.Contains(string(value), "two") {
			t.Errorf("%s still holds the destroyed payload", record)
		}
	}
	if v, err := w.add(&pb.SecretPayload{Data: []byte("three")}); err != nil || v.GetName() != keyNumber+"/versions/3" {
		t.Errorf("the number of a destroyed version is used again: %v, %v", v, err)
	}
	_, err = w.DisableSecretVersion(t.Context(), &pb.DisableSecretVersionRequest{Name: key + "/versions/latest"})
	want(t, err, codes.InvalidArgument, "")
	list, err := w.ListSecretVersions(t.Context(), &pb.ListSecretVersionsRequest{Parent: key, Filter: "state:enabled"})
	if err != nil || len(list.GetVersions()) != 2 || list.GetVersions()[0].GetName() != keyNumber+"/versions/3" {
		t.Errorf("enabled versions: %v, %v", list, err)
	}
}

func TestDelayedDestroy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("one")
	w.mustUpdate(&pb.Secret{VersionDestroyTtl: durationpb.New(24 * time.Hour)}, "version_destroy_ttl")
	name := key + "/versions/1"
	v, err := w.DestroySecretVersion(t.Context(), &pb.DestroySecretVersionRequest{Name: name})
	if err != nil || v.GetState() != pb.SecretVersion_DISABLED || !proto.Equal(v.GetScheduledDestroyTime(), timestamppb.New(begin.Add(24*time.Hour))) {
		t.Fatalf("put off: %v, %v", v, err)
	}
	if v, err = w.EnableSecretVersion(t.Context(), &pb.EnableSecretVersionRequest{Name: name}); err != nil || v.GetScheduledDestroyTime() != nil {
		t.Fatalf("taken back: %v, %v", v, err)
	}
	if _, err := w.DestroySecretVersion(t.Context(), &pb.DestroySecretVersionRequest{Name: name}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(24 * time.Hour)
	_, err = w.access("1")
	want(t, err, codes.FailedPrecondition, "Secret Version ["+keyNumber+"/versions/1] is in DESTROYED state.")
}
