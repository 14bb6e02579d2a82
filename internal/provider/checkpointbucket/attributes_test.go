// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

type attrs = map[string]any

// step is a change of the configuration: what it makes of the bucket, and the body of the only request. An empty body: nothing is sent.
type step struct {
	config attrs
	action string
	sent   string
}

// attributeRow is the life of one attribute: a bucket is made without it, and then each step is taken. made is what a create with the first
// step's configuration sends more than one without.
type attributeRow struct {
	steps []step
	made  string
	// computed: it cannot be configured, and has a value after create (case 124).
	computed bool
}

const (
	scratchRule = `{"action": {"type": "Delete"}, "condition": {"age": 3, "matchesPrefix": ["a/"]}}`
	abortRule   = `{"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}`
)

func attributeRows() map[string]attributeRow {
	delete1h := tftypes.NewValue(tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"create": tftypes.String, "read": tftypes.String, "update": tftypes.String, "delete": tftypes.String,
	}}, map[string]tftypes.Value{
		"create": tftypes.NewValue(tftypes.String, nil), "read": tftypes.NewValue(tftypes.String, nil),
		"update": tftypes.NewValue(tftypes.String, nil), "delete": tftypes.NewValue(tftypes.String, "1h"),
	})
	expiry := func(days int, prefixes ...string) attrs {
		return attrs{"expire_after_days": days, "expire_prefixes": prefixes}
	}
	return map[string]attributeRow{
		"name":     {steps: []step{{attrs{"name": "ckpt-another"}, "replace", ""}}},
		"project":  {steps: []step{{attrs{"project": acctest.EmulatorProject}, "no-op", ""}, {attrs{"project": "another-project"}, "replace", ""}, {attrs{}, "no-op", ""}}},
		"location": {steps: []step{{attrs{"location": "US-Central1"}, "no-op", ""}, {attrs{"location": "EU"}, "replace", ""}, {attrs{}, "no-op", ""}}},
		"storage_class": {made: `{"storageClass": "NEARLINE"}`, steps: []step{
			{attrs{"storage_class": "NEARLINE"}, "update", `{"storageClass": "NEARLINE"}`},
			{attrs{"storage_class": "ARCHIVE"}, "update", `{"storageClass": "ARCHIVE"}`},
			{attrs{}, "update", `{"storageClass": "STANDARD"}`}}},
		"hierarchical_namespace": {steps: []step{
			{attrs{"hierarchical_namespace": false}, "no-op", ""}, {attrs{"hierarchical_namespace": true}, "refused", ""}, {attrs{"hierarchical_namespace": nil}, "no-op", ""}}},
		"versioning": {made: `{"versioning": {"enabled": true}}`, steps: []step{
			{attrs{"versioning": true}, "update", `{"versioning": {"enabled": true}}`},
			{attrs{"versioning": false}, "update", `{"versioning": {"enabled": false}}`},
			{attrs{"versioning": true}, "update", `{"versioning": {"enabled": true}}`},
			{attrs{}, "update", `{"versioning": {"enabled": false}}`}}},
		"soft_delete_retention": {made: `{"softDeletePolicy": {"retentionDurationSeconds": "604800"}}`, steps: []step{
			{attrs{"soft_delete_retention": "168h"}, "update", `{"softDeletePolicy": {"retentionDurationSeconds": "604800"}}`},
			{attrs{"soft_delete_retention": "10080m"}, "no-op", ""},
			{attrs{"soft_delete_retention": "2160h"}, "update", `{"softDeletePolicy": {"retentionDurationSeconds": "7776000"}}`},
			{attrs{}, "update", `{"softDeletePolicy": {"retentionDurationSeconds": "0"}}`}}},
		"expire_after_days": {made: `{"lifecycle": {"rule": [` + scratchRule + `, ` + abortRule + `]}}`, steps: []step{
			{expiry(3, "a/"), "update", `{"lifecycle": {"rule": [` + scratchRule + `, ` + abortRule + `]}}`},
			{expiry(4, "a/"), "update", `{"lifecycle": {"rule": [` + strings.Replace(scratchRule, "3", "4", 1) + `, ` + abortRule + `]}}`},
			{attrs{}, "update", `{"lifecycle": {"rule": [` + abortRule + `]}}`}}},
		"expire_prefixes": {made: `{"lifecycle": {"rule": [` + scratchRule + `, ` + abortRule + `]}}`, steps: []step{
			{expiry(3, "a/"), "update", `{"lifecycle": {"rule": [` + scratchRule + `, ` + abortRule + `]}}`},
			{expiry(3, "b", "a/"), "update", `{"lifecycle": {"rule": [` + strings.Replace(scratchRule, `"a/"`, `"a/", "b"`, 1) + `, ` + abortRule + `]}}`},
			{expiry(3, "a/", "b"), "no-op", ""},
			{attrs{}, "update", `{"lifecycle": {"rule": [` + abortRule + `]}}`}}},
		"abort_incomplete_upload_days": {made: `{"lifecycle": {"rule": [` + strings.Replace(abortRule, "1", "9", 1) + `]}}`, steps: []step{
			{attrs{"abort_incomplete_upload_days": 9}, "update", `{"lifecycle": {"rule": [` + strings.Replace(abortRule, "1", "9", 1) + `]}}`},
			{attrs{"abort_incomplete_upload_days": 0}, "update", `{"lifecycle": {"rule": []}}`},
			{attrs{}, "update", `{"lifecycle": {"rule": [` + abortRule + `]}}`}}},
		"kms_key_name": {made: `{"encryption": {"defaultKmsKeyName": "` + keyIn("us-central1") + `"}}`, steps: []step{
			{attrs{"kms_key_name": keyIn("us-central1")}, "update", `{"encryption": {"defaultKmsKeyName": "` + keyIn("us-central1") + `"}}`},
			{attrs{"kms_key_name": keyIn("us-central1") + "2"}, "update", `{"encryption": {"defaultKmsKeyName": "` + keyIn("us-central1") + `2"}}`},
			{attrs{"kms_key_name": keyIn("us-east1")}, "refused", ""},
			{attrs{}, "update", `{"encryption": {"defaultKmsKeyName": null}}`}}},
		"readers": memberRow("readers"),
		"writers": memberRow("writers"),
		"labels": {made: `{"labels": {"a": "b"}}`, steps: []step{
			{attrs{"labels": map[string]string{"a": "b"}}, "update", `{"labels": {"a": "b"}}`},
			{attrs{"labels": map[string]string{"a": "", "c": "d"}}, "update", `{"labels": {"a": "", "c": "d"}}`},
			{attrs{"labels": map[string]string{"c": "d"}}, "update", `{"labels": {"a": null}}`},
			{attrs{"labels": map[string]string{}}, "update", `{"labels": {"c": null}}`},
			{attrs{}, "update", ""}}},
		"force_destroy":               {steps: []step{{attrs{"force_destroy": true}, "update", ""}, {attrs{"force_destroy": false}, "update", ""}, {attrs{}, "no-op", ""}}},
		"timeouts":                    {steps: []step{{attrs{"timeouts": delete1h}, "update", ""}, {attrs{}, "update", ""}}},
		"id":                          {computed: true},
		"url":                         {computed: true},
		"time_created":                {computed: true},
		"terraform_labels":            {computed: true},
		"effective_labels":            {computed: true},
		"uniform_bucket_level_access": {computed: true},
		"public_access_prevention":    {computed: true},
	}
}

