// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// The identity stands beside the state after each step, and a bucket can be imported by it (case 104).
func TestIdentity(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	l := s.apply(s.none(), s.config(map[string]any{"name": "ckpt-id"}))
	if got := s.name(l.identity); got != "ckpt-id" {
		t.Errorf("after create: %s", got)
	}
	l = s.apply(l, s.config(map[string]any{"name": "ckpt-id", "labels": map[string]string{"a": "b"}}))
	if got := s.name(l.identity); got != "ckpt-id" {
		t.Errorf("after update: %s", got)
	}
	// A state of before there were identities gets one.
	l.identity = nil
	l = s.read(l)
	if got := s.name(l.identity); got != "ckpt-id" {
		t.Errorf("after read: %s", got)
	}
	imported, err := s.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: typeName, Identity: l.identity})
	s.check(err, imported.Diagnostics)
	i := imported.ImportedResources[0]
	if got := s.name(i.Identity); got != "ckpt-id" {
		t.Errorf("after import: %s", got)
	}
	got := s.read(&life{state: s.value(i.State), private: i.Private, identity: i.Identity})
	if d, err := l.state.Diff(got.state); err != nil || len(d) > 0 {
		t.Errorf("imported state differs: %v %v", d, err)
	}

	// The identity is there also when the bucket is gone.
	c := otherClient(t, e)
	if err := c.DeleteBucket(t.Context(), "ckpt-id"); err != nil {
		t.Fatal(err)
	}
	if gone := s.read(got); !gone.state.IsNull() {
		t.Error("a missing bucket is still in the state")
	}
}

