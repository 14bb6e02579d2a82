// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const address = "resilientjob_checkpoint_bucket.test"

// bucketConfig returns a configuration with one bucket.
func bucketConfig(e *emulator.Emulator, name, attributes string) string {
	return acctest.ProviderConfig(e) + fmt.Sprintf("resource \"resilientjob_checkpoint_bucket\" \"test\" {\n  name = %q\n%s\n}\n", name, attributes)
}

// otherClient is another program that uses the same cloud.
func otherClient(t *testing.T, e *emulator.Emulator) *gcp.Client {
	t.Helper()
	c, err := gcp.New(t.Context(), gcp.Options{EmulatorHost: e.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func getBucket(t *testing.T, c *gcp.Client, name string) *storage.Bucket {
	t.Helper()
	b, err := c.GetBucket(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func patchBucket(t *testing.T, c *gcp.Client, name string, b *storage.Bucket) {
	t.Helper()
	if _, err := c.PatchBucket(t.Context(), name, b); err != nil {
		t.Fatal(err)
	}
}

// upload writes an object.
func upload(t *testing.T, e *emulator.Emulator, bucket, object, content string) {
	t.Helper()
	post(t, e, "/upload/storage/v1/b/"+bucket+"/o?uploadType=media&name="+url.QueryEscape(object), "application/octet-stream", content)
}

func makeFolder(t *testing.T, e *emulator.Emulator, bucket, folder string) {
	t.Helper()
	post(t, e, "/storage/v1/b/"+bucket+"/folders?recursive=true", "application/json", fmt.Sprintf(`{"name":%q}`, folder))
}

func post(t *testing.T, e *emulator.Emulator, path, contentType, body string) {
	t.Helper()
	resp, err := http.Post("http://"+e.Addr()+path, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		t.Fatalf("POST %s: %s %s %v", path, resp.Status, text, err)
	}
}

// getJSON reads something of the API.
func getJSON(t *testing.T, e *emulator.Emulator, path string, into any) {
	t.Helper()
	resp, err := http.Get("http://" + e.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v", path, resp.Status, err)
	}
}

// put writes something of the API.
func put(t *testing.T, e *emulator.Emulator, path, body string) {
	send(t, e, http.MethodPut, path, body)
}

func send(t *testing.T, e *emulator.Emulator, method, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+e.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, text, err)
	}
}

// wantBody compares the body of the only call of a method.
func wantBody(t *testing.T, calls *acctest.Requests, method, want string) {
	t.Helper()
	found := calls.Find(method)
	if len(found) != 1 {
		t.Fatalf("%d calls of %s, want one; all: %v", len(found), method, calls.Methods())
	}
	var got, expected any
	if err := json.Unmarshal(found[0].Body, &got); err != nil {
		t.Fatalf("body of %s: %v\n%s", method, err, found[0].Body)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(expected, got); d != "" {
		t.Errorf("%s was sent with another body (-want +got):\n%s", method, d)
	}
}

func wantWrites(t *testing.T, calls *acctest.Requests, want ...string) {
	t.Helper()
	if got := calls.Writes(); !slices.Equal(got, want) {
		t.Errorf("writes %v, want %v", got, want)
	}
}

// The life of a bucket with nothing but a name, on either target.
func TestAccLife(t *testing.T) {
	t.Parallel()
	e := acctest.Target(t)
	tf := acctest.CLI(t, e)
	name := acctest.Name("life")
	tf.Write(bucketConfig(e, name, ""))
	tf.Apply().Succeeds()
	t.Cleanup(func() { tf.Destroy().Succeeds() })
	s := tf.State()
	for attribute, want := range map[string]any{
		"id": name, "name": name, "url": "gs://" + name, "project": acctest.Project(e), "location": acctest.Region(e),
		"storage_class": "STANDARD", "hierarchical_namespace": true, "versioning": false, "soft_delete_retention": "0s",
		"abort_incomplete_upload_days": json.Number("1"), "expire_after_days": nil, "expire_prefixes": nil, "labels": nil, "force_destroy": false,
		"uniform_bucket_level_access": true, "public_access_prevention": "enforced",
	} {
		if got := s.Attribute(address, attribute); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", attribute, got, want)
		}
	}
	if got, ok := s.Attribute(address, "time_created").(string); !ok || !strings.HasPrefix(got, "20") {
		t.Errorf("time_created = %q", got)
	}
	tf.Plan().IsEmpty()

	tf.Write(bucketConfig(e, name, `
  storage_class                = "NEARLINE"
  soft_delete_retention        = "168h"
  abort_incomplete_upload_days = 3
  expire_after_days            = 14
  expire_prefixes              = ["scratch/", "tmp/"]
  labels                       = { team = "ml", empty = "" }
  force_destroy                = true
`))
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	tf.Write(bucketConfig(e, name, ""))
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	if got := tf.State().Attribute(address, "expire_prefixes"); got != nil {
		t.Errorf("expire_prefixes = %v", got)
	}
}

// What a create sends, and that nothing follows (cases 92, 94).
func TestCreateRequest(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	tf.Write(bucketConfig(e, "ckpt-create", ""))
	calls := acctest.Since(e)
	tf.Apply().Succeeds()
	wantBody(t, calls, acctest.InsertBucket, `{
		"name": "ckpt-create", "location": "us-central1", "storageClass": "STANDARD",
		"hierarchicalNamespace": {"enabled": true},
		"iamConfiguration": {"publicAccessPrevention": "enforced", "uniformBucketLevelAccess": {"enabled": true}},
		"softDeletePolicy": {"retentionDurationSeconds": "0"},
		"lifecycle": {"rule": [{"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}]}
	}`)
	if got := calls.Find(acctest.InsertBucket)[0].Query.Get("project"); got != acctest.EmulatorProject {
		t.Errorf("project %q", got)
	}
	if got, want := calls.Methods(), []string{acctest.GetBucket, acctest.InsertBucket, acctest.GetBucket}; !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
	calls = acctest.Since(e)
	tf.Apply().Succeeds()
	wantWrites(t, calls)

	tf.Write(bucketConfig(e, "ckpt-flat", `
  location               = "US"
  hierarchical_namespace = false
  versioning             = true
  soft_delete_retention  = "240h"
  expire_after_days      = 7
  expire_prefixes        = ["scratch/"]
  abort_incomplete_upload_days = 0
  labels                 = { team = "ml" }
`))
	calls = acctest.Since(e)
	tf.Apply().Succeeds()
	wantBody(t, calls, acctest.InsertBucket, `{
		"name": "ckpt-flat", "location": "us", "storageClass": "STANDARD", "versioning": {"enabled": true},
		"iamConfiguration": {"publicAccessPrevention": "enforced", "uniformBucketLevelAccess": {"enabled": true}},
		"softDeletePolicy": {"retentionDurationSeconds": "864000"}, "labels": {"team": "ml"},
		"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 7, "matchesPrefix": ["scratch/"]}}]}
	}`)
	tf.Plan().IsEmpty()
}

// Another spelling of the same value is no change, and what only Terraform knows sends nothing (cases 10, 130).
func TestUpdateThatSendsNothing(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	tf.Write(bucketConfig(e, "ckpt-same", `
  soft_delete_retention = "168h"
`))
	tf.Apply().Succeeds()
	tf.Write(bucketConfig(e, "ckpt-same", `
  location              = "US-CENTRAL1"
  soft_delete_retention = "604800s"
`))
	tf.Plan().IsEmpty()

	tf.Write(bucketConfig(e, "ckpt-same", `
  soft_delete_retention = "168h"
  force_destroy         = true
  timeouts              = { delete = "1h" }
`))
	if p := tf.Plan(); p.Actions(address) != "update" {
		t.Errorf("planned %q", p.Actions(address))
	}
	calls := acctest.Since(e)
	tf.Apply().Succeeds()
	wantWrites(t, calls)
	if got := tf.State().Attribute(address, "force_destroy"); got != true {
		t.Errorf("force_destroy = %v", got)
	}
	tf.Plan().IsEmpty()
}

// An update names what differs and nothing else; labels and lifecycle rules of others survive (cases 20, 94).
func TestUpdateRequest(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	other := otherClient(t, e)
	const name = "ckpt-update"
	tf.Write(bucketConfig(e, name, `
  labels                = { team = "ml", stage = "one" }
  soft_delete_retention = "168h"
  expire_after_days     = 7
  expire_prefixes       = ["scratch/"]
`))
	tf.Apply().Succeeds()
	rules := getBucket(t, other, name).Lifecycle.Rule
	newer := int64(3)
	patchBucket(t, other, name, &storage.Bucket{
		Labels: map[string]string{"owner": "somebody"},
		Lifecycle: &storage.BucketLifecycle{Rule: append(rules, &storage.BucketLifecycleRule{
			Action: &storage.BucketLifecycleRuleAction{Type: "SetStorageClass", StorageClass: "NEARLINE"}, Condition: &storage.BucketLifecycleRuleCondition{Age: &newer},
		})},
	})
	tf.Plan().IsEmpty()

	tf.Write(bucketConfig(e, name, `
  labels                = { team = "ops" }
  soft_delete_retention = "0s"
  expire_after_days     = 7
  expire_prefixes       = ["scratch/"]
`))
	calls := acctest.Since(e)
	tf.Apply().Succeeds()
	wantBody(t, calls, acctest.PatchBucket, `{"labels": {"team": "ops", "stage": null}, "softDeletePolicy": {"retentionDurationSeconds": "0"}}`)
	if got := getBucket(t, other, name).Labels; !cmp.Equal(got, map[string]string{"team": "ops", "owner": "somebody"}) {
		t.Errorf("labels %v", got)
	}
	tf.Plan().IsEmpty()

	tf.Write(bucketConfig(e, name, `
  labels                = { team = "ops" }
  expire_after_days     = 9
  expire_prefixes       = ["scratch/"]
`))
	calls = acctest.Since(e)
	tf.Apply().Succeeds()
	wantBody(t, calls, acctest.PatchBucket, `{"lifecycle": {"rule": [
		{"action": {"type": "SetStorageClass", "storageClass": "NEARLINE"}, "condition": {"age": 3}},
		{"action": {"type": "Delete"}, "condition": {"age": 9, "matchesPrefix": ["scratch/"]}},
		{"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}
	]}}`)
	tf.Plan().IsEmpty()

	// Nothing of ours is left: the rules go, the list of rules is sent all the same.
	patchBucket(t, other, name, &storage.Bucket{Lifecycle: &storage.BucketLifecycle{Rule: rules}})
	tf.Write(bucketConfig(e, name, `
  abort_incomplete_upload_days = 0
`))
	calls = acctest.Since(e)
	tf.Apply().Succeeds()
	wantBody(t, calls, acctest.PatchBucket, `{"labels": {"team": null}, "lifecycle": {"rule": []}}`)
	tf.Plan().IsEmpty()
}

// What others did to managed attributes is shown and undone by an update, never by a replacement (case 22).
func TestAccDrift(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	other := otherClient(t, e)
	const name = "ckpt-drift"
	config := bucketConfig(e, name, `
  hierarchical_namespace = false
  labels                 = { team = "ml" }
  kms_key_name           = "`+keyIn("us-central1")+`"
`)
	tf.Write(config)
	tf.Apply().Succeeds()
	day := int64(1)
	patchBucket(t, other, name, &storage.Bucket{
		StorageClass:     "COLDLINE",
		Labels:           map[string]string{"team": "stolen"},
		Versioning:       &storage.BucketVersioning{Enabled: true},
		SoftDeletePolicy: &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 604800},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "inherited",
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{ForceSendFields: []string{"Enabled"}}},
		NullFields: []string{"Encryption"},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{{
			Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: &day, MatchesPrefix: []string{"newest/"}},
		}}},
	})
	p := tf.Plan()
	if p.Actions(address) != "update" {
		t.Fatalf("planned %q:\n%s", p.Actions(address), p.Output())
	}
	p.Says(`"inherited" -> "enforced"`, `"COLDLINE" -> "STANDARD"`, `"168h" -> "0s"`, `"stolen" -> "ml"`, `+ kms_key_name`, "uniform_bucket_level_access = false -> true")
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	b := getBucket(t, other, name)
	if b.IamConfiguration.PublicAccessPrevention != "enforced" || !b.IamConfiguration.UniformBucketLevelAccess.Enabled || b.Encryption.DefaultKmsKeyName != keyIn("us-central1") || b.StorageClass != "STANDARD" || b.Versioning.Enabled || len(b.Lifecycle.Rule) != 1 {
		t.Errorf("got %+v", b)
	}
}

