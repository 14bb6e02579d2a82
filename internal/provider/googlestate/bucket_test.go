// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"
)

// live is a bucket as JSON, which is what the API would answer.
func live(t *testing.T, b *storage.Bucket) string {
	t.Helper()
	raw, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func number(n int64) *int64 { return &n }

func truth(b bool) *bool { return &b }

// A state of the newest schema version.
func TestReadBucket(t *testing.T) {
	t.Parallel()
	b, problems := ReadBucket(state(t, "bucket_4.json"), 4)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &storage.Bucket{
		Name: "my-ckpt", Location: "US-CENTRAL1", StorageClass: "STANDARD", TimeCreated: "2026-01-01T00:00:00.123Z", Updated: "2026-01-02T00:00:00.123Z",
		Labels:                map[string]string{"app": "train", "cost-center": "42", "goog-terraform-provisioned": "true"},
		Versioning:            &storage.BucketVersioning{Enabled: true},
		HierarchicalNamespace: &storage.BucketHierarchicalNamespace{Enabled: true},
		Encryption:            &storage.BucketEncryption{DefaultKmsKeyName: "projects/my-project/locations/us-central1/keyRings/r/cryptoKeys/k"},
		SoftDeletePolicy:      &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 604800, EffectiveTime: "2026-01-01T00:00:00Z"},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "enforced",
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{
			{Action: &storage.BucketLifecycleRuleAction{Type: "SetStorageClass", StorageClass: "NEARLINE"}, Condition: &storage.BucketLifecycleRuleCondition{Age: number(30)}},
			{Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: number(7), MatchesPrefix: []string{"runs/"}, IsLive: truth(true),
				ForceSendFields: []string{"NumNewerVersions"}}},
		}},
	}
	if got, want := live(t, b.Live), live(t, want); got != want {
		t.Errorf("the bucket is\n%s\nwant\n%s", got, want)
	}
	if b.Project != "my-project" || !b.ForceDestroy || b.DeletionPolicy != "" || !maps.Equal(b.Timeouts, map[string]string{"read": "5m"}) {
		t.Errorf("read %+v", b)
	}
	if !maps.Equal(b.Labels.Own, map[string]string{"app": "train"}) || !maps.Equal(b.Labels.All, map[string]string{"app": "train", "cost-center": "42"}) {
		t.Errorf("the managed labels are %v", b.Labels)
	}
	if others := []string{"cors", "encryption.customer_supplied_encryption_enforcement_config", "retention_policy"}; !slices.Equal(b.Others, others) {
		t.Errorf("what stays unmanaged is %v, want %v", b.Others, others)
	}
}

// A state of the first schema version, of before bucket_policy_only was renamed.
func TestReadBucketOfVersion0(t *testing.T) {
	t.Parallel()
	b, problems := ReadBucket(state(t, "bucket_0.json"), 0)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &storage.Bucket{
		Name: "old-ckpt", Location: "US", StorageClass: "STANDARD", Labels: map[string]string{"app": "old", "goog-dataplex-lake": "x"},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "inherited",
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{
			{Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: number(10)}},
		}},
	}
	if got, want := live(t, b.Live), live(t, want); got != want {
		t.Errorf("the bucket is\n%s\nwant\n%s", got, want)
	}
	if own := map[string]string{"app": "old"}; !maps.Equal(b.Labels.Own, own) || !maps.Equal(b.Labels.All, own) {
		t.Errorf("the managed labels are %v", b.Labels)
	}
	if !slices.Equal(b.Others, []string{"retention_policy"}) {
		t.Errorf("what stays unmanaged is %v", b.Others)
	}
}

// What a condition means depends on the schema version: an age of 0 above all.
func TestReadCondition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version         int64
		condition, want string
	}{
		{0, `{"age": 0}`, `{"age":0}`},
		{1, `{"age": 0, "no_age": false}`, `{"age":0}`},
		{1, `{"age": 0, "no_age": true, "num_newer_versions": 2}`, `{"numNewerVersions":2}`},
		{1, `{"age": 3, "no_age": true}`, `{"age":3}`},
		{2, `{"age": 0, "send_age_if_zero": true}`, `{"age":0}`},
		{2, `{"age": 0, "send_age_if_zero": false}`, `{}`},
		{3, `{"age": 0}`, `{}`},
		{4, `{"age": 0, "send_age_if_zero": true}`, `{"age":0}`},
		{4, `{"age": null, "days_since_custom_time": 4, "days_since_noncurrent_time": 5}`, `{"daysSinceCustomTime":4,"daysSinceNoncurrentTime":5}`},
		{4, `{"days_since_custom_time": 0, "send_days_since_custom_time_if_zero": true}`, `{"daysSinceCustomTime":0}`},
		{4, `{"size_above_bytes": 9007199254740993, "size_below_bytes": 1}`, `{"sizeAboveBytes":"9007199254740993","sizeBelowBytes":"1"}`},
		{4, `{"with_state": "ARCHIVED"}`, `{"isLive":false}`},
		{4, `{"with_state": "ANY", "matches_suffix": [".tmp"], "matches_storage_class": ["STANDARD"]}`, `{"matchesStorageClass":["STANDARD"],"matchesSuffix":[".tmp"]}`},
		{0, `{"is_live": true}`, `{"isLive":true}`},
		{4, `{"created_before": "2026-01-01", "custom_time_before": "2026-01-02", "noncurrent_time_before": "2026-01-03"}`,
			`{"createdBefore":"2026-01-01","customTimeBefore":"2026-01-02","noncurrentTimeBefore":"2026-01-03"}`},
	} {
		b, problems := ReadBucket([]byte(`{"name": "b-1", "lifecycle_rule": [{"action": [{"type": "Delete"}], "condition": [`+c.condition+`]}]}`), c.version)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.condition, problems)
			continue
		}
		got, err := json.Marshal(b.Live.Lifecycle.Rule[0].Condition)
		if err != nil || string(got) != c.want {
			t.Errorf("version %d: %s is %s, want %s (%v)", c.version, c.condition, got, c.want, err)
		}
	}
}

func TestReadBucketProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ state, want string }{
		{`7`, "The state of the resource is no JSON object."},
		{`{}`, "The state does not name a bucket: "},
		{`{"name": "b-1", "versioning": [{"enabled": "SECRET"}]}`, "versioning.enabled is not a bool"},
		{`{"name": "b-1", "versioning": [{"enabled": true, "invented": 1}]}`, "versioning.invented has a value, and this version of the provider does not know the attribute."},
		{`{"name": "b-1", "lifecycle_rule": [{"condition": [{"invented": "SECRET"}]}]}`, "lifecycle_rule[0].condition.invented has a value"},
		{`{"name": "b-1", "soft_delete_policy": [{"retention_duration_seconds": "SECRET"}]}`, "soft_delete_policy.retention_duration_seconds is not a whole number"},
	} {
		_, problems := ReadBucket([]byte(c.state), 4)
		if len(problems) == 0 {
			t.Errorf("%s has no problem", c.state)
			continue
		}
		if got := problems[len(problems)-1].String(); !strings.HasPrefix(got, c.want) || strings.Contains(got, "SECRET") {
			t.Errorf("%s: the problem is %q, want %q", c.state, got, c.want)
		}
	}
}
