// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

// rawBucket is a bucket as the API answers it, with what the schema does not know.
func rawBucket(t *testing.T, e *emulator.Emulator, name string) map[string]any {
	t.Helper()
	b := map[string]any{}
	getJSON(t, e, "/storage/v1/b/"+name, &b)
	return b
}

// What others do to a bucket is not shown where it is none of this resource's business, and never undone (cases 20, 22, 98).
func TestForeignChanges(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name, at = "ckpt-foreign", "/storage/v1/b/ckpt-foreign"
	plain := attrs{"name": name, "hierarchical_namespace": false, "labels": map[string]string{"team": "ml"}, "readers": []string{ann},
		"expire_after_days": 7, "expire_prefixes": []string{"scratch/"}, "location": "US-Central1", "soft_delete_retention": "10080m"}
	config := s.config(plain)
	l := s.apply(s.none(), config)
	for what, body := range foreignSettings {
		t.Logf("others change %s", what)
		send(t, e, "PATCH", at, body)
		l = s.read(l)
		s.unchanged(l, config)
	}
	others{t, otherClient(t, e)}.add(name, viewer, eve)
	l = s.read(l)
	s.unchanged(l, config)

	// An update of everything that is managed leaves them as they are.
	before := rawBucket(t, e, name)
	set := maps.Clone(plain)
	maps.Copy(set, attrs{"labels": map[string]string{"stage": "two"}, "storage_class": "NEARLINE", "versioning": true, "soft_delete_retention": "0s", "kms_key_name": keyIn("us-central1"),
		"expire_after_days": 9, "abort_incomplete_upload_days": 3, "readers": []string{bob}})
	l = s.apply(l, s.config(set))
	s.unchanged(s.read(l), s.config(set))
	l = s.apply(s.read(l), config) // the key goes away again
	wantSame(t, before, rawBucket(t, e, name), "labels", "storageClass")
	wantPolicy(t, e, name, viewer, ann, eve)
	s.unchanged(s.read(l), config)

	// So does an update of a bucket that was imported.
	set = attrs{"name": name, "hierarchical_namespace": false, "labels": map[string]string{"team": "ml", "owner": "somebody"}, "storage_class": "ARCHIVE", "kms_key_name": keyIn("us-central1"),
		"expire_after_days": 8, "expire_prefixes": []string{"scratch/"}}
	l = s.apply(s.imported(name, name), s.config(set))
	s.unchanged(s.read(l), s.config(set))
	set["expire_after_days"], set["kms_key_name"] = 7, nil
	s.apply(s.read(l), s.config(set))
	wantSame(t, before, rawBucket(t, e, name), "labels")
	wantPolicy(t, e, name, viewer, ann, eve)
}

// wantSame compares what others have set on a bucket.
func wantSame(t *testing.T, before, after map[string]any, more ...string) {
	t.Helper()
	for _, field := range append(more, "billing", "cors", "website", "logging", "retentionPolicy", "defaultEventBasedHold", "encryption", "lifecycle", "iamConfiguration", "location") {
		if before[field] == nil {
			t.Errorf("%s is not there", field)
		}
		if d := cmp.Diff(sortedRules(before[field]), sortedRules(after[field])); d != "" {
			t.Errorf("%s was changed:\n%s", field, d)
		}
	}
}

// foreignSettings are changes that concern nothing of this resource.
var foreignSettings = map[string]string{
	"a label":                    `{"labels": {"owner": "somebody", "goog-x": ""}}`,
	"who pays":                   `{"billing": {"requesterPays": true}}`,
	"cors":                       `{"cors": [{"origin": ["*"], "method": ["GET"], "maxAgeSeconds": 60}]}`,
	"a website":                  `{"website": {"mainPageSuffix": "index.html"}}`,
	"logging":                    `{"logging": {"logBucket": "logs", "logObjectPrefix": "p"}}`,
	"a retention policy":         `{"retentionPolicy": {"retentionPeriod": "60"}}`,
	"holds":                      `{"defaultEventBasedHold": true}`,
	"which encryption may be":    `{"encryption": {"customerSuppliedEncryptionEnforcementConfig": {"restrictionMode": "FullyRestricted"}}}`,
	"rules with more conditions": `{"lifecycle": {"rule": [` + strings.Join(append(foreignRules, ourRules...), ",") + `]}}`,
}

