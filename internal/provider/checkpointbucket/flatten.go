// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// The kinds of lifecycle rules that the resource has attributes for.
const (
	actionDelete = "Delete"
	actionAbort  = "AbortIncompleteMultipartUpload"
)

// flatten makes a model of a bucket. What the bucket's answer does not hold (project, readers and writers, force_destroy, timeouts), which labels are managed, and the
// spelling of what is equal come from the prior model.
func flatten(b *storage.Bucket, prior *Model) Model {
	m := *prior
	m.identify()
	m.Location = value.NewLocation(spelledLocation(b.Location, b.LocationType))
	if value.Known(prior.Location) && prior.Location.Canonical() == m.Location.Canonical() {
		m.Location = prior.Location
	}
	m.StorageClass = types.StringValue(b.StorageClass)
	m.HierarchicalNamespace = types.BoolValue(hierarchical(b))
	m.Versioning = types.BoolValue(b.Versioning != nil && b.Versioning.Enabled)
	m.SoftDeleteRetention = flattenSoftDelete(b, prior)
	m.KMSKeyName = types.StringNull()
	if key := kmsKey(b); key != "" {
		m.KMSKeyName = types.StringValue(key)
	}
	flattenRules(&m, b, prior)
	flattenLabels(&m, b, prior)
	m.UniformBucketLevelAccess = types.BoolValue(uniformAccess(b))
	m.PublicAccessPrevention = types.StringValue(publicAccess(b))
	m.TimeCreated = types.StringValue(b.TimeCreated)
	return m
}

func hierarchical(b *storage.Bucket) bool {
	return b.HierarchicalNamespace != nil && b.HierarchicalNamespace.Enabled
}

func uniformAccess(b *storage.Bucket) bool {
	return b.IamConfiguration != nil && b.IamConfiguration.UniformBucketLevelAccess != nil && b.IamConfiguration.UniformBucketLevelAccess.Enabled
}

func publicAccess(b *storage.Bucket) string {
	if b.IamConfiguration == nil {
		return ""
	}
	return b.IamConfiguration.PublicAccessPrevention
}

func softDeleteSeconds(b *storage.Bucket) int64 {
	if b.SoftDeletePolicy == nil {
		return 0
	}
	return b.SoftDeletePolicy.RetentionDurationSeconds
}

func kmsKey(b *storage.Bucket) string {
	if b.Encryption == nil {
		return ""
	}
	return b.Encryption.DefaultKmsKeyName
}

func flattenSoftDelete(b *storage.Bucket, prior *Model) value.Duration {
	d := time.Duration(softDeleteSeconds(b)) * time.Second
	if value.Known(prior.SoftDeleteRetention) {
		if p, err := prior.SoftDeleteRetention.Duration(); err == nil && p == d {
			return prior.SoftDeleteRetention
		}
	}
	return value.DurationOf(d)
}

func flattenRules(m *Model, b *storage.Bucket, prior *Model) {
	rules := liveRules(b)
	m.ExpireAfterDays, m.ExpirePrefixes = value.NewWholeNull(), types.SetNull(types.StringType)
	if rule := expireRule(rules, prior); rule != nil {
		m.ExpireAfterDays = value.NewWhole(*rule.Condition.Age)
		m.ExpirePrefixes = value.SetOf(rule.Condition.MatchesPrefix)
	}
	m.AbortIncompleteUploadDays = value.NewWhole(0)
	if rule := abortRule(rules); rule != nil {
		m.AbortIncompleteUploadDays = value.NewWhole(*rule.Condition.Age)
	}
}

func liveRules(b *storage.Bucket) []*storage.BucketLifecycleRule {
	if b.Lifecycle == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.Lifecycle.Rule), func(r *storage.BucketLifecycleRule) bool {
		return r == nil || r.Action == nil || r.Condition == nil
	})
}

// expireRule finds the rule that expire_after_days and expire_prefixes stand for: a deletion by age and prefix, and nothing else. Of
// several such rules it is the one that the prior model describes, else the first.
func expireRule(rules []*storage.BucketLifecycleRule, prior *Model) *storage.BucketLifecycleRule {
	var first *storage.BucketLifecycleRule
	for _, rule := range rules {
		c := rule.Condition
		if rule.Action.Type != actionDelete || c.Age == nil || len(c.MatchesPrefix) == 0 ||
			!onlyCondition(c, &storage.BucketLifecycleRuleCondition{Age: c.Age, MatchesPrefix: c.MatchesPrefix}) {
			continue
		}
		if first == nil {
			first = rule
		}
		if value.Known(prior.ExpireAfterDays) && *c.Age == prior.ExpireAfterDays.ValueInt64() && prior.ExpirePrefixes.Equal(value.SetOf(c.MatchesPrefix)) {
			return rule
		}
	}
	return first
}

// abortRule finds the rule that abort_incomplete_upload_days stands for.
func abortRule(rules []*storage.BucketLifecycleRule) *storage.BucketLifecycleRule {
	for _, rule := range rules {
		c := rule.Condition
		if rule.Action.Type == actionAbort && c.Age != nil && onlyCondition(c, &storage.BucketLifecycleRuleCondition{Age: c.Age}) {
			return rule
		}
	}
	return nil
}

// onlyCondition reports whether a condition says what want says and nothing more.
func onlyCondition(c, want *storage.BucketLifecycleRuleCondition) bool {
	a, errA := c.MarshalJSON()
	b, errB := want.MarshalJSON()
	return errA == nil && errB == nil && string(a) == string(b)
}

// flattenLabels shows the live values of the managed labels.
func flattenLabels(m *Model, b *storage.Bucket, prior *Model) {
	m.Labels = managedmap.Read(prior.Labels, b.Labels)
	m.TerraformLabels = managedmap.Read(prior.TerraformLabels, b.Labels)
	m.EffectiveLabels = value.MapOf(b.Labels)
}
