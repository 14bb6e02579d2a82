// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/googleapi"
	gcs "google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/storage"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

func TestNewBucketHasComputedFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "fresh", Location: "us-central1", Labels: map[string]string{"team": "ml", "empty": ""}}).Do()
	ok(t, err)
	equal(t, "kind", b.Kind, "storage#bucket")
	equal(t, "id", b.Id, "fresh")
	equal(t, "location", b.Location, "US-CENTRAL1")
	equal(t, "locationType", b.LocationType, "region")
	equal(t, "storageClass", b.StorageClass, "STANDARD")
	equal(t, "metageneration", b.Metageneration, 1)
	equal(t, "etag", b.Etag, "CAE=")
	equal(t, "satisfiesPZI", b.SatisfiesPZI, true)
	equal(t, "rpo", b.Rpo, "")
	equal(t, "timeCreated", b.TimeCreated, "2026-11-29T12:00:00.000Z")
	equal(t, "updated", b.Updated, b.TimeCreated)
	equal(t, "soft delete", b.SoftDeletePolicy.RetentionDurationSeconds, 604800)
	equal(t, "soft delete since", b.SoftDeletePolicy.EffectiveTime, b.TimeCreated)
	equal(t, "prevention", b.IamConfiguration.PublicAccessPrevention, "inherited")
	equal(t, "uniform access", b.IamConfiguration.UniformBucketLevelAccess.Enabled, false)
	equal(t, "bucket policy only", b.IamConfiguration.BucketPolicyOnly.Enabled, false)
	equal(t, "projectNumber", b.ProjectNumber, 999000000000+b.ProjectNumber%1e9)
	equal(t, "label", b.Labels["team"], "ml")
	if v, there := b.Labels["empty"]; !there || v != "" { // case 100
		t.Errorf("an empty label value was lost: %v", b.Labels)
	}
	if b.Generation == 0 || !strings.HasPrefix(b.SelfLink, w.server.URL) {
		t.Errorf("generation %d, selfLink %s", b.Generation, b.SelfLink)
	}

	multi, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "multi"}).Do()
	ok(t, err)
	equal(t, "default location", multi.Location+" "+multi.LocationType+" "+multi.Rpo, "US multi-region DEFAULT")

	uniform := w.bucket("uniform")
	equal(t, "uniform access", uniform.IamConfiguration.UniformBucketLevelAccess.Enabled, true)
	equal(t, "mirror", uniform.IamConfiguration.BucketPolicyOnly.LockedTime, uniform.IamConfiguration.UniformBucketLevelAccess.LockedTime)
	equal(t, "locked", uniform.IamConfiguration.BucketPolicyOnly.LockedTime, "2027-02-27T12:00:00.000Z")
}

// case 92, case 94: a retention of 0 switches soft delete off, null does not.
func TestSoftDeletePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	off := w.bucket("off")
	equal(t, "retention", off.SoftDeletePolicy.RetentionDurationSeconds, 0)
	_, raw, _ := w.send("GET", "/storage/v1/b/off?fields=softDeletePolicy", "")
	equal(t, "as sent", raw, `{"softDeletePolicy":{"retentionDurationSeconds":"0"}}`)

	b, err := w.api.Buckets.Patch("off", &gcs.Bucket{NullFields: []string{"SoftDeletePolicy"}}).Do()
	ok(t, err)
	equal(t, "after null", b.SoftDeletePolicy.RetentionDurationSeconds, 604800)
	b, err = w.api.Buckets.Patch("off", &gcs.Bucket{SoftDeletePolicy: &gcs.BucketSoftDeletePolicy{ForceSendFields: []string{"RetentionDurationSeconds"}}}).Do()
	ok(t, err)
	equal(t, "after 0", b.SoftDeletePolicy.RetentionDurationSeconds, 0)
	for _, seconds := range []int64{1, 604799, 7776001, -1} {
		_, err = w.api.Buckets.Patch("off", &gcs.Bucket{SoftDeletePolicy: &gcs.BucketSoftDeletePolicy{RetentionDurationSeconds: seconds}}).Do()
		refused(t, err, 400, "invalid", "between 7 days and 90 days")
	}
}