// What is refused: one message each, at the attribute, with what to write instead. No call is made.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	set := tftypes.Set{ElementType: tftypes.String}
	null := tftypes.NewValue(set, []tftypes.Value{tftypes.NewValue(tftypes.String, nil)})
	for _, c := range []struct {
		attributes map[string]any
		at, says   string
	}{
		{map[string]any{"name": "Ckpt"}, "name", "\"Ckpt\" cannot be the name of a bucket: it must be in lower case"},
		{map[string]any{"project": "My Project"}, "project", "\"My Project\" is not a project"},
		{map[string]any{"location": "us central"}, "location", "us central"},
		{map[string]any{"soft_delete_retention": "1h"}, "soft_delete_retention", "write \"0s\" for no soft delete, or 7 to 90 days (\"168h\" to \"2160h\")"},
		{map[string]any{"soft_delete_retention": "-168h"}, "soft_delete_retention", "\"-168h\""},
		{map[string]any{"soft_delete_retention": "2161h"}, "soft_delete_retention", "7 to 90 days"},
		{map[string]any{"soft_delete_retention": "168h0.5s"}, "soft_delete_retention", "whole seconds"},
		{map[string]any{"soft_delete_retention": "604800"}, "soft_delete_retention", "write \"604800s\""},
		{map[string]any{"expire_after_days": 3}, "expire_after_days", "Say with expire_prefixes which objects may go, such as expire_prefixes = [\"scratch/\"]"},
		{map[string]any{"expire_prefixes": []string{"a/"}}, "expire_prefixes", "Add expire_after_days, such as expire_after_days = 30"},
		{map[string]any{"expire_after_days": 0, "expire_prefixes": []string{"a/"}}, "expire_after_days", "Write 1 or more, or take expire_after_days and expire_prefixes out"},
		{map[string]any{"expire_after_days": 1 << 40, "expire_prefixes": []string{"a/"}}, "expire_after_days", "2147483647"},
		{map[string]any{"expire_after_days": 3, "expire_prefixes": []string{""}}, "expire_prefixes", "all checkpoints would expire"},
		{map[string]any{"expire_after_days": 3, "expire_prefixes": []string{"/a"}}, "expire_prefixes", "without a leading slash"},
		{map[string]any{"expire_after_days": 3, "expire_prefixes": []string{}}, "expire_prefixes", "no prefix is given, so that nothing would expire: write one such as \"scratch/\""},
		{map[string]any{"expire_prefixes": []string{}}, "expire_prefixes", "no prefix is given"},
		{map[string]any{"expire_after_days": 3, "expire_prefixes": []string{strings.Repeat("x", 1025)}}, "expire_prefixes", "no object's name has more than 1024"},
		{map[string]any{"expire_after_days": 3, "expire_prefixes": null}, "expire_prefixes", "an element is null"},
		{map[string]any{"abort_incomplete_upload_days": -1}, "abort_incomplete_upload_days", "Write 0 to keep the parts of interrupted uploads."},
		{map[string]any{"storage_class": "standard"}, "storage_class", "\"standard\" is not how Google writes it: write \"STANDARD\""},
		{map[string]any{"storage_class": ""}, "storage_class", "write \"STANDARD\""},
		{map[string]any{"labels": map[string]string{"Team": "x"}}, "labels", "the key \"Team\" is not"},
		{map[string]any{"kms_key_name": "my-key"}, "kms_key_name", "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY"},
		{map[string]any{"kms_key_name": keyIn("us-central1") + "/cryptoKeyVersions/3"}, "kms_key_name", "write the key, \"" + keyIn("us-central1") + "\""},
		{map[string]any{"kms_key_name": keyIn("us-east1")}, "kms_key_name", "The key is in the location us-east1, and the bucket is in us-central1."},
		{map[string]any{"kms_key_name": keyIn("global"), "location": "EU"}, "kms_key_name", "key ring is in the bucket's location."},
		{map[string]any{"readers": null}, "readers", "an element is null"},
		{map[string]any{"readers": []string{""}}, "readers", "a member is empty: write user:NAME@DOMAIN"},
		{map[string]any{"writers": []string{"allUsers"}}, "writers", "\"allUsers\" stands for everybody, and the bucket prevents public access: name users"},
		{map[string]any{"versioning": true, "hierarchical_namespace": true}, "versioning", "Cloud Storage keeps no versions in a bucket with a hierarchical namespace."},
		{map[string]any{"versioning": true}, "versioning", "Write hierarchical_namespace = false, or versioning = false."},
	} {
		if c.attributes["name"] == nil {
			c.attributes["name"] = "ckpt"
		}
		config := s.config(c.attributes)
		text := s.validate(config)
		if text == "" {
			text = messages(s.plan(s.none(), config).Diagnostics)
		}
		if !strings.Contains(text, c.says) || !strings.Contains(text, fmt.Sprintf("at AttributeName(%q)", c.at)) || strings.Count(text, " at AttributeName") != 1 {
			t.Errorf("%v: got\n%s\nwant one message at %s that says %q", c.attributes, text, c.at, c.says)
		}
	}
	for _, attributes := range []map[string]any{
		{"versioning": true, "hierarchical_namespace": false}, {"soft_delete_retention": "0h"}, {"soft_delete_retention": "2160h"}, {"storage_class": "SOME_NEW_CLASS"},
		{"labels": map[string]string{"a": ""}}, {"expire_after_days": 1, "expire_prefixes": []string{"a", "b/c/"}}, {"location": "EU"}, {"timeouts": nil},
		{"kms_key_name": keyIn("us-central1")}, {"kms_key_name": keyIn("us-central1"), "location": "US-CENTRAL1"}, {"kms_key_name": keyIn("europe"), "location": "EU"}, {"kms_key_name": nil},
		{"readers": []string{}}, {"readers": []string{"user:ann@example.com"}, "writers": []string{"user:ann@example.com", "projectEditor:p"}},
	} {
		attributes["name"] = "ckpt"
		config := s.config(attributes)
		if text := s.validate(config) + messages(s.plan(s.none(), config).Diagnostics); text != "" {
			t.Errorf("%v: %s", attributes, text)
		}
	}
	if calls := e.Faults().Calls(); len(calls) != 0 {
		t.Errorf("%d calls were made", len(calls))
	}
}

