// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package conformance

import (
	"errors"
	"strings"
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	secretmanager "cloud.google.com/go/secretmanager/apiv1"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	secretsv1 "google.golang.org/api/secretmanager/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

const accessor = "roles/secretmanager.secretAccessor"

// Google's Go client of Secret Manager, by gRPC and by REST.
func TestGoSecretManagerClient(t *testing.T) {
	t.Parallel()
	e := start(t)
	byGRPC, err := secretmanager.NewClient(t.Context(), option.WithEndpoint(e.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, byGRPC)
	byREST, err := secretmanager.NewRESTClient(t.Context(), option.WithEndpoint("http://"+e.Addr()), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, byREST)
	for id, client := range map[string]*secretmanager.Client{"grpc": byGRPC, "rest": byREST} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			judgeSecrets(t, client, id)
		})
	}
}

func judgeSecrets(t *testing.T, client *secretmanager.Client, id string) {
	ctx := t.Context()
	secret, err := client.CreateSecret(ctx, &secretmanagerpb.CreateSecretRequest{
		Parent: "projects/" + project, SecretId: id, Secret: &secretmanagerpb.Secret{
			Replication: &secretmanagerpb.Replication{Replication: &secretmanagerpb.Replication_Automatic_{Automatic: &secretmanagerpb.Replication_Automatic{}}},
			Labels:      map[string]string{"judge": id},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"one", "two"} {
		if _, err := client.AddSecretVersion(ctx, &secretmanagerpb.AddSecretVersionRequest{Parent: secret.GetName(), Payload: &secretmanagerpb.SecretPayload{Data: []byte(payload)}}); err != nil {
			t.Fatal(err)
		}
	}
	updated, err := client.UpdateSecret(ctx, &secretmanagerpb.UpdateSecretRequest{
		Secret:     &secretmanagerpb.Secret{Name: secret.GetName(), Etag: secret.GetEtag(), VersionAliases: map[string]int64{"old": 1}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"version_aliases"}},
	})
	if err != nil || updated.GetVersionAliases()["old"] != 1 || updated.GetLabels()["judge"] != id {
		t.Errorf("updated %v, %v", updated, err)
	}
	for version, payload := range map[string]string{"latest": "two", "old": "one", "1": "one"} {
		got, err := client.AccessSecretVersion(ctx, &secretmanagerpb.AccessSecretVersionRequest{Name: "projects/" + project + "/secrets/" + id + "/versions/" + version})
		if err != nil || string(got.GetPayload().GetData()) != payload {
			t.Errorf("%s: %v, %v", version, got, err)
		}
	}
	if _, err := client.DisableSecretVersion(ctx, &secretmanagerpb.DisableSecretVersionRequest{Name: secret.GetName() + "/versions/1"}); err != nil {
		t.Error(err)
	}
	if _, err := client.DestroySecretVersion(ctx, &secretmanagerpb.DestroySecretVersionRequest{Name: secret.GetName() + "/versions/2"}); err != nil {
		t.Error(err)
	}
	var states []secretmanagerpb.SecretVersion_State
	for it := client.ListSecretVersions(ctx, &secretmanagerpb.ListSecretVersionsRequest{Parent: secret.GetName(), PageSize: 1}); ; {
		v, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, v.GetState())
	}
	if len(states) != 2 || states[0] != secretmanagerpb.SecretVersion_DESTROYED || states[1] != secretmanagerpb.SecretVersion_DISABLED {
		t.Errorf("states %v", states)
	}
	judgeSecretPolicy(t, client, secret.GetName())
	if err := client.DeleteSecret(ctx, &secretmanagerpb.DeleteSecretRequest{Name: secret.GetName()}); err != nil {
		t.Error(err)
	}
	var apiErr *apierror.APIError
	_, err = client.GetSecret(ctx, &secretmanagerpb.GetSecretRequest{Name: secret.GetName()})
	if !errors.As(err, &apiErr) || apiErr.GRPCStatus().Code() != codes.NotFound && apiErr.HTTPCode() != 404 || !strings.Contains(err.Error(), "Secret ["+secret.GetName()+"] not found.") {
		t.Errorf("a deleted secret: %v", err)
	}
}

func judgeSecretPolicy(t *testing.T, client *secretmanager.Client, secret string) {
	t.Helper()
	ctx := t.Context()
	read := func() *iampb.Policy {
		t.Helper()
		p, err := client.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: secret, Options: &iampb.GetPolicyOptions{RequestedPolicyVersion: 3}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	write := func(etag []byte, member string) error {
		_, err := client.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: secret, Policy: &iampb.Policy{
			Etag: etag, Version: 3, Bindings: []*iampb.Binding{{Role: accessor, Members: []string{member}}},
		}})
		return err
	}
	before := read()
	if err := write(before.GetEtag(), "user:me@x.example"); err != nil {
		t.Fatal(err)
	}
	if err := write(before.GetEtag(), "user:you@x.example"); err == nil || !strings.Contains(err.Error(), "There were concurrent policy changes") {
		t.Errorf("a stale etag: %v", err)
	}
	if b := read().GetBindings(); len(b) != 1 || b[0].GetMembers()[0] != "user:me@x.example" {
		t.Errorf("bindings %v", b)
	}
	asked := []string{"secretmanager.versions.access"}
	got, err := client.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: secret, Permissions: asked})
	if err != nil || len(got.GetPermissions()) != 1 {
		t.Errorf("permissions %v, %v", got, err)
	}
	got, err = client.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: secret + "-none", Permissions: asked})
	if err != nil || len(got.GetPermissions()) != 0 {
		t.Errorf("permissions on a missing secret %v, %v", got, err)
	}
}

// The discovery-based client, as other Google tools are made of it.
func TestGoSecretManagerDiscovery(t *testing.T) {
	t.Parallel()
	e := start(t)
	service, err := secretsv1.NewService(t.Context(), option.WithEndpoint("http://"+e.Addr()), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	secrets := service.Projects.Secrets
	made, err := secrets.Create("projects/"+project, &secretsv1.Secret{Replication: &secretsv1.Replication{Automatic: &secretsv1.Automatic{}}}).SecretId("discovery").Do()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.AddVersion(made.Name, &secretsv1.AddSecretVersionRequest{Payload: &secretsv1.SecretPayload{Data: "b25l"}}).Do(); err != nil {
		t.Fatal(err)
	}
	got, err := secrets.Versions.Access(made.Name + "/versions/latest").Do()
	if err != nil || got.Payload.Data != "b25l" || got.Payload.DataCrc32c == 0 {
		t.Errorf("access %+v, %v", got, err)
	}
	policy, err := secrets.GetIamPolicy(made.Name).OptionsRequestedPolicyVersion(3).Do()
	if err != nil {
		t.Fatal(err)
	}
	policy.Bindings = []*secretsv1.Binding{{Role: accessor, Members: []string{"user:me@x.example"}}}
	if policy, err = secrets.SetIamPolicy(made.Name, &secretsv1.SetIamPolicyRequest{Policy: policy}).Do(); err != nil || len(policy.Bindings) != 1 {
		t.Errorf("policy %+v, %v", policy, err)
	}
}