func TestPatchMerges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("patched", func(b *gcs.Bucket) { b.Labels = map[string]string{"keep": "1", "drop": "2"} })
	w.clock.Advance(time.Minute)

	b, err := w.api.Buckets.Patch("patched", &gcs.Bucket{}).Do()
	ok(t, err)
	equal(t, "metageneration after nothing", b.Metageneration, 1)

	change := &gcs.Bucket{}
	change.Labels = map[string]string{"new": "3"}
	_, err = w.api.Buckets.Patch("patched", change).Do()
	ok(t, err)
	status, raw, _ := w.send("PATCH", "/storage/v1/b/patched", `{"labels":{"drop":null}}`)
	equal(t, "status", status, 200)
	var got gcs.Bucket
	ok(t, json.Unmarshal([]byte(raw), &got))
	if len(got.Labels) != 2 || got.Labels["keep"] != "1" || got.Labels["new"] != "3" {
		t.Errorf("labels %v", got.Labels)
	}
	equal(t, "metageneration", got.Metageneration, 3)
	equal(t, "updated", got.Updated, "2026-11-29T12:01:00.000Z")

	for _, all := range []string{`{"labels":null}`, `{"labels":{}}`} {
		w.send("PATCH", "/storage/v1/b/patched", `{"labels":{"x":"y"}}`)
		_, raw, _ = w.send("PATCH", "/storage/v1/b/patched", all)
		if strings.Contains(raw, "labels") {
			t.Errorf("%s left labels: %s", all, raw)
		}
	}
	// A value that is set again is a change too.
	before, err := w.api.Buckets.Get("patched").Do()
	ok(t, err)
	b, err = w.api.Buckets.Patch("patched", &gcs.Bucket{StorageClass: "STANDARD"}).Do()
	ok(t, err)
	equal(t, "metageneration", b.Metageneration, before.Metageneration+1)
}

func TestBucketPreconditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("guarded")
	_, err := w.api.Buckets.Patch("guarded", &gcs.Bucket{StorageClass: "NEARLINE"}).IfMetagenerationMatch(7).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	_, err = w.api.Buckets.Patch("guarded", &gcs.Bucket{StorageClass: "NEARLINE"}).IfMetagenerationMatch(1).Do()
	ok(t, err)
	err = w.api.Buckets.Delete("guarded").IfMetagenerationMatch(1).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	if _, err = w.api.Buckets.Get("guarded").IfMetagenerationNotMatch(2).Do(); !googleapi.IsNotModified(err) {
		t.Errorf("got %v, want 304", err)
	}
	ok(t, w.api.Buckets.Delete("guarded").IfMetagenerationMatch(2).Do())
	_, err = w.api.Buckets.Get("guarded").Do()
	refused(t, err, 404, "notFound", "The specified bucket does not exist.")
	if w.service.Exists("guarded") {
		t.Error("still there")
	}
	w.bucket("guarded") // the name is free at once
}

// case 106, case 107: a taken name tells the caller's own from somebody else's.
func TestTakenNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("mine")
	_, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "mine"}).Do()
	refused(t, err, 409, "conflict", "you already own it")
	_, err = w.api.Buckets.Insert("other-project", &gcs.Bucket{Name: "mine"}).Do()
	refused(t, err, 409, "conflict", "The requested bucket name is not available")
	w.service.AddForeign("theirs")
	_, err = w.api.Buckets.Insert(project, &gcs.Bucket{Name: "theirs"}).Do()
	refused(t, err, 409, "conflict", "The requested bucket name is not available")
	_, err = w.api.Buckets.Get("theirs").Do()
	refused(t, err, 403, "forbidden", "storage.buckets.get")
}