// memberRow: the bucket itself is never written to; what becomes of the policy stands in other tests.
func memberRow(attribute string) attributeRow {
	return attributeRow{steps: []step{
		{attrs{attribute: []string{"user:ann@example.com"}}, "update", "policy"},
		{attrs{attribute: []string{"user:ANN@example.com"}}, "no-op", ""},
		{attrs{attribute: []string{"user:bob@example.com", "user:ann@example.com"}}, "update", "policy"},
		{attrs{attribute: []string{}}, "update", "policy"},
		{attrs{}, "update", ""},
	}}
}

// Every attribute, from unset over one value and another one back to unset (case 121): what the plan does, what is sent, and only that, what
// the state holds then; each plan after an apply changes nothing. An attribute without a row fails.
func TestAttributes(t *testing.T) {
	t.Parallel()
	rows := attributeRows()
	for _, a := range newServer(t, acctest.Emulator(t)).schema.Block.Attributes {
		row, ok := rows[a.Name]
		if !ok {
			t.Errorf("%s has no row", a.Name)
			continue
		}
		delete(rows, a.Name)
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, acctest.Emulator(t)) // of its own: the requests are counted
			name := "ckpt-a-" + strings.ReplaceAll(a.Name, "_", "-")
			config := func(set attrs) tftypes.Value {
				all := attrs{"name": name, "hierarchical_namespace": false}
				maps.Copy(all, set)
				return s.config(all)
			}
			unset := s.apply(s.none(), config(nil))
			if row.computed {
				if a.Optional || a.Required || s.attributes(unset.state)[a.Name].IsNull() {
					t.Errorf("optional %t, after create %s", a.Optional, s.attributes(unset.state)[a.Name])
				}
				return
			}
			s.takeSteps(a.Name, unset, row, config)
			s.createWith(name, row, config)
		})
	}
	for name := range rows {
		t.Errorf("there is no attribute %s", name)
	}
}

