// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/api/storage/v1"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// aModel draws a model as a plan holds it when everything is known.
func aModel(t *rapid.T, label string) Model {
	key := rapid.SampledFrom([]string{"a", "b", "team", "cost"})
	text := rapid.SampledFrom([]string{"", "x", "ml"})
	own := rapid.MapOfN(key, text, 0, 3).Draw(t, label+" labels")
	all := map[string]string{}
	for k, v := range own {
		all[k] = v
	}
	if rapid.Bool().Draw(t, label+" default labels") {
		if _, ok := all["cost"]; !ok {
			all["cost"] = "gpu"
		}
	}
	m := Model{
		Name: types.StringValue("ckpt"), Project: types.StringValue("p"), Location: value.NewLocation("us-central1"),
		StorageClass:              types.StringValue(rapid.SampledFrom([]string{"STANDARD", "NEARLINE"}).Draw(t, label+" class")),
		HierarchicalNamespace:     types.BoolValue(false),
		Versioning:                types.BoolValue(rapid.Bool().Draw(t, label+" versioning")),
		SoftDeleteRetention:       value.NewDuration(rapid.SampledFrom([]string{"0s", "0h", "168h", "604800s", "2160h"}).Draw(t, label+" soft delete")),
		ExpireAfterDays:           value.NewWholeNull(),
		ExpirePrefixes:            types.SetNull(types.StringType),
		AbortIncompleteUploadDays: value.NewWhole(rapid.Int64Range(0, 3).Draw(t, label+" abort")),
		KMSKeyName:                types.StringNull(),
		Readers:                   types.SetNull(types.StringType),
		Writers:                   types.SetNull(types.StringType),
		Labels:                    types.MapNull(types.StringType),
		TerraformLabels:           value.MapOf(all),
		UniformBucketLevelAccess:  types.BoolValue(true),
		PublicAccessPrevention:    types.StringValue(enforced),
		ForceDestroy:              types.BoolValue(rapid.Bool().Draw(t, label+" force")),
		TimeCreated:               types.StringValue("2026-11-29T12:00:00Z"),
	}
	if len(own) > 0 || rapid.Bool().Draw(t, label+" empty labels") {
		m.Labels = value.MapOf(own)
	}
	if rapid.Bool().Draw(t, label+" key") {
		m.KMSKeyName = types.StringValue(rapid.SampledFrom([]string{"projects/p/locations/l/keyRings/r/cryptoKeys/k", "projects/p/locations/l/keyRings/r/cryptoKeys/k2"}).Draw(t, label+" key name"))
	}
	if rapid.Bool().Draw(t, label+" readers") {
		m.Readers = value.SetOf([]string{"user:ann@example.com"})
	}
	if rapid.Bool().Draw(t, label+" expire") {
		m.ExpireAfterDays = value.NewWhole(rapid.Int64Range(1, 3).Draw(t, label+" days"))
		m.ExpirePrefixes = value.SetOf(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a/", "b/", "c"}), 1, 3, rapid.ID[string]).Draw(t, label+" prefixes"))
	}
	m.identify()
	return m
}

// serve is what the API makes of a request: the bucket before, merged with the body.
func serve(t *rapid.T, before *storage.Bucket, request *storage.Bucket) *storage.Bucket {
	document := func(v any) map[string]any {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]any{}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	merged := document(before)
	for k, v := range document(request) {
		if k == "encryption" {
			if key, ok := v.(map[string]any); ok && key["defaultKmsKeyName"] == nil {
				delete(merged, k)
				continue
			}
		}
		if k != "labels" {
			merged[k] = v
			continue
		}
		labels, ok := merged["labels"].(map[string]any)
		if !ok {
			labels = map[string]any{}
		}
		changes, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("labels are %v", v)
		}
		for key, label := range changes {
			if label == nil {
				delete(labels, key)
			} else {
				labels[key] = label
			}
		}
		merged["labels"] = labels
	}
	text, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	out := &storage.Bucket{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	out.Location, out.LocationType, out.TimeCreated = strings.ToUpper(out.Location), "region", "2026-11-29T12:00:00Z"
	return out
}

// What is made of a model and read again is the model; the effective labels are the bucket's.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan := aModel(t, "plan")
		live := serve(t, &storage.Bucket{}, expandCreate(&plan))
		want := plan
		want.EffectiveLabels = plan.TerraformLabels
		if d := cmp.Diff(want, flatten(live, &plan)); d != "" {
			t.Fatal(d)
		}
		if patch := expandUpdate(&plan, &plan, live); patch != nil {
			t.Fatalf("a bucket that is as planned would be changed: %+v", patch)
		}
	})
}

