// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// expandCreate makes the request for a new bucket. Every value of the plan that it uses is known.
func expandCreate(plan *Model) *storage.Bucket {
	b := &storage.Bucket{
		Name:             plan.Name.ValueString(),
		Location:         plan.Location.Canonical(),
		StorageClass:     plan.StorageClass.ValueString(),
		Labels:           value.Strings(plan.TerraformLabels),
		IamConfiguration: expandAccess(),
		SoftDeletePolicy: expandSoftDelete(plan),
	}
	if plan.HierarchicalNamespace.ValueBool() {
		b.HierarchicalNamespace = &storage.BucketHierarchicalNamespace{Enabled: true}
	}
	if plan.Versioning.ValueBool() {
		b.Versioning = &storage.BucketVersioning{Enabled: true}
	}
	if key := plan.KMSKeyName.ValueString(); key != "" {
		b.Encryption = &storage.BucketEncryption{DefaultKmsKeyName: key}
	}
	if rules := expandRules(plan); len(rules) > 0 {
		b.Lifecycle = &storage.BucketLifecycle{Rule: rules}
	}
	return b
}

// expandUpdate makes the request that brings the live bucket from the state to the plan, nil when it is there already. What is not managed
// is not named in it, but for the lifecycle, which the API replaces as a whole.
func expandUpdate(plan, state *Model, live *storage.Bucket) *storage.Bucket {
	b := &storage.Bucket{}
	changed := false
	if class := plan.StorageClass.ValueString(); class != live.StorageClass {
		b.StorageClass, changed = class, true
	}
	if on := plan.Versioning.ValueBool(); on != (live.Versioning != nil && live.Versioning.Enabled) {
		b.Versioning, changed = &storage.BucketVersioning{Enabled: on, ForceSendFields: []string{"Enabled"}}, true
	}
	if policy := expandSoftDelete(plan); policy.RetentionDurationSeconds != softDeleteSeconds(live) {
		b.SoftDeletePolicy, changed = policy, true
	}
	if !uniformAccess(live) || publicAccess(live) != enforced {
		b.IamConfiguration, changed = expandAccess(), true
	}
	if expandKey(b, plan, live) {
		changed = true
	}
	if rules := mergedRules(plan, state, live); !sameRules(rules, liveRules(live)) {
		b.Lifecycle, changed = &storage.BucketLifecycle{Rule: rules, ForceSendFields: []string{"Rule"}}, true
	}
	if expandLabels(b, plan, state, live) {
		changed = true
	}
	if !changed {
		return nil
	}
	return b
}

// expandAccess switches off what could make a checkpoint public. It is the same for every bucket.
func expandAccess() *storage.BucketIamConfiguration {
	return &storage.BucketIamConfiguration{
		PublicAccessPrevention:   enforced,
		UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
	}
}

// expandSoftDelete always sends the number: a policy that is left out means seven days, and null does not switch it off.
func expandSoftDelete(plan *Model) *storage.BucketSoftDeletePolicy {
	d, err := plan.SoftDeleteRetention.Duration()
	if err != nil {
		d = 0 // the validator has seen it
	}
	return &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: int64(d / time.Second), ForceSendFields: []string{"RetentionDurationSeconds"}}
}

// expandKey sets the default key, or takes it away. What else stands in the same field of the API (which kinds of encryption new objects
// may have) is left as it is.
func expandKey(b *storage.Bucket, plan *Model, live *storage.Bucket) bool {
	want := plan.KMSKeyName.ValueString()
	if want == kmsKey(live) {
		return false
	}
	b.Encryption = &storage.BucketEncryption{DefaultKmsKeyName: want}
	if want == "" {
		b.Encryption.NullFields = []string{"DefaultKmsKeyName"}
	}
	return true
}

// expandLabels sets the managed labels that differ, and takes away those that are managed no longer.
func expandLabels(b *storage.Bucket, plan, state *Model, live *storage.Bucket) bool {
	set, gone := managedmap.Changes(live.Labels, state.TerraformLabels, plan.TerraformLabels)
	b.Labels = set
	for _, k := range gone {
		b.NullFields = append(b.NullFields, "Labels."+k)
	}
	if len(gone) > 0 {
		// Without it a map that holds nothing but nulls is left out.
		b.ForceSendFields = append(b.ForceSendFields, "Labels")
	}
	return len(set)+len(gone) > 0
}

// expandRules makes the managed lifecycle rules.
func expandRules(plan *Model) []*storage.BucketLifecycleRule {
	var rules []*storage.BucketLifecycleRule
	if value.Known(plan.ExpireAfterDays) {
		rules = append(rules, &storage.BucketLifecycleRule{
			Action:    &storage.BucketLifecycleRuleAction{Type: actionDelete},
			Condition: &storage.BucketLifecycleRuleCondition{Age: plan.ExpireAfterDays.ValueInt64Pointer(), MatchesPrefix: slices.Sorted(slices.Values(value.Elements(plan.ExpirePrefixes)))},
		})
	}
	if days := plan.AbortIncompleteUploadDays.ValueInt64(); days > 0 {
		rules = append(rules, &storage.BucketLifecycleRule{
			Action:    &storage.BucketLifecycleRuleAction{Type: actionAbort},
			Condition: &storage.BucketLifecycleRuleCondition{Age: &days},
		})
	}
	return rules
}

// mergedRules puts the plan's rules in the place of the state's and keeps everybody else's.
func mergedRules(plan, state *Model, live *storage.Bucket) []*storage.BucketLifecycleRule {
	rules := liveRules(live)
	expire, abort := expireRule(rules, state), abortRule(rules)
	merged := []*storage.BucketLifecycleRule{}
	for _, rule := range rules {
		if rule != expire && rule != abort {
			merged = append(merged, rule)
		}
	}
	return append(merged, expandRules(plan)...)
}

// sameRules compares rules as a set: their order means nothing.
func sameRules(a, b []*storage.BucketLifecycleRule) bool {
	return slices.Equal(ruleTexts(a), ruleTexts(b))
}

func ruleTexts(rules []*storage.BucketLifecycleRule) []string {
	var out []string
	for _, rule := range rules {
		sorted := *rule
		if rule.Condition != nil {
			condition := *rule.Condition
			condition.MatchesPrefix = slices.Sorted(slices.Values(condition.MatchesPrefix))
			sorted.Condition = &condition
		}
		text, err := sorted.MarshalJSON()
		if err != nil {
			text = []byte(err.Error()) // a plain structure always marshals
		}
		out = append(out, string(text))
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