// The bucket vanished: the plan makes it again.
func TestAccDisappears(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(bucketConfig(e, "ckpt-gone", ""))
	tf.Apply().Succeeds()
	if err := otherClient(t, e).DeleteBucket(t.Context(), "ckpt-gone"); err != nil {
		t.Fatal(err)
	}
	if p := tf.Plan(); p.Actions(address) != "create" {
		t.Errorf("planned %q", p.Actions(address))
	}
	tf.Apply().Succeeds()
	tf.Plan().IsEmpty()
	if err := otherClient(t, e).DeleteBucket(t.Context(), "ckpt-gone"); err != nil {
		t.Fatal(err)
	}
	tf.Destroy("-refresh=false").Succeeds()
}

// A change of somebody else between read and write is seen, and not lost.
func TestUpdateConflict(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := core.Open(t, e)
	other := otherClient(t, e)
	const name = "ckpt-conflict"
	tf.Write(bucketConfig(e, name, ""))
	tf.Apply().Succeeds()
	age := int64(30)
	foreign := &storage.BucketLifecycleRule{Action: &storage.BucketLifecycleRuleAction{Type: "SetStorageClass", StorageClass: "NEARLINE"},
		Condition: &storage.BucketLifecycleRuleCondition{Age: &age}}
	e.Faults().Add(faultBefore(acctest.PatchBucket, func() {
		b := getBucket(t, other, name)
		patchBucket(t, other, name, &storage.Bucket{Lifecycle: &storage.BucketLifecycle{Rule: append(b.Lifecycle.Rule, foreign)}})
	}))
	tf.Write(bucketConfig(e, name, "  abort_incomplete_upload_days = 5\n"))
	tf.Apply().Succeeds()
	if rules := getBucket(t, other, name).Lifecycle.Rule; len(rules) != 2 {
		t.Errorf("%d rules", len(rules))
	}
	tf.Plan().IsEmpty()
}