// Default labels, empty values, labels of others (cases 20, 98, 100): which are managed, which are shown, and what is sent.
func TestLabels(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	other := otherClient(t, e)
	const name = "ckpt-labels"
	type m = map[string]string
	l := newServer(t, e).none()
	step := func(defaults m, own any, sent string, labels, managed, effective m) {
		t.Helper()
		s := newServerWithLabels(t, e, defaults)
		config := s.config(map[string]any{"name": name, "labels": own})
		l = s.read(l)
		calls := acctest.Since(e)
		l = s.apply(l, config)
		if sent == "" {
			wantWrites(t, calls)
		} else if calls.Count(acctest.InsertBucket) == 0 {
			wantBody(t, calls, acctest.PatchBucket, sent)
		}
		l = s.read(l)
		s.unchanged(l, config)
		for attribute, want := range map[string]m{"labels": labels, "terraform_labels": managed, "effective_labels": effective} {
			if d := cmp.Diff(want, s.texts(l.state, attribute)); d != "" {
				t.Errorf("%s:\n%s", attribute, d)
			}
		}
	}
	all := m{"team": "vision", "a": "", "cost": "gpu"}
	step(m{"team": "ml", "cost": "gpu"}, m{"team": "vision", "a": ""}, "create", m{"team": "vision", "a": ""}, all, all)

	patchBucket(t, other, name, &storage.Bucket{Labels: m{"foreign": "yes"}})
	step(m{"team": "ml", "cost": "gpu"}, m{"team": "vision", "a": ""}, "", m{"team": "vision", "a": ""}, all, m{"team": "vision", "a": "", "cost": "gpu", "foreign": "yes"})

	// A key moves from the resource to the defaults; others go away.
	step(m{"team": "ml"}, m{}, `{"labels": {"team": "ml", "a": null, "cost": null}}`, m{}, m{"team": "ml"}, m{"team": "ml", "foreign": "yes"})

	// Empty and not written are one thing on the bucket, and stay as written in the state.
	step(m{"team": "ml"}, nil, "", nil, m{"team": "ml"}, m{"team": "ml", "foreign": "yes"})

	// Taking over a foreign label with the value that it has sends nothing; one of ours that somebody deleted comes back.
	step(m{"team": "ml"}, m{"foreign": "yes"}, "", m{"foreign": "yes"}, m{"team": "ml", "foreign": "yes"}, m{"team": "ml", "foreign": "yes"})
	patchBucket(t, other, name, &storage.Bucket{ForceSendFields: []string{"Labels"}, NullFields: []string{"Labels.foreign", "Labels.team"}})
	step(m{"team": "ml"}, m{"foreign": "yes"}, `{"labels": {"team": "ml", "foreign": "yes"}}`, m{"foreign": "yes"}, m{"team": "ml", "foreign": "yes"}, m{"team": "ml", "foreign": "yes"})

	// All labels go away: what others added stays.
	patchBucket(t, other, name, &storage.Bucket{Labels: m{"theirs": ""}})
	step(nil, nil, `{"labels": {"team": null, "foreign": null}}`, nil, m{}, m{"theirs": ""})
}

