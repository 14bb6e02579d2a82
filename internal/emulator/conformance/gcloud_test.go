// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gcloud's storage, iam, secrets and logging commands.
func TestGcloud(t *testing.T) {
	t.Parallel()
	path := command(t, "gcloud", false)
	e := start(t)
	base := "http://" + e.Addr()
	config := t.TempDir()
	gcloud := func(t *testing.T, args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, append(args, "--quiet", "--project", project)...)
		cmd.Env = append(os.Environ(),
			"CLOUDSDK_CONFIG="+config, "CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true",
			"CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true",
			"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE="+base+"/storage/v1/",
			"CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM="+base+"/",
			"CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING="+base+"/",
			"CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER="+base+"/",
		)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String() + stderr.String(), err
	}
	must := func(t *testing.T, want string, args ...string) {
		t.Helper()
		out, err := gcloud(t, args...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("gcloud %s: %v, want %q in\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	file := filepath.Join(t.TempDir(), "step-1")
	if err := os.WriteFile(file, []byte("checkpoint"), 0o600); err != nil {
		t.Fatal(err)
	}
	bucket := "gs://conformance-gcloud"

	must(t, "Creating", "storage", "buckets", "create", bucket, "--location=us-central1", "--uniform-bucket-level-access")
	must(t, "US-CENTRAL1", "storage", "buckets", "describe", bucket)
	must(t, "", "storage", "cp", file, bucket+"/run/step-1")
	must(t, "run/step-1", "storage", "ls", "-r", bucket)
	must(t, "checkpoint", "storage", "cat", bucket+"/run/step-1")
	must(t, "judge-gcloud", "iam", "service-accounts", "create", "judge-gcloud", "--display-name=Judge")
	email := "judge-gcloud@" + project + ".iam.gserviceaccount.com"
	must(t, "Judge", "iam", "service-accounts", "describe", email)
	must(t, email, "storage", "buckets", "add-iam-policy-binding", bucket, "--member=serviceAccount:"+email, "--role=roles/storage.objectUser")
	if out, err := gcloud(t, "storage", "buckets", "add-iam-policy-binding", bucket, "--member=serviceAccount:nobody@"+project+".iam.gserviceaccount.com", "--role=roles/storage.objectUser"); err == nil || !strings.Contains(out, "does not exist") {
		t.Errorf("granting an account that does not exist: %v\n%s", err, out)
	}
	must(t, "Created version [1]", "secrets", "create", "judge", "--replication-policy=automatic", "--data-file="+file)
	must(t, "checkpoint", "secrets", "versions", "access", "latest", "--secret=judge")
	must(t, email, "secrets", "add-iam-policy-binding", "judge", "--member=serviceAccount:"+email, "--role="+accessor)
	must(t, "judge", "secrets", "list")
	must(t, "", "secrets", "versions", "disable", "1", "--secret=judge")
	if out, err := gcloud(t, "secrets", "versions", "access", "latest", "--secret=judge"); err == nil || !strings.Contains(out, "is in DISABLED state") {
		t.Errorf("reading a disabled version: %v\n%s", err, out)
	}
	must(t, "", "secrets", "delete", "judge")
	if out, err := gcloud(t, "secrets", "describe", "judge"); err == nil || !strings.Contains(out, "not found") {
		t.Errorf("describing a deleted secret: %v\n%s", err, out)
	}
	must(t, "", "logging", "write", "judge", "hello from gcloud", "--severity=NOTICE")
	must(t, "hello from gcloud", "logging", "read", `severity>=NOTICE AND textPayload:"hello"`, "--freshness=1d")
	must(t, "", "storage", "rm", "--recursive", bucket)
	must(t, "", "iam", "service-accounts", "delete", email)
	if out, err := gcloud(t, "storage", "buckets", "describe", bucket); err == nil || !strings.Contains(out, "not found") {
		t.Errorf("describing a deleted bucket: %v\n%s", err, out)
	}
}
