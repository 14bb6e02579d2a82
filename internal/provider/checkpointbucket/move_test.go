// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// move moves a state of a google_storage_bucket.
func (s *server) move(provider, source string, version int64, state string) (*life, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	r, err := s.MoveResourceState(s.t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: provider, SourceTypeName: source, SourceSchemaVersion: version, SourceState: &tfprotov6.RawState{JSON: []byte(state)}, TargetTypeName: typeName,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if messages(r.Diagnostics) != "" {
		return nil, r.Diagnostics
	}
	return &life{state: s.value(r.TargetState), private: r.TargetPrivate, identity: r.TargetIdentity}, r.Diagnostics
}

// A state of each schema version moves to the same resource, whatever type a field had then (case 103): what is read afterwards fits the configuration.
func TestMoveOfEverySchemaVersion(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	days := int64(7)
	live, err := otherClient(t, e).CreateBucket(t.Context(), acctest.EmulatorProject, &storage.Bucket{
		Name: "ckpt-versions", Location: "US-CENTRAL1", Labels: map[string]string{"team": "ml", "goog-managed": "yes"},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "enforced", UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{
			{Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: &days, MatchesPrefix: []string{"runs/"}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const (
		all     = `"id": "ckpt-versions", "name": "ckpt-versions", "location": "US-CENTRAL1", "project": "acctest-project", "storage_class": "STANDARD", "force_destroy": null, "url": "gs://ckpt-versions"`
		old     = `"labels": {"team": "ml", "goog-managed": "yes"}`
		split   = `"labels": {"team": "ml"}, "terraform_labels": {"team": "ml"}, "effective_labels": {"team": "ml", "goog-managed": "yes"}`
		rule    = `"lifecycle_rule": [{"action": [{"type": "Delete", "storage_class": ""}], "condition": [{"age": 7, "matches_prefix": ["runs/"]%s}]}]`
		uniform = `"uniform_bucket_level_access": true`
	)
	for _, c := range []struct {
		version int64
		state   string
	}{
		{0, `{` + all + `, ` + old + `, "bucket_policy_only": true, ` + fmt.Sprintf(rule, `, "is_live": false`) + `}`},
		{0, `{` + all + `, ` + old + `, ` + uniform + `, "public_access_prevention": "inherited", ` + fmt.Sprintf(rule, `, "with_state": "ANY"`) + `}`},
		{1, `{` + all + `, ` + split + `, ` + uniform + `, ` + fmt.Sprintf(rule, `, "no_age": false`) + `}`},
		{2, `{` + all + `, ` + split + `, ` + uniform + `, ` + fmt.Sprintf(rule, `, "no_age": false, "send_age_if_zero": true`) + `}`},
		{3, `{` + all + `, ` + split + `, ` + uniform + `, ` + fmt.Sprintf(rule, `, "send_age_if_zero": false`) + `, "soft_delete_policy": [{"retention_duration_seconds": 604800}]}`},
		{4, `{` + all + `, ` + split + `, ` + uniform + `, ` + fmt.Sprintf(rule, `, "send_age_if_zero": false`) + `, "soft_delete_policy": [{"retention_duration_seconds": 604800}], "time_created": "` + live.TimeCreated + `"}`},
	} {
		t.Run(fmt.Sprintf("version %d", c.version), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, e)
			moved, diags := s.move("registry.terraform.io/hashicorp/google", "google_storage_bucket", c.version, c.state)
			s.check(nil, diags)
			if len(diags) > 0 {
				t.Errorf("it warns: %s", diags[0].Summary)
			}
			if got := s.name(moved.identity); got != "ckpt-versions" {
				t.Errorf("the identity is %s", got)
			}
			calls := acctest.Since(e)
			after := s.read(moved)
			s.unchanged(after, s.config(map[string]any{
				"name": "ckpt-versions", "location": "us-central1", "soft_delete_retention": "168h", "abort_incomplete_upload_days": 0,
				"expire_after_days": 7, "expire_prefixes": []string{"runs/"}, "labels": map[string]string{"team": "ml"},
			}))
			if w := calls.Writes(); len(w) > 0 {
				t.Errorf("written: %v", w)
			}
		})
	}
}

// What cannot be moved is refused in words, and what a move loses is said.
func TestMoveSays(t *testing.T) {
	t.Parallel()
	s := newServer(t, acctest.Emulator(t))
	const google = "registry.terraform.io/hashicorp/google"
	for _, c := range []struct {
		provider, typeName string
		version            int64
		state, says        string
	}{
		{google, "google_storage_bucket", 5, `{"name": "b-1"}`, "Cannot move this resource: The state of the google_storage_bucket has schema version 5, and this version of the provider knows those up to 4."},
		{google, "google_cloud_run_v2_job", 0, `{"name": "b-1"}`, "Cannot move this resource: Only a google_storage_bucket can be moved to this type, and this is a google_cloud_run_v2_job."},
		{"example.com/someone/google", "google_storage_bucket", 4, `{"name": "b-1"}`, "belongs to the provider example.com/someone/google."},
		{google, "google_storage_bucket", 4, `{}`, `The google_storage_bucket cannot be moved. The state does not name a bucket: it has the name "". Nothing was changed. Import it instead`},
		{google + "-beta", "google_storage_bucket", 4, `{"name": "b-1", "versioning": [{"invented": 1}]}`, "versioning.invented has a value, and this version of the provider does not know the attribute."},
		{google + "-beta", "google_storage_bucket", 4, `{"name": "b-1", "deletion_policy": "ABANDON"}`,
			`deletion_policy does not move: The google_storage_bucket b-1 has deletion_policy = "ABANDON". This resource has no such attribute: a destroy deletes the bucket.`},
		{google, "google_storage_bucket", 4, `{"name": "b-1", "website": [{"main_page_suffix": "index.html"}], "requester_pays": true}`,
			"Settings that are not managed: The bucket b-1 has requester_pays, website. This resource has no attributes for them: they stay on the bucket as they are."},
	} {
		_, diags := s.move(c.provider, c.typeName, c.version, c.state)
		if len(diags) != 1 {
			t.Errorf("%s: %d diagnostics", c.says, len(diags))
			continue
		}
		if got := diags[0].Summary + ": " + diags[0].Detail; !strings.Contains(got, c.says) {
			t.Errorf("it says %q, want %q", got, c.says)
		}
	}
}

// What only the provider knows comes over: which labels are managed, by the block and by default, whether a destroy empties the bucket, how
// long things may take.
func TestMoveKeepsWhatNoAPIKnows(t *testing.T) {
	t.Parallel()
	s := newServer(t, acctest.Emulator(t))
	moved, diags := s.move("registry.terraform.io/hashicorp/google", "google_storage_bucket", 4, `{"id": "b-1", "name": "b-1", "location": "EU", "project": "p-1234", "force_destroy": true,
		"labels": {"own": "1"}, "terraform_labels": {"own": "1", "default": "1", "goog-terraform-provisioned": "true"},
		"effective_labels": {"own": "1", "default": "1", "goog-terraform-provisioned": "true", "others": "1"}, "timeouts": {"create": "5m", "read": null, "update": null}}`)
	s.check(nil, diags)
	for attribute, want := range map[string]map[string]string{
		"labels": {"own": "1"}, "terraform_labels": {"own": "1", "default": "1"},
		"effective_labels": {"own": "1", "default": "1", "goog-terraform-provisioned": "true", "others": "1"},
	} {
		if got := s.texts(moved.state, attribute); !maps.Equal(got, want) {
			t.Errorf("%s is %v, want %v", attribute, got, want)
		}
	}
	attributes := s.attributes(moved.state)
	var force bool
	if err := attributes["force_destroy"].As(&force); err != nil || !force {
		t.Errorf("force_destroy is %v, %v", force, err)
	}
	if got := s.text(attributes["timeouts"], "create"); got != "5m" {
		t.Errorf("timeouts.create is %q", got)
	}
	if got := s.text(moved.state, "project"); got != "p-1234" {
		t.Errorf("project is %q", got)
	}
}