// What a plan leaves open: what the API gives out, and what a change of labels makes of them all. Everything else is known, and everything
// has a value afterwards (cases 122, 124).
func TestOpenValues(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	open := func(l *life, set attrs) string {
		t.Helper()
		set["name"] = "ckpt-open"
		p := s.plan(l, s.config(set))
		s.check(nil, p.Diagnostics)
		var out []string
		for attribute, v := range s.attributes(s.value(p.PlannedState)) {
			if !v.IsFullyKnown() {
				out = append(out, attribute)
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	if got := open(s.none(), attrs{"labels": map[string]string{"a": "b"}}); got != "effective_labels time_created" {
		t.Errorf("create leaves open %s", got)
	}
	l := s.apply(s.none(), s.config(attrs{"name": "ckpt-open"}))
	for attribute, v := range s.attributes(l.state) {
		if !v.IsFullyKnown() {
			t.Errorf("%s is not known after create", attribute)
		}
	}
	for want, set := range map[string]attrs{
		"effective_labels": {"labels": map[string]string{"a": "b"}},
		"":                 {"storage_class": "NEARLINE", "readers": []string{ann}, "kms_key_name": keyIn("us-central1"), "force_destroy": true},
	} {
		if got := open(l, set); got != want {
			t.Errorf("%v leaves open %q, want %q", set, got, want)
		}
	}
}

// The provider's project, when it changes, moves a bucket only where the state knows another one; the region likewise.
func TestPlace(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	config := s.config(map[string]any{"name": "ckpt-place"})
	l := s.apply(s.none(), config)
	replaced := func(change map[string]tftypes.Value, config tftypes.Value) []string {
		t.Helper()
		prior := s.attributes(l.state)
		maps.Copy(prior, change)
		p := s.plan(&life{state: tftypes.NewValue(s.object, prior), private: l.private, identity: l.identity}, config)
		s.check(nil, p.Diagnostics)
		var out []string
		for _, path := range p.RequiresReplace {
			out = append(out, path.String())
		}
		return out
	}
	text := func(v any) tftypes.Value { return tftypes.NewValue(tftypes.String, v) }
	for name, c := range map[string]struct {
		state  map[string]tftypes.Value
		config map[string]any
		want   int
	}{
		"same":                     {nil, nil, 0},
		"project not known":        {map[string]tftypes.Value{"project": text(nil)}, nil, 0},
		"other project":            {map[string]tftypes.Value{"project": text("another-project")}, nil, 1},
		"location in other case":   {map[string]tftypes.Value{"location": text("US-CENTRAL1")}, nil, 0},
		"configured in other case": {nil, map[string]any{"location": "US-Central1"}, 0},
		"other location":           {map[string]tftypes.Value{"location": text("US")}, nil, 1},
		"configured elsewhere":     {nil, map[string]any{"location": "eu", "project": "another-project"}, 2},
		"other name":               {nil, map[string]any{"name": "ckpt-place-2"}, 1},
	} {
		attributes := map[string]any{"name": "ckpt-place"}
		maps.Copy(attributes, c.config)
		if got := replaced(c.state, s.config(attributes)); len(got) != c.want {
			t.Errorf("%s: replaced for %v, want %d", name, got, c.want)
		}
	}
}

// An earlier state that was read on Google Cloud is refused on the emulator in every step, and kept.
func TestOtherWorld(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	s := newServer(t, e)
	config := s.config(map[string]any{"name": "ckpt-cloud"})
	l := s.apply(s.none(), config)
	// The framework keeps private state as base64 in JSON.
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	before := string(l.private)
	l.private = []byte(strings.ReplaceAll(before, encoded(`"emulator"`), encoded(`"google cloud"`)))
	if string(l.private) == before {
		t.Fatalf("no world is noted in %s", before)
	}
	const want = "was made on Google Cloud, and the provider is configured for the emulator. Nothing was changed. Unset RESILIENTJOB_EMULATOR_HOST"
	r, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: s.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
	if err != nil || !strings.Contains(messages(r.Diagnostics), want) || s.value(r.NewState).IsNull() {
		t.Errorf("read: %v\n%s", err, messages(r.Diagnostics))
	}
	calls := acctest.Since(e)
	for name, planned := range map[string]tftypes.Value{"update": l.state, "delete": tftypes.NewValue(s.object, nil)} {
		a, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: typeName, PriorState: s.dynamic(l.state), Config: s.dynamic(config),
			PlannedState: s.dynamic(planned), PlannedPrivate: l.private, PlannedIdentity: l.identity})
		if err != nil || !strings.Contains(messages(a.Diagnostics), want) || s.value(a.NewState).IsNull() {
			t.Errorf("%s: %v\n%s", name, err, messages(a.Diagnostics))
		}
	}
	if got := calls.Methods(); len(got) != 0 {
		t.Errorf("calls %v", got)
	}
	if _, err := otherClient(t, e).GetBucket(t.Context(), "ckpt-cloud"); gcp.IsNotFound(err) {
		t.Error("the bucket is gone")
	}
}
