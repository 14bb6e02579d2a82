// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/iam/apiv1/iampb"
	pb "cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/secretmanager"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

func mask(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }

var automatic = &pb.Replication{Replication: &pb.Replication_Automatic_{Automatic: &pb.Replication_Automatic{}}}

func (w *world) createSecret(id string, s *pb.Secret) (*pb.Secret, error) {
	w.t.Helper()
	if s.Replication == nil {
		s.Replication = automatic
	}
	return w.CreateSecret(w.t.Context(), &pb.CreateSecretRequest{Parent: "projects/" + project, SecretId: id, Secret: s})
}

func (w *world) get(name string) (*pb.Secret, error) {
	w.t.Helper()
	return w.GetSecret(w.t.Context(), &pb.GetSecretRequest{Name: name})
}

// Answers name the project by its number, requests by either.
func TestCreateAndGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := w.createSecret("key", &pb.Secret{Name: "ignored", Labels: map[string]string{"team": "ml"}, Annotations: map[string]string{"a.b": "C d"}})
	if err != nil {
		t.Fatal(err)
	}
	wanted := &pb.Secret{
		Name: keyNumber, Replication: automatic, CreateTime: timestamppb.New(begin), Etag: made.GetEtag(),
		Labels: map[string]string{"team": "ml"}, Annotations: map[string]string{"a.b": "C d"},
	}
	if d := cmp.Diff(wanted, made, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if !regexp.MustCompile(`^"[0-9a-f]{13,}"$`).MatchString(made.GetEtag()) {
		t.Errorf("etag %s", made.GetEtag())
	}
	for _, name := range []string{key, keyNumber} {
		if got, err := w.get(name); err != nil || !cmp.Equal(got, made, protocmp.Transform()) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, err = w.createSecret("key", &pb.Secret{})
	want(t, err, codes.AlreadyExists, "Secret ["+keyNumber+"] already exists.")
	_, err = w.get("projects/demo/secrets/none")
	want(t, err, codes.NotFound, "Secret [projects/"+number+"/secrets/none] not found.")
}

func TestCreateRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprintf("l%d", i)] = ""
	}
	for name, c := range map[string]struct {
		id     string
		secret *pb.Secret
	}{
		"empty id":              {"", &pb.Secret{}},
		"dot in id":             {"a.b", &pb.Secret{}},
		"long id":               {strings.Repeat("a", 256), &pb.Secret{}},
		"no replication":        {"a", &pb.Secret{Replication: &pb.Replication{}}},
		"label key":             {"a", &pb.Secret{Labels: map[string]string{"Team": "x"}}},
		"label value":           {"a", &pb.Secret{Labels: map[string]string{"team": "X"}}},
		"many labels":           {"a", &pb.Secret{Labels: many}},
		"annotation":            {"a", &pb.Secret{Annotations: map[string]string{"-a": "x"}}},
		"large annotation":      {"a", &pb.Secret{Annotations: map[string]string{"a": strings.Repeat("x", 16<<10)}}},
		"alias without version": {"a", &pb.Secret{VersionAliases: map[string]int64{"old": 1}}},
		"past expiry":           {"a", &pb.Secret{Expiration: &pb.Secret_ExpireTime{ExpireTime: timestamppb.New(begin)}}},
		"rotation, no topic":    {"a", &pb.Secret{Rotation: &pb.Rotation{}}},
		"short delay":           {"a", &pb.Secret{VersionDestroyTtl: durationpb.New(time.Hour)}},
	} {
		if _, err := w.createSecret(c.id, c.secret); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			want(t, err, codes.InvalidArgument, "")
		}
	}
	for _, parent := range []string{"", "demo", "projects/", "projects/demo/locations/us-central1"} {
		_, err := w.CreateSecret(t.Context(), &pb.CreateSecretRequest{Parent: parent, SecretId: "a", Secret: &pb.Secret{Replication: automatic}})
		want(t, err, codes.InvalidArgument, "")
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("a", "b")
	first, err := w.get(key)
	if err != nil {
		t.Fatal(err)
	}
	second := w.mustUpdate(&pb.Secret{Labels: map[string]string{"team": "ml"}, Annotations: map[string]string{"not": "named"}, Etag: first.GetEtag()}, "labels", "etag")
	if second.GetLabels()["team"] != "ml" || len(second.GetAnnotations()) != 0 || second.GetEtag() == first.GetEtag() {
		t.Errorf("updated: %v", second)
	}
	_, err = w.update(&pb.Secret{Etag: first.GetEtag()}, "labels")
	want(t, err, codes.FailedPrecondition, "")
	for _, paths := range [][]string{nil, {"name"}, {"replication"}, {"labels", "create_time"}} {
		_, err := w.update(&pb.Secret{}, paths...)
		want(t, err, codes.InvalidArgument, "")
	}
	for _, alias := range []string{"latest", "NEW", "1a", "a b", strings.Repeat("a", 64)} {
		_, err := w.update(&pb.Secret{VersionAliases: map[string]int64{alias: 1}}, "version_aliases")
		want(t, err, codes.InvalidArgument, "")
	}
	_, err = w.update(&pb.Secret{VersionAliases: map[string]int64{"next": 3}}, "version_aliases")
	want(t, err, codes.InvalidArgument, "")
	if got, _ := w.get(key); !cmp.Equal(got, second, protocmp.Transform()) {
		t.Errorf("a refused update left %v", got)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("a", "b")
	w.grant(accessor, "user:me@x.example")
	remove := func(etag string) error {
		_, err := w.DeleteSecret(t.Context(), &pb.DeleteSecretRequest{Name: key, Etag: etag})
		return err
	}
	want(t, remove(`"1"`), codes.FailedPrecondition, "")
	want(t, remove(""), codes.OK, "")
	want(t, remove(""), codes.NotFound, "Secret ["+keyNumber+"] not found.")
	if left := w.store.Keys("secretmanager/"); len(left) != 0 {
		t.Errorf("left in the store: %v", left)
	}
	w.secret("c")
	if got, err := w.access("1"); err != nil || got != "c" {
		t.Errorf("after a new start: %q, %v", got, err)
	}
	if len(w.policy().GetBindings()) != 0 {
		t.Error("the policy outlived the secret")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		label := map[string]string{"n": fmt.Sprint(i % 2)}
		if _, err := w.createSecret(fmt.Sprintf("s%d", i), &pb.Secret{Labels: label}); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Second)
	}
	if _, err := w.AddSecret("other", "s9", []byte("x")); err != nil {
		t.Fatal(err)
	}
	list := func(filter string, size int32) (ids []string, total int32) {
		t.Helper()
		req := &pb.ListSecretsRequest{Parent: "projects/" + project, PageSize: size, Filter: filter}
		for {
			resp, err := w.ListSecrets(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range resp.GetSecrets() {
				ids = append(ids, s.GetName()[strings.LastIndex(s.GetName(), "/")+1:])
			}
			total = resp.GetTotalSize()
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				return ids, total
			}
		}
	}
	all, total := list("", 2)
	if d := cmp.Diff([]string{"s4", "s3", "s2", "s1", "s0"}, all); d != "" || total != 5 {
		t.Errorf("total %d, %s", total, d)
	}
	filtered, total := list(`labels.n=0 AND name:"S2"`, 0)
	if d := cmp.Diff([]string{"s2"}, filtered); d != "" || total != 0 {
		t.Errorf("filtered: total %d, %s", total, d)
	}
	if ids, _ := list("labels.n:*", 0); len(ids) != 5 {
		t.Errorf("with a label: %v", ids)
	}
	if ids, _ := list("state=ENABLED", 0); len(ids) != 0 {
		t.Errorf("secrets with a state: %v", ids)
	}
	for _, req := range []*pb.ListSecretsRequest{{Filter: "create_time>2026"}, {Filter: "name:a OR name:b"}, {PageSize: -1}, {PageToken: "x"}} {
		req.Parent = "projects/" + project
		_, err := w.ListSecrets(t.Context(), req)
		want(t, err, codes.InvalidArgument, "")
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := w.createSecret("key", &pb.Secret{Expiration: &pb.Secret_Ttl{Ttl: durationpb.New(time.Hour)}})
	if err != nil || !made.GetExpireTime().AsTime().Equal(begin.Add(time.Hour)) || made.GetTtl() != nil {
		t.Fatalf("made %v, %v", made, err)
	}
	w.clock.Advance(time.Hour)
	_, err = w.get(key)
	want(t, err, codes.NotFound, "Secret ["+keyNumber+"] not found.")
}

// The folder of --data keeps payloads, aliases and policies.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() (*secretmanager.Service, *store.Store) {
		st, err := store.Folder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return secretmanager.New(st, nil, nil), st
	}
	s, st := open()
	if _, err := s.AddSecret(project, "Key", []byte("a\x00b")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetIamPolicy(t.Context(), &iampb.SetIamPolicyRequest{Resource: "projects/demo/secrets/Key", Policy: &iampb.Policy{
		Bindings: []*iampb.Binding{{Role: accessor, Members: []string{"user:me@x.example"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	s, st = open()
	if got, err := s.Access("projects/demo/secrets/Key", "latest", "user:me@x.example"); err != nil || string(got) != "a\x00b" {
		t.Errorf("after a restart: %q, %v", got, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
