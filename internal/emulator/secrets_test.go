// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const secretsPath = "/v1/projects/p/secrets"

func encoded(payload string) string { return base64.StdEncoding.EncodeToString([]byte(payload)) }

func TestSecretsByREST(t *testing.T) {
	t.Parallel()
	e := start(t)
	number := "projects/" + store.ProjectNumber("p") + "/secrets/key"
	made := must(t, e, "POST", secretsPath+"?secretId=key", `{"replication":{"automatic":{}}}`)
	if made.at("name") != number || made.at("etag") == nil || !strings.Contains(made.text, `"automatic": {}`) {
		t.Errorf("made %s", made.text)
	}
	for i, payload := range []string{"one", "two"} {
		added := must(t, e, "POST", secretsPath+"/key:addVersion", `{"payload":{"data":"`+encoded(payload)+`"}}`)
		if added.at("name") != fmt.Sprintf("%s/versions/%d", number, i+1) || added.at("state") != "ENABLED" {
			t.Errorf("added %s", added.text)
		}
	}
	if got := must(t, e, "PATCH", secretsPath+"/key?updateMask=version_aliases%2Clabels", `{"versionAliases":{"first":"1"}}`); got.at("versionAliases.first") != "1" {
		t.Errorf("with a mask in the message's spelling: %s", got.text)
	}
	patched := must(t, e, "PATCH", secretsPath+"/key?updateMask=versionAliases,labels", `{"versionAliases":{"old":"1"},"labels":{"team":"ml"}}`)
	if patched.at("versionAliases.old") != "1" || patched.at("labels.team") != "ml" {
		t.Errorf("patched %s", patched.text)
	}
	for version, payload := range map[string]string{"old": "one", "latest": "two"} {
		got := must(t, e, "GET", secretsPath+"/key/versions/"+version+":access", "")
		if got.at("payload.data") != encoded(payload) || got.at("payload.dataCrc32c") == nil {
			t.Errorf("%s: %s", version, got.text)
		}
	}
	policy := must(t, e, "GET", secretsPath+"/key:getIamPolicy?options.requestedPolicyVersion=3", "")
	if policy.at("etag") != "ACAB" {
		t.Errorf("untouched policy %s", policy.text)
	}
	set := func(etag any) answer {
		return rest(t, e, "POST", secretsPath+"/key:setIamPolicy", fmt.Sprintf(`{"policy":{"etag":%q,"version":3,"bindings":[{"role":"roles/secretmanager.secretAccessor","members":["user:me@x.example"]}]}}`, etag))
	}
	if got := set(policy.at("etag")); got.code != http.StatusOK {
		t.Errorf("set: %s", got.text)
	}
	if got := set(policy.at("etag")); got.code != http.StatusConflict || got.at("error.status") != "ABORTED" || !strings.HasPrefix(fmt.Sprint(got.at("error.message")), "There were concurrent policy changes.") {
		t.Errorf("a stale etag: %d %s", got.code, got.text)
	}
	if got := must(t, e, "POST", secretsPath+"/none:testIamPermissions", `{"permissions":["secretmanager.secrets.get"]}`); strings.TrimSpace(got.text) != "{}" {
		t.Errorf("permissions on a missing secret: %s", got.text)
	}
	if got := rest(t, e, "GET", secretsPath+"/none", ""); got.code != http.StatusNotFound || got.at("error.message") != "Secret [projects/"+store.ProjectNumber("p")+"/secrets/none] not found." {
		t.Errorf("a missing secret: %d %s", got.code, got.text)
	}
	must(t, e, "POST", secretsPath+"/key/versions/2:disable", "{}")
	if got := rest(t, e, "GET", secretsPath+"/key/versions/latest:access", ""); got.code != http.StatusBadRequest || got.at("error.status") != "FAILED_PRECONDITION" {
		t.Errorf("a disabled version: %d %s", got.code, got.text)
	}
	if got := must(t, e, "GET", secretsPath+"/key/versions?filter=state:ENABLED", ""); strings.Count(got.text, `"name"`) != 1 {
		t.Errorf("enabled versions: %s", got.text)
	}
	must(t, e, "DELETE", secretsPath+"/key", "")
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A real task reads its secrets from its environment and from a file; nothing
// that the emulator tells of itself holds them.
func TestTaskWithSecrets(t *testing.T) {
	t.Parallel()
	const payload, second = "open-sesame-4711", "swordfish-0815"
	log := &lines{}
	e := start(t, func(o *emulator.Options) {
		o.Launcher = nil
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	must(t, e, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"trainer"}`)
	for id, p := range map[string]string{"key": payload, "conf": second} {
		must(t, e, "POST", secretsPath+"?secretId="+id, `{"replication":{"automatic":{}}}`)
		must(t, e, "POST", secretsPath+"/"+id+":addVersion", `{"payload":{"data":"`+encoded(p)+`"}}`)
	}
	must(t, e, "POST", secretsPath+"/key:setIamPolicy", `{"policy":{"bindings":[{"role":"roles/secretmanager.secretAccessor","members":["serviceAccount:trainer@p.iam.gserviceaccount.com"]}]}}`)
	const job = `{"template":{"template":{"maxRetries":0,"serviceAccount":"trainer@p.iam.gserviceaccount.com",
		"containers":[{"image":"example.com/train:1","command":["/bin/sh","-c"],
			"args":["test ${#KEY} = 16 || exit 1; case $KEY in open-sesame-*) ;; *) exit 2;; esac; read -r line < /conf/file || [ ${#line} = 14 ] || exit 3; case $line in swordfish-*) ;; *) exit 4;; esac; echo all read"],
			"env":[{"name":"KEY","valueSource":{"secretKeyRef":{"secret":"key","version":"latest"}}}],
			"volumeMounts":[{"name":"conf","mountPath":"/conf"}]}],
		"volumes":[{"name":"conf","secret":{"secret":"conf","items":[{"path":"file","version":"1"}]}}]}}}`
	wait := func(op answer) answer {
		t.Helper()
		return must(t, e, "POST", "/v2/"+fmt.Sprint(op.at("name"))+":wait", `{"timeout":"30s"}`)
	}
	// The second secret is closed to the account: the job is made, and not ready.
	end := wait(must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", job))
	if end.at("error.code") != float64(codes.Internal) || !strings.HasPrefix(fmt.Sprint(end.at("error.message")), "spec.template.spec.volumes[0].secret.items[0].key: Permission denied on secret: ") {
		t.Errorf("with a closed secret: %s", end.text)
	}
	must(t, e, "POST", secretsPath+"/conf:setIamPolicy", `{"policy":{"bindings":[{"role":"roles/secretmanager.secretAccessor","members":["serviceAccount:trainer@p.iam.gserviceaccount.com"]}]}}`)
	if end = wait(must(t, e, "PATCH", "/v2/"+parent+"/jobs/train", job)); end.at("error") != nil {
		t.Fatalf("with the grant: %s", end.text)
	}
	if end = wait(must(t, e, "POST", "/v2/"+parent+"/jobs/train:run", "{}")); end.at("error") != nil || end.at("response.succeededCount") != float64(1) {
		t.Errorf("the run: %s", end.text)
	}

	// Refusals of a payload do not show it.
	told := &strings.Builder{}
	for _, body := range []string{
		`{"payload":{"data":"` + payload + `!"}}`, `{"payload":"` + payload + `"}`, `{"payload":{"data":` + payload + `}}`,
		`{"payload":{"data":"` + encoded(payload) + `","dataCrc32c":"1"}}`,
	} {
		got := rest(t, e, "POST", secretsPath+"/key:addVersion", body)
		if got.code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, got.code, got.text)
		}
		told.WriteString(got.text)
	}
	conn, err := grpc.NewClient(e.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	large := strings.Repeat(payload, 5000)
	_, err = secretmanagerpb.NewSecretManagerServiceClient(conn).AddSecretVersion(t.Context(), &secretmanagerpb.AddSecretVersionRequest{
		Parent: "projects/p/secrets/key", Payload: &secretmanagerpb.SecretPayload{Data: []byte(large)},
	})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a large payload: %v", err)
	}
	fmt.Fprint(told, err)

	calls := must(t, e, "GET", "/control/v1/calls", "", "Authorization", "Bearer "+e.ControlToken()).text
	entries := must(t, e, "POST", "/v2/entries:list", `{"resourceNames":["projects/p"]}`).text
	if !strings.Contains(calls, "/AddSecretVersion") || !strings.Contains(entries, "all read") || !strings.Contains(log.String(), "secret key has a new version") {
		t.Errorf("the records are not complete:\n%s\n%s\n%s", calls, entries, log)
	}
	for where, text := range map[string]string{
		"the record": fmt.Sprint(e.Faults().Calls()), "the control call": calls, "the log entries": entries, "the log": log.String(), "an error": told.String(),
		"the job": must(t, e, "GET", "/v2/"+parent+"/jobs/train", "").text,
	} {
		for _, p := range []string{payload, second, encoded(payload), encoded(second)} {
			if strings.Contains(text, p) {
				t.Errorf("%s shows a payload", where)
			}
		}
	}
}