// foreignRules are lifecycle rules that no attribute stands for.
var foreignRules = []string{
	`{"action": {"type": "Delete"}, "condition": {"age": 7, "matchesPrefix": ["scratch/"], "isLive": false}}`,
	`{"action": {"type": "Delete"}, "condition": {"age": 30}}`,
	`{"action": {"type": "Delete"}, "condition": {"numNewerVersions": 3}}`,
	`{"action": {"type": "Delete"}, "condition": {"age": 7, "matchesPrefix": ["scratch/"], "matchesSuffix": [".tmp"]}}`,
	`{"action": {"type": "SetStorageClass", "storageClass": "COLDLINE"}, "condition": {"age": 60, "matchesStorageClass": ["STANDARD"]}}`,
	`{"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 5, "matchesPrefix": ["x/"]}}`,
}

var ourRules = []string{
	`{"action": {"type": "Delete"}, "condition": {"age": 7, "matchesPrefix": ["scratch/"]}}`,
	`{"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}`,
}

// sortedRules makes a set of the rules of a lifecycle: their order means nothing.
func sortedRules(v any) any {
	m, ok := v.(map[string]any)
	if !ok || m["rule"] == nil {
		return v
	}
	rules := map[string]int{}
	for _, rule := range m["rule"].([]any) {
		rules[cmp.Diff(nil, rule)]++
	}
	return rules
}