// An update leads from any state to any plan in one request, and what is not managed stays.
func TestUpdateReachesThePlan(t *testing.T) {
	t.Parallel()
	age := int64(30)
	foreign := &storage.BucketLifecycleRule{Action: &storage.BucketLifecycleRuleAction{Type: "SetStorageClass", StorageClass: "ARCHIVE"},
		Condition: &storage.BucketLifecycleRuleCondition{Age: &age, MatchesStorageClass: []string{"STANDARD"}}}
	rapid.Check(t, func(t *rapid.T) {
		state, plan := aModel(t, "state"), aModel(t, "plan")
		live := serve(t, &storage.Bucket{}, expandCreate(&state))
		withOthers := rapid.Bool().Draw(t, "others were here")
		if withOthers {
			rules := append([]*storage.BucketLifecycleRule{foreign}, liveRules(live)...)
			live = serve(t, live, &storage.Bucket{Labels: map[string]string{"foreign": "yes"}, Lifecycle: &storage.BucketLifecycle{Rule: rules}})
		}
		if rapid.Bool().Draw(t, "public access was allowed") {
			live.IamConfiguration.PublicAccessPrevention = "inherited"
		}
		if patch := expandUpdate(&plan, &state, live); patch != nil {
			live = serve(t, live, patch)
		}
		want := plan
		labels := value.Strings(plan.TerraformLabels)
		if withOthers {
			labels["foreign"] = "yes"
		}
		want.EffectiveLabels = value.MapOf(labels)
		if d := cmp.Diff(want, flatten(live, &plan)); d != "" {
			t.Fatal(d)
		}
		if withOthers != (len(liveRules(live)) > 0 && sameRules(liveRules(live)[:1], []*storage.BucketLifecycleRule{foreign})) {
			t.Fatalf("the rule of others: %v, rules %v", withOthers, ruleTexts(liveRules(live)))
		}
		if again := expandUpdate(&plan, &plan, live); again != nil {
			t.Fatalf("a second update would send %+v", again)
		}
	})
}

func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ location, kind, want string }{
		{"US-CENTRAL1", "region", "us-central1"}, {"EU", "multi-region", "EU"}, {"NAM4", "dual-region", "NAM4"}, {"US-EAST1", "", "us-east1"},
	} {
		if got := spelledLocation(c.location, c.kind); got != c.want {
			t.Errorf("%s of kind %q: %s, want %s", c.location, c.kind, got, c.want)
		}
	}
	b := &storage.Bucket{Location: "US-CENTRAL1", LocationType: "region", SoftDeletePolicy: &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 604800}}
	m := flatten(b, &Model{Location: value.NewLocation("Us-Central1"), SoftDeleteRetention: value.NewDuration("10080m")})
	if m.Location.ValueString() != "Us-Central1" || m.SoftDeleteRetention.ValueString() != "10080m" {
		t.Errorf("the prior spelling was not kept: %s, %s", m.Location, m.SoftDeleteRetention)
	}
	m = flatten(b, &Model{Location: value.NewLocation("us-east1"), SoftDeleteRetention: value.NewDuration("0s")})
	if m.Location.ValueString() != "us-central1" || m.SoftDeleteRetention.ValueString() != "168h" {
		t.Errorf("got %s, %s", m.Location, m.SoftDeleteRetention)
	}
	if d, err := m.SoftDeleteRetention.Duration(); err != nil || d != 7*24*time.Hour {
		t.Errorf("%s, %v", d, err)
	}
}