func TestRefusedBuckets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("flat")
	w.bucket("deep", hierarchical)
	uniform := `"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}`
	for _, tt := range []struct{ name, method, path, body, text string }{
		{"short name", "POST", "/b?project=p", `{"name":"ab"}`, "Invalid bucket name: 'ab'"},
		{"long name", "POST", "/b?project=p", `{"name":"` + strings.Repeat("a", 64) + `"}`, "Invalid bucket name"},
		{"upper case", "POST", "/b?project=p", `{"name":"Bucket"}`, "Invalid bucket name"},
		{"address", "POST", "/b?project=p", `{"name":"10.0.0.1"}`, "Invalid bucket name"},
		{"goog", "POST", "/b?project=p", `{"name":"goog-bucket"}`, "Invalid bucket name"},
		{"google", "POST", "/b?project=p", `{"name":"my-google-bucket"}`, "Invalid bucket name"},
		{"hyphen", "POST", "/b?project=p", `{"name":"bucket-"}`, "Invalid bucket name"},
		{"domain", "POST", "/b?project=p", `{"name":"www.example.com"}`, "domain name owned by another user"},
		{"no project", "POST", "/b", `{"name":"bucket"}`, "Required parameter: project"},
		{"no name", "POST", "/b?project=p", `{}`, "Required"},
		{"location", "POST", "/b?project=p", `{"name":"bucket","location":"us-centrl1"}`, "location constraint is not valid"},
		{"unknown field", "POST", "/b?project=p", `{"name":"bucket","hierarchicalNamespaces":{}}`, `Unknown name "hierarchicalNamespaces": Cannot find field.`},
		{"unknown inner field", "PATCH", "/b/flat", `{"iamConfiguration":{"uniform":true}}`, `Unknown name "uniform" at 'iamConfiguration'`},
		{"wrong type", "PATCH", "/b/flat", `{"versioning":{"enabled":"yes"}}`, "Invalid value at 'versioning.enabled'"},
		{"no JSON", "PATCH", "/b/flat", `{"versioning":`, "Parse Error"},
		{"two values", "PATCH", "/b/flat", `{} {}`, "Parse Error"},
		{"a list", "PATCH", "/b/flat", `[]`, "Parse Error"},
		{"class", "PATCH", "/b/flat", `{"storageClass":"COLD"}`, `Invalid storage class "COLD"`},
		{"prevention", "PATCH", "/b/flat", `{"iamConfiguration":{"publicAccessPrevention":"on"}}`, "on is not a valid value"},
		{"label key", "PATCH", "/b/flat", `{"labels":{"Team":"ml"}}`, "Invalid user label: Team"},
		{"label value", "PATCH", "/b/flat", `{"labels":{"team":"M L"}}`, "Invalid user label: team with value M L"},
		{"kms key", "PATCH", "/b/flat", `{"encryption":{"defaultKmsKeyName":"key"}}`, "Malformed Cloud KMS crypto key: key"},
		{"rpo", "PATCH", "/b/flat", `{"rpo":"ASYNC_TURBO"}`, "dual-region"},
		{"acl under uniform access", "PATCH", "/b/flat", `{"acl":[{"entity":"allUsers","role":"READER"}]}`, "Cannot use ACL API"},
		{"hns without uniform access", "POST", "/b?project=p", `{"name":"bucket","hierarchicalNamespace":{"enabled":true}}`, "Hierarchical namespace buckets must use uniform bucket-level access."},
		{"hns with versions", "POST", "/b?project=p", `{"name":"bucket","hierarchicalNamespace":{"enabled":true},"versioning":{"enabled":true},` + uniform + `}`, "Versioning is not supported for hierarchical namespace buckets."},
		{"hns with retention", "POST", "/b?project=p", `{"name":"bucket","hierarchicalNamespace":{"enabled":true},"retentionPolicy":{"retentionPeriod":60},` + uniform + `}`, "Retention policy is not supported for hierarchical namespace buckets."},
		{"hns gets versions", "PATCH", "/b/deep", `{"versioning":{"enabled":true}}`, "Versioning is not supported for hierarchical namespace buckets."},
		{"hns loses uniform access", "PATCH", "/b/deep", `{"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":false}}}`, "must use uniform bucket-level access"},
		{"rule without condition", "PATCH", "/b/flat", `{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{}}]}}`, "Lifecycle rules must have a condition."},
		{"rule without class", "PATCH", "/b/flat", `{"lifecycle":{"rule":[{"action":{"type":"SetStorageClass"},"condition":{"age":1}}]}}`, "must specify the destination storage class"},
		{"rule of another kind", "PATCH", "/b/flat", `{"lifecycle":{"rule":[{"action":{"type":"Burn"},"condition":{"age":1}}]}}`, "Burn is not a valid value"},
		{"negative age", "PATCH", "/b/flat", `{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":-1}}]}}`, "greater than or equal to 0"},
		{"abort by date", "PATCH", "/b/flat", `{"lifecycle":{"rule":[{"action":{"type":"AbortIncompleteMultipartUpload"},"condition":{"createdBefore":"2026-01-01"}}]}}`, "the only ones allowed"},
	} {
		before, err := w.api.Buckets.Get("flat").Do()
		ok(t, err)
		status, body, _ := w.send(tt.method, "/storage/v1"+tt.path, tt.body)
		if want := map[bool]int{true: 403, false: 400}[tt.name == "domain"]; status != want {
			t.Errorf("%s: got %d %s, want %d", tt.name, status, body, want)
		}
		var e struct {
			Error struct {
				Code    int
				Message string
				Status  *string
				Errors  []struct{ Domain, Reason, Message string }
			}
		}
		ok(t, json.Unmarshal([]byte(body), &e))
		if !strings.Contains(e.Error.Message, tt.text) {
			t.Errorf("%s: got %q, want %q", tt.name, e.Error.Message, tt.text)
		}
		if len(e.Error.Errors) != 1 || e.Error.Errors[0].Domain != "global" || e.Error.Errors[0].Message != e.Error.Message || e.Error.Status != nil {
			t.Errorf("%s: not the older envelope: %s", tt.name, body)
		}
		after, err := w.api.Buckets.Get("flat").Do()
		ok(t, err)
		equal(t, tt.name+": metageneration", after.Metageneration, before.Metageneration)
	}
}

func TestHierarchicalNamespaceIsChosenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	equal(t, "echo", w.bucket("deep", hierarchical).HierarchicalNamespace.Enabled, true)
	w.bucket("flat")
	b, err := w.api.Buckets.Patch("flat", &gcs.Bucket{HierarchicalNamespace: &gcs.BucketHierarchicalNamespace{Enabled: true}}).Do()
	ok(t, err)
	if b.HierarchicalNamespace != nil {
		t.Error("a patch made the bucket hierarchical")
	}
	equal(t, "metageneration", b.Metageneration, 2)
	_, raw, _ := w.send("GET", "/storage/v1/b/deep/storageLayout", "")
	equal(t, "layout", raw, `{"bucket":"deep","hierarchicalNamespace":{"enabled":true},"kind":"storage#storageLayout","location":"US-CENTRAL1","locationType":"region"}`)
	_, raw, _ = w.send("GET", "/storage/v1/b/flat/storageLayout", "")
	equal(t, "flat layout", raw, `{"bucket":"flat","kind":"storage#storageLayout","location":"US-CENTRAL1","locationType":"region"}`)
}

func TestLifecycleIsKeptAsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("rules")
	_, raw, _ := w.send("PATCH", "/storage/v1/b/rules?fields=lifecycle", `{"lifecycle":{"rule":[
		{"action":{"type":"Delete"},"condition":{"age":30,"matchesPrefix":["old/"],"matchesSuffix":[]}},
		{"action":{"type":"AbortIncompleteMultipartUpload"},"condition":{"age":1}},
		{"action":{"type":"Delete"},"condition":{"age":0}}]}}`)
	equal(t, "rules", raw, `{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30,"matchesPrefix":["old/"]}},`+
		`{"action":{"type":"AbortIncompleteMultipartUpload"},"condition":{"age":1}},{"action":{"type":"Delete"},"condition":{"age":0}}]}}`)
	_, raw, _ = w.send("PATCH", "/storage/v1/b/rules?fields=lifecycle", `{"lifecycle":{}}`)
	if !strings.Contains(raw, "old/") {
		t.Errorf("{} changed the rules: %s", raw)
	}
	_, raw, _ = w.send("PATCH", "/storage/v1/b/rules?fields=lifecycle", `{"lifecycle":{"rule":[]}}`)
	equal(t, "no rules", raw, `{}`)
}