// What others change of what is managed is shown, and put back in place (case 22). One label that goes away does not touch another.
func TestManagedChanges(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name, at = "ckpt-managed", "/storage/v1/b/ckpt-managed"
	set := attrs{"name": name, "hierarchical_namespace": false, "labels": map[string]string{"team": "ml", "stage": "one"}, "kms_key_name": keyIn("us-central1"), "readers": []string{ann},
		"expire_after_days": 7, "expire_prefixes": []string{"scratch/"}}
	config := s.config(set)
	l := s.apply(s.none(), config)
	for what, c := range map[string]struct{ body, attribute, sent string }{
		"a label":             {`{"labels": {"team": "stolen"}}`, "labels", `{"labels": {"team": "ml"}}`},
		"a label gone":        {`{"labels": {"stage": null}}`, "terraform_labels", `{"labels": {"stage": "one"}}`},
		"storage class":       {`{"storageClass": "COLDLINE"}`, "storage_class", `{"storageClass": "STANDARD"}`},
		"soft delete":         {`{"softDeletePolicy": {"retentionDurationSeconds": "604800"}}`, "soft_delete_retention", `{"softDeletePolicy": {"retentionDurationSeconds": "0"}}`},
		"soft delete by null": {`{"softDeletePolicy": null}`, "soft_delete_retention", `{"softDeletePolicy": {"retentionDurationSeconds": "0"}}`},
		"key":                 {`{"encryption": {"defaultKmsKeyName": "` + keyIn("us-central1") + `2"}}`, "kms_key_name", `{"encryption": {"defaultKmsKeyName": "` + keyIn("us-central1") + `"}}`},
		"key gone":            {`{"encryption": null}`, "kms_key_name", `{"encryption": {"defaultKmsKeyName": "` + keyIn("us-central1") + `"}}`},
		"versioning":          {`{"versioning": {"enabled": true}}`, "versioning", `{"versioning": {"enabled": false}}`},
		"uniform access":      {`{"iamConfiguration": {"uniformBucketLevelAccess": {"enabled": false}}}`, "uniform_bucket_level_access", `{"iamConfiguration": {"publicAccessPrevention": "enforced", "uniformBucketLevelAccess": {"enabled": true}}}`},
		"public access":       {`{"iamConfiguration": {"publicAccessPrevention": "inherited"}}`, "public_access_prevention", `{"iamConfiguration": {"publicAccessPrevention": "enforced", "uniformBucketLevelAccess": {"enabled": true}}}`},
		"the rules":           {`{"lifecycle": {"rule": []}}`, "expire_after_days", `{"lifecycle": {"rule": [` + strings.Join(ourRules, ",") + `]}}`},
		"expiry":              {`{"lifecycle": {"rule": [` + strings.Replace(ourRules[0], "7", "1", 1) + "," + ourRules[1] + `]}}`, "expire_after_days", `{"lifecycle": {"rule": [` + strings.Join(ourRules, ",") + `]}}`},
		"uploads":             {`{"lifecycle": {"rule": [` + ourRules[0] + `]}}`, "abort_incomplete_upload_days", `{"lifecycle": {"rule": [` + strings.Join(ourRules, ",") + `]}}`},
	} {
		send(t, e, "PATCH", at, c.body)
		before := l
		l = s.read(l)
		if s.attributes(l.state)[c.attribute].Equal(s.attributes(before.state)[c.attribute]) {
			t.Errorf("%s: %s does not show it", what, c.attribute)
		}
		if action, text := s.action(l, config); action != "update" {
			t.Errorf("%s: plan is %s %s", what, action, text)
		}
		calls := acctest.Since(e)
		l = s.apply(l, config)
		wantBody(t, calls, acctest.PatchBucket, c.sent)
		l = s.read(l)
		s.unchanged(l, config)
		if d, err := l.state.Diff(before.state); err != nil || len(d) > 0 {
			t.Errorf("%s: afterwards %v, %v", what, d, err)
		}
	}

	// What others set where nothing is configured is the default's again.
	plain := s.config(attrs{"name": name, "hierarchical_namespace": false})
	l = s.read(s.apply(l, plain))
	send(t, e, "PATCH", at, `{"encryption": {"defaultKmsKeyName": "`+keyIn("us-central1")+`"}}`)
	l = s.read(l)
	if action, text := s.action(l, plain); action != "update" {
		t.Errorf("plan is %s %s", action, text)
	}
	calls := acctest.Since(e)
	l = s.apply(l, plain)
	wantBody(t, calls, acctest.PatchBucket, `{"encryption": {"defaultKmsKeyName": null}}`)
	s.unchanged(s.read(l), plain)
}

// What is known of an imported bucket: every form of the id, and by identity (case 104). Readers and writers are additive, so that those whom
// others have granted something are nobody's; configured, they are taken as they are and never revoked.
func TestImportForms(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	const name = "ckpt-imported"
	set := attrs{"name": name, "labels": map[string]string{"team": "ml"}, "kms_key_name": keyIn("us-central1"), "soft_delete_retention": "168h", "expire_after_days": 7, "expire_prefixes": []string{"scratch/"}}
	s.apply(s.none(), s.config(set))
	others{t, otherClient(t, e)}.add(name, viewer, ann)
	var states []tftypes.Value
	for _, id := range []string{name, acctest.EmulatorProject + "/" + name, "gs://" + name, "gs://" + name + "/", "projects/_/buckets/" + name, "projects/" + acctest.EmulatorProject + "/buckets/" + name, ""} {
		l := s.imported(id, name)
		s.unchanged(s.read(l), s.config(set))
		states = append(states, s.read(l).state)
		if got := s.members(l.state, "readers"); got != nil {
			t.Errorf("%s: readers %v", id, got)
		}
		if d, err := states[0].Diff(states[len(states)-1]); err != nil || len(d) > 0 {
			t.Errorf("%q: another state than by the name: %v %v", id, d, err)
		}
	}
	l := s.imported(name, name)
	set["readers"] = []string{ann}
	calls := acctest.Since(e)
	l = s.apply(l, s.config(set))
	wantWrites(t, calls)
	set["readers"] = nil
	l = s.apply(s.read(l), s.config(set))
	wantPolicy(t, e, name, viewer, ann)
	s.unchanged(s.read(l), s.config(set))
}