// A bucket of which the API says little is no crash (case 118).
func TestSparseBucket(t *testing.T) {
	t.Parallel()
	prior := blank(t.Context(), "ckpt")
	for _, b := range []*storage.Bucket{
		{}, {Lifecycle: &storage.BucketLifecycle{}}, {Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{nil, {}, {Action: &storage.BucketLifecycleRuleAction{}}}}},
		{IamConfiguration: &storage.BucketIamConfiguration{}}, {SoftDeletePolicy: &storage.BucketSoftDeletePolicy{}}, {Versioning: &storage.BucketVersioning{}}, {Encryption: &storage.BucketEncryption{}},
	} {
		m := flatten(b, &prior)
		if m.SoftDeleteRetention.ValueString() != "0s" || m.AbortIncompleteUploadDays.ValueInt64() != 0 || m.HierarchicalNamespace.ValueBool() || !m.ExpireAfterDays.IsNull() || !m.KMSKeyName.IsNull() {
			t.Errorf("%+v: got %+v", b, m)
		}
		if patch := expandUpdate(&m, &m, b); patch == nil || patch.IamConfiguration == nil {
			t.Errorf("%+v: access is not closed", b)
		}
	}
}

// A prefix rule of somebody else is told from ours by what the state says.
func TestTwoExpireRules(t *testing.T) {
	t.Parallel()
	rule := func(days int64, prefix string) *storage.BucketLifecycleRule {
		return &storage.BucketLifecycleRule{Action: &storage.BucketLifecycleRuleAction{Type: actionDelete},
			Condition: &storage.BucketLifecycleRuleCondition{Age: &days, MatchesPrefix: []string{prefix}}}
	}
	live := &storage.Bucket{Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{rule(3, "theirs/"), rule(7, "ours/")}}}
	prior := blank(t.Context(), "ckpt")
	prior.ExpireAfterDays, prior.ExpirePrefixes = value.NewWhole(7), value.SetOf([]string{"ours/"})
	state := flatten(live, &prior)
	if state.ExpireAfterDays.ValueInt64() != 7 {
		t.Fatalf("expire_after_days = %s", state.ExpireAfterDays)
	}
	plan := state
	plan.ExpireAfterDays = value.NewWhole(9)
	if got := mergedRules(&plan, &state, live); !sameRules(got, []*storage.BucketLifecycleRule{rule(3, "theirs/"), rule(9, "ours/")}) {
		t.Errorf("got %v", ruleTexts(got))
	}
}

// A bucket whose create was not answered is adopted only when nothing about it differs from what was asked for.
func TestAsAsked(t *testing.T) {
	t.Parallel()
	want := &storage.Bucket{Location: "us-central1", StorageClass: "STANDARD", IamConfiguration: expandAccess(), Labels: map[string]string{"a": "b"},
		Encryption: &storage.BucketEncryption{DefaultKmsKeyName: "k"}, SoftDeletePolicy: &storage.BucketSoftDeletePolicy{}}
	made := func(change func(*storage.Bucket)) *storage.Bucket {
		b := *want
		b.Location, b.Metageneration = "US-CENTRAL1", 1
		change(&b)
		return &b
	}
	if !asAsked(made(func(*storage.Bucket) {}), want) {
		t.Error("the bucket that was asked for is not adopted")
	}
	for what, change := range map[string]func(*storage.Bucket){
		"location": func(b *storage.Bucket) { b.Location = "EU" },
		"class":    func(b *storage.Bucket) { b.StorageClass = "NEARLINE" },
		"key":      func(b *storage.Bucket) { b.Encryption = nil },
		"labels":   func(b *storage.Bucket) { b.Labels = nil },
		"soft delete": func(b *storage.Bucket) {
			b.SoftDeletePolicy = &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 604800}
		},
		"namespace":  func(b *storage.Bucket) { b.HierarchicalNamespace = &storage.BucketHierarchicalNamespace{Enabled: true} },
		"versioning": func(b *storage.Bucket) { b.Versioning = &storage.BucketVersioning{Enabled: true} },
		"access":     func(b *storage.Bucket) { b.IamConfiguration = nil },
		"rules": func(b *storage.Bucket) {
			b.Lifecycle = &storage.BucketLifecycle{Rule: expandRules(&Model{AbortIncompleteUploadDays: value.NewWhole(1)})}
		},
		"changed before": func(b *storage.Bucket) { b.Metageneration = 2 },
	} {
		if asAsked(made(change), want) {
			t.Errorf("a bucket with another %s is adopted", what)
		}
	}
}
