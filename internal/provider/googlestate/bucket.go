// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"slices"

	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Bucket is what the state of a google_storage_bucket says.
type Bucket struct {
	// Project may be empty: the state's project is not what makes a bucket that bucket.
	Project string
	// Live is the bucket as the API would answer, as far as the attributes below are not concerned.
	Live *storage.Bucket
	// Labels of the bucket.
	Labels Managed
	// ForceDestroy tells whether a destroy empties the bucket.
	ForceDestroy bool
	// Others are the attributes with a value that Live does not hold. What they say stays on the bucket.
	Others []string
	// Timeouts are durations by operation.
	Timeouts map[string]string
	// DeletionPolicy is what keeps the bucket where Terraform destroys, PREVENT or ABANDON; empty for DELETE.
	DeletionPolicy string
}

// notHeld are the attributes of the bucket that Bucket.Live does not hold.
var notHeld = []string{
	"autoclass", "cors", "custom_placement_config", "default_event_based_hold", "enable_object_retention", "ip_filter", "logging",
	"requester_pays", "retention_policy", "rpo", "website",
}

// ReadBucket reads the state of a google_storage_bucket. With problems the bucket is incomplete.
func ReadBucket(raw []byte, version int64) (Bucket, []Problem) {
	o, ok := parse(raw)
	if !ok {
		return Bucket{Live: &storage.Bucket{}}, o.found.problems
	}
	b := Bucket{
		Project:        lastPart(o.text("project")),
		Labels:         o.managed("labels", "terraform_labels", "effective_labels"),
		ForceDestroy:   o.is("force_destroy"),
		Timeouts:       o.timeouts(),
		DeletionPolicy: o.keptOnDestroy(),
	}
	name := o.text("name")
	if name == "" {
		name = o.text("id")
	}
	parsed, err := resourcename.ParseBucket(name)
	if err != nil {
		o.problem("", "the state does not name a bucket: it has the name %.60q", name)
	}
	b.Live = &storage.Bucket{
		Name: parsed.Name, Location: o.text("location"), StorageClass: o.text("storage_class"), Labels: b.Labels.Live,
		TimeCreated: o.text("time_created"), Updated: o.text("updated"),
		IamConfiguration: &storage.BucketIamConfiguration{
			PublicAccessPrevention:   o.publicAccess(),
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: o.is("uniform_bucket_level_access") || o.is("bucket_policy_only")},
		},
	}
	o.one("versioning", func(v *object) { b.Live.Versioning = &storage.BucketVersioning{Enabled: v.is("enabled")} })
	o.one("hierarchical_namespace", func(h *object) {
		b.Live.HierarchicalNamespace = &storage.BucketHierarchicalNamespace{Enabled: h.is("enabled")}
	})
	o.one("soft_delete_policy", func(s *object) {
		b.Live.SoftDeletePolicy = &storage.BucketSoftDeletePolicy{EffectiveTime: s.text("effective_time")}
		if n := s.whole("retention_duration_seconds"); n != nil {
			b.Live.SoftDeletePolicy.RetentionDurationSeconds = *n
		}
	})
	o.one("encryption", func(e *object) { b.encryption(e) })
	o.each("lifecycle_rule", func(r *object) {
		if b.Live.Lifecycle == nil {
			b.Live.Lifecycle = &storage.BucketLifecycle{}
		}
		b.Live.Lifecycle.Rule = append(b.Live.Lifecycle.Rule, r.lifecycleRule(version))
	})
	for _, n := range notHeld {
		if n == "rpo" && o.fields[n] == "DEFAULT" {
			continue
		}
		if !blank(o.fields[n]) {
			b.Others = append(b.Others, n)
		}
	}
	slices.Sort(b.Others)
	return b, o.found.problems
}

// publicAccess is inherited where an old state does not have the attribute.
func (o *object) publicAccess() string {
	if p := o.text("public_access_prevention"); p != "" {
		return p
	}
	return "inherited"
}

func (b *Bucket) encryption(e *object) {
	if key := e.text("default_kms_key_name"); key != "" {
		b.Live.Encryption = &storage.BucketEncryption{DefaultKmsKeyName: key}
	}
	for _, who := range []string{"google_managed", "customer_managed", "customer_supplied"} {
		name := who + "_encryption_enforcement_config"
		e.ignore(name)
		if !blank(e.fields[name]) {
			b.Others = append(b.Others, "encryption."+name)
		}
	}
}

func (o *object) lifecycleRule(version int64) *storage.BucketLifecycleRule {
	r := &storage.BucketLifecycleRule{Action: &storage.BucketLifecycleRuleAction{}, Condition: &storage.BucketLifecycleRuleCondition{}}
	o.one("action", func(a *object) {
		r.Action = &storage.BucketLifecycleRuleAction{Type: a.text("type"), StorageClass: a.text("storage_class")}
	})
	o.one("condition", func(c *object) { r.Condition = c.condition(version) })
	return r
}

// condition reads the condition of a lifecycle rule, in which 0 stands for nothing, unless another attribute says that it is meant.
func (o *object) condition(version int64) *storage.BucketLifecycleRuleCondition {
	c := &storage.BucketLifecycleRuleCondition{
		CreatedBefore: o.text("created_before"), CustomTimeBefore: o.text("custom_time_before"), NoncurrentTimeBefore: o.text("noncurrent_time_before"),
		MatchesPrefix: o.texts("matches_prefix"), MatchesSuffix: o.texts("matches_suffix"), MatchesStorageClass: o.texts("matches_storage_class"),
	}
	c.Age = o.whole("age")
	if c.Age != nil && *c.Age == 0 && !o.zeroAge(version) {
		c.Age = nil
	}
	for _, n := range []struct {
		field           *int64
		name, sent, api string
	}{
		{&c.DaysSinceCustomTime, "days_since_custom_time", "send_days_since_custom_time_if_zero", "DaysSinceCustomTime"},
		{&c.DaysSinceNoncurrentTime, "days_since_noncurrent_time", "send_days_since_noncurrent_time_if_zero", "DaysSinceNoncurrentTime"},
		{&c.NumNewerVersions, "num_newer_versions", "send_num_newer_versions_if_zero", "NumNewerVersions"},
		{&c.SizeAboveBytes, "size_above_bytes", "", ""},
		{&c.SizeBelowBytes, "size_below_bytes", "", ""},
	} {
		if v := o.whole(n.name); v != nil {
			*n.field = *v
		}
		if n.sent != "" && o.is(n.sent) && *n.field == 0 {
			c.ForceSendFields = append(c.ForceSendFields, n.api)
		}
	}
	o.ignore("send_age_if_zero", "no_age")
	live := o.flag("is_live")
	switch o.text("with_state") {
	case "LIVE":
		yes := true
		live = &yes
	case "ARCHIVED":
		no := false
		live = &no
	case "ANY":
		live = nil
	default:
		if live != nil && !*live {
			live = nil // an old state has false where nothing was said
		}
	}
	c.IsLive = live
	return c
}

// zeroAge tells whether an age of 0 is meant: until version 2 it is unless the condition says otherwise, from then on the condition says so.
func (o *object) zeroAge(version int64) bool {
	if meant := o.flag("send_age_if_zero"); meant != nil {
		return *meant
	}
	if version >= 2 {
		return false
	}
	return !o.is("no_age")
}