func TestListBuckets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"run-b", "run-a", "other"} {
		w.bucket(name)
	}
	_, err := w.api.Buckets.Insert("elsewhere", &gcs.Bucket{Name: "run-c"}).Do()
	ok(t, err)
	var names []string
	ok(t, w.api.Buckets.List(project).Prefix("run-").MaxResults(1).Pages(t.Context(), func(page *gcs.Buckets) error {
		for _, b := range page.Items {
			names = append(names, b.Name)
		}
		return nil
	}))
	equal(t, "names", strings.Join(names, " "), "run-a run-b")
}

func TestBucketsSurviveARestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := store.Folder(folder)
	ok(t, err)
	w := newWorldOn(t, first)
	made := w.bucket("kept", hierarchical, func(b *gcs.Bucket) {
		b.Lifecycle = &gcs.BucketLifecycle{Rule: []*gcs.BucketLifecycleRule{{
			Action: &gcs.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &gcs.BucketLifecycleRuleCondition{Age: googleapi.Int64(3)},
		}}}
	})
	w.grant("kept", "roles/storage.objectUser", "user:a@example.com")
	policy, err := w.api.Buckets.GetIamPolicy("kept").Do()
	ok(t, err)
	w.stop()

	second, err := store.Folder(folder)
	ok(t, err)
	again := newWorldOn(t, second)
	b, err := again.api.Buckets.Get("kept").Do()
	ok(t, err)
	equal(t, "age", *b.Lifecycle.Rule[0].Condition.Age, 3)
	equal(t, "generation", b.Generation, made.Generation)
	equal(t, "metageneration", b.Metageneration, 2)
	p, err := again.api.Buckets.GetIamPolicy("kept").Do()
	ok(t, err)
	equal(t, "etag", p.Etag, policy.Etag)
	equal(t, "bindings", len(p.Bindings), len(policy.Bindings))
}

func TestDeniedPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("guarded")
	w.service.Deny("guarded", "storage.buckets.setIamPolicy")
	answer, err := w.api.Buckets.TestIamPermissions("guarded", []string{"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"}).Do()
	ok(t, err)
	equal(t, "held", strings.Join(answer.Permissions, " "), "storage.buckets.getIamPolicy")
	_, err = w.api.Buckets.SetIamPolicy("guarded", &gcs.Policy{}).Do()
	refused(t, err, 403, "forbidden", "does not have storage.buckets.setIamPolicy access to the Google Cloud Storage bucket")
}

func TestOwns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_ = w
	for path, want := range map[string]bool{
		"/storage/v1/b": true, "/upload/storage/v1/b/x/o": true, "/resumable/upload/storage/v1/b/x/o": true, "/download/storage/v1/b/b/o/o": true,
		"/bucket/object": true, "/bucket/a%2F..%2Fb": true, "/v2/projects/p": false, "/healthz": false, "/google.cloud.run.v2.Jobs/ListJobs": false,
		"/storage/v2/b": false, "/": false,
	} {
		r := newRequest(t, path)
		if got := storage.Owns(r); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}