// takeSteps takes the steps of a row, one after the other.
func (s *server) takeSteps(attribute string, l *life, row attributeRow, config func(attrs) tftypes.Value) {
	first := l
	for i, step := range row.steps {
		configured := config(step.config)
		if action, text := s.action(l, configured); action != step.action {
			s.t.Errorf("step %d plans %s (%s), want %s", i, action, text, step.action)
			continue
		}
		if step.action == "replace" || step.action == "refused" {
			continue
		}
		calls := acctest.Since(s.e)
		l = s.apply(l, configured)
		switch {
		case step.sent == "policy":
			if n := calls.Count(acctest.PatchBucket); n != 0 || calls.Count(acctest.SetBucketPolicy) == 0 {
				s.t.Errorf("step %d: calls %v", i, calls.Methods())
			}
		case step.sent != "":
			wantBody(s.t, calls, acctest.PatchBucket, step.sent)
			wantWrites(s.t, calls, acctest.PatchBucket)
		default:
			wantWrites(s.t, calls)
		}
		// What is configured is in the state as it is written, but for another spelling of what was there.
		if got, want := s.attributes(l.state)[attribute], s.attributes(configured)[attribute]; step.action == "update" && !want.IsNull() && !got.Equal(want) {
			s.t.Errorf("step %d: the state has %s, configured %s", i, got, want)
		}
		l = s.read(l)
		s.unchanged(l, configured)
	}
	if got, want := s.attributes(l.state)[attribute], s.attributes(first.state)[attribute]; len(row.steps) > 1 && !got.Equal(want) {
		s.t.Errorf("when it is unset again the state has %s, and had %s", got, want)
	}
}

// createWith makes a bucket with the configuration of the first step.
func (s *server) createWith(name string, row attributeRow, config func(attrs) tftypes.Value) {
	first := row.steps[0]
	if first.action == "replace" || first.action == "refused" {
		return
	}
	set := maps.Clone(first.config)
	set["name"] = name + "-made"
	calls := acctest.Since(s.e)
	configured := config(set)
	l := s.apply(s.none(), configured)
	want := map[string]any{}
	base := `{"name": "` + name + `-made", "location": "us-central1", "storageClass": "STANDARD", "softDeletePolicy": {"retentionDurationSeconds": "0"},
		"iamConfiguration": {"publicAccessPrevention": "enforced", "uniformBucketLevelAccess": {"enabled": true}}, "lifecycle": {"rule": [` + abortRule + `]}}`
	for _, text := range []string{base, row.made} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			s.t.Fatal(err)
		}
	}
	var got map[string]any
	if err := json.Unmarshal(calls.Find(acctest.InsertBucket)[0].Body, &got); err != nil {
		s.t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("create:\n%s", d)
	}
	allowed := []string{acctest.InsertBucket}
	if first.sent == "policy" {
		allowed = append(allowed, acctest.SetBucketPolicy)
	}
	if writes := calls.Writes(); !slices.Equal(writes, allowed) {
		s.t.Errorf("create: writes %v", writes)
	}
	for attribute, v := range s.attributes(l.state) {
		if !v.IsFullyKnown() {
			s.t.Errorf("create: %s is not known", attribute)
		}
	}
	l = s.read(l)
	s.unchanged(l, configured)
}
