// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package managedmap_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

type m = map[string]string

func TestRead(t *testing.T) {
	t.Parallel()
	null, unknown := types.MapNull(types.StringType), types.MapUnknown(types.StringType)
	for name, c := range map[string]struct {
		managed types.Map
		live    []m
		want    types.Map
	}{
		"null":                       {null, []m{{"a": "1"}}, null},
		"unknown":                    {unknown, []m{{"a": "1"}}, unknown},
		"empty":                      {value.MapOf(nil), []m{{"a": "1"}}, value.MapOf(nil)},
		"live value":                 {value.MapOf(m{"a": "1"}), []m{{"a": "2", "foreign": "x"}}, value.MapOf(m{"a": "2"})},
		"empty value":                {value.MapOf(m{"a": ""}), []m{{"a": ""}}, value.MapOf(m{"a": ""})},
		"gone":                       {value.MapOf(m{"a": "1", "b": "2"}), []m{{"b": "2"}}, value.MapOf(m{"b": "2"})},
		"nothing live":               {value.MapOf(m{"a": "1"}), []m{nil}, value.MapOf(nil)},
		"gone in the second":         {value.MapOf(m{"a": "1"}), []m{{"a": "1"}, {}}, value.MapOf(m{"a": "1"})},
		"gone in the first":          {value.MapOf(m{"a": "1"}), []m{{}, {"a": "1"}}, value.MapOf(nil)},
		"another one in the second":  {value.MapOf(m{"a": "1"}), []m{{"a": "1"}, {"a": "2"}}, value.MapOf(m{"a": "2"})},
		"another one in the first":   {value.MapOf(m{"a": "1"}), []m{{"a": "2"}, {"a": "1"}}, value.MapOf(m{"a": "2"})},
		"the same in both of them":   {value.MapOf(m{"a": "1"}), []m{{"a": "1"}, {"a": "1"}}, value.MapOf(m{"a": "1"})},
		"foreign in one of the maps": {value.MapOf(m{"a": "1"}), []m{{"a": "1"}, {"a": "1", "b": "2"}}, value.MapOf(m{"a": "1"})},
	} {
		if got := managedmap.Read(c.managed, c.live[0], c.live[1:]...); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Both ways of writing lead to the same map: what was managed gives way to what is wanted, and everything else stays.
func TestWritesLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	some := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"", "1", "2"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		live, had, wanted := some.Draw(t, "live"), some.Draw(t, "had"), some.Draw(t, "wanted")
		want := m{}
		for k, v := range live {
			if _, ours := had[k]; !ours {
				want[k] = v
			}
		}
		for k, v := range wanted {
			want[k] = v
		}
		got := managedmap.Overlay(live, value.MapOf(had), value.MapOf(wanted))
		if got == nil {
			got = m{}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("Overlay:\n%s", d)
		}
		set, gone := managedmap.Changes(live, value.MapOf(had), value.MapOf(wanted))
		merged := m{}
		for k, v := range live {
			merged[k] = v
		}
		for k, v := range set {
			if old, there := live[k]; there && old == v {
				t.Fatalf("%s is set to what it is", k)
			}
			merged[k] = v
		}
		for _, k := range gone {
			if _, there := live[k]; !there {
				t.Fatalf("%s is taken away and was not there", k)
			}
			delete(merged, k)
		}
		if d := cmp.Diff(want, merged); d != "" {
			t.Fatalf("Changes:\n%s", d)
		}
	})
}

func TestImport(t *testing.T) {
	t.Parallel()
	foreign := func(k, v string) bool { return k == "theirs" || v == "theirs" }
	live := m{"a": "1", "theirs": "x", "b": "theirs"}
	if got := managedmap.Import(live, foreign); !got.Equal(value.MapOf(m{"a": "1"})) || len(live) != 3 {
		t.Errorf("got %s, the live map is now %v", got, live)
	}
	if got := managedmap.Import(m{"theirs": "x"}, foreign); !got.IsNull() {
		t.Errorf("got %s", got)
	}
}
