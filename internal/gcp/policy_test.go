// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	objectUser = "roles/storage.objectUser"
	viewer     = "roles/storage.objectViewer"
	account    = "serviceAccount:train@p.iam.gserviceaccount.com"
	twin       = "deleted:serviceAccount:train@p.iam.gserviceaccount.com?uid=123456789012345678901"
	other      = "serviceAccount:other@p.iam.gserviceaccount.com"
)

func TestPolicyMerge(t *testing.T) {
	t.Parallel()
	underCondition := &condition{title: "office hours", expression: "true"}
	for name, c := range map[string]struct {
		before  []binding
		remove  bool
		after   []binding
		changed bool
	}{
		"into an empty policy": {
			after: []binding{{role: objectUser, members: []string{account}}}, changed: true,
		},
		// case 74
		"beside another member": {
			before:  []binding{{role: viewer, members: []string{other}}, {role: objectUser, members: []string{other}}},
			after:   []binding{{role: viewer, members: []string{other}}, {role: objectUser, members: []string{other, account}}},
			changed: true,
		},
		"present already": {
			before: []binding{{role: objectUser, members: []string{account}}}, after: []binding{{role: objectUser, members: []string{account}}},
		},
		"present in other case": {
			before: []binding{{role: objectUser, members: []string{strings.ToLower(account)}}},
			after:  []binding{{role: objectUser, members: []string{strings.ToLower(account)}}},
		},
		// case 77
		"present under a condition only": {
			before:  []binding{{role: objectUser, members: []string{account}, condition: underCondition}},
			after:   []binding{{role: objectUser, members: []string{account}, condition: underCondition}, {role: objectUser, members: []string{account}}},
			changed: true,
		},
		// cases 71, 73
		"a deleted account of the same name": {
			before: []binding{{role: objectUser, members: []string{twin, other}}, {role: viewer, members: []string{twin}},
				{role: viewer, members: []string{twin, other}, condition: underCondition}},
			after: []binding{{role: objectUser, members: []string{other, account}},
				{role: viewer, members: []string{other}, condition: underCondition}},
			changed: true,
		},
		"a deleted account of another name": {
			before:  []binding{{role: objectUser, members: []string{"deleted:" + other + "?uid=1"}}},
			after:   []binding{{role: objectUser, members: []string{"deleted:" + other + "?uid=1", account}}},
			changed: true,
		},
		"remove": {
			remove: true, changed: true,
			before: []binding{{role: objectUser, members: []string{other, account}}, {role: viewer, members: []string{account}}},
			after:  []binding{{role: objectUser, members: []string{other}}, {role: viewer, members: []string{account}}},
		},
		"remove the last member": {
			remove: true, changed: true,
			before: []binding{{role: objectUser, members: []string{account}}, {role: viewer, members: []string{other}}},
			after:  []binding{{role: viewer, members: []string{other}}},
		},
		"remove what is not there": {
			remove: true,
			before: []binding{{role: objectUser, members: []string{other}}, {role: objectUser, members: []string{account}, condition: underCondition}},
			after:  []binding{{role: objectUser, members: []string{other}}, {role: objectUser, members: []string{account}, condition: underCondition}},
		},
		"remove after the account was deleted": {
			remove: true, changed: true,
			before: []binding{{role: objectUser, members: []string{twin, other}}, {role: viewer, members: []string{twin}}},
			after:  []binding{{role: objectUser, members: []string{other}}, {role: viewer, members: []string{twin}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &policy{etag: "e", bindings: c.before}
			change := p.add
			if c.remove {
				change = p.remove
			}
			if got := change(objectUser, account); got != c.changed {
				t.Errorf("changed %v, want %v", got, c.changed)
			}
			if d := cmp.Diff(c.after, p.bindings, cmp.AllowUnexported(binding{}, condition{}), cmp.Transformer("empty", func(b []binding) []binding {
				if len(b) == 0 {
					return nil
				}
				return b
			})); d != "" {
				t.Error(d)
			}
			if c.remove == p.has(objectUser, account) {
				t.Error("the change did not take effect")
			}
		})
	}
}

// Whatever a policy holds, adding a member and removing it again leaves the entries of everybody else as they were.
func TestPolicyLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		member := rapid.SampledFrom([]string{account, other, twin, "user:a@x.example", "group:g@x.example"})
		role := rapid.SampledFrom([]string{objectUser, viewer, "roles/storage.admin"})
		var bindings []binding
		for range rapid.IntRange(0, 6).Draw(t, "bindings") {
			b := binding{role: role.Draw(t, "role"), members: rapid.SliceOfNDistinct(member, 1, 4, rapid.ID[string]).Draw(t, "members")}
			if rapid.Bool().Draw(t, "conditional") {
				b.condition = &condition{title: "c"}
			}
			bindings = append(bindings, b)
		}
		p := &policy{bindings: bindings}
		foreign := func() []string {
			var out []string
			for _, b := range p.bindings {
				for _, m := range b.members {
					if !isTwin(m, account) && (!SameMember(m, account) || b.role != objectUser || b.condition != nil) {
						out = append(out, fmt.Sprint(b.role, " ", m, " ", b.condition != nil))
					}
				}
			}
			slices.Sort(out)
			return out
		}
		before := foreign()
		had := p.has(objectUser, account)
		if added := p.add(objectUser, account); added == had {
			t.Fatalf("added %v although it had %v", added, had)
		}
		if !p.has(objectUser, account) {
			t.Fatal("it was not added")
		}
		if d := cmp.Diff(before, foreign()); d != "" {
			t.Fatal(d)
		}
		if !p.remove(objectUser, account) || p.has(objectUser, account) {
			t.Fatal("it was not removed")
		}
		if d := cmp.Diff(before, foreign()); d != "" {
			t.Fatal(d)
		}
	})
}

// Addresses mean the same in any case; principals of a workload identity pool do not.
func TestSameMember(t *testing.T) {
	t.Parallel()
	pool := "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/attribute.repo/"
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"user:Ann@example.com", "user:ann@example.com", true}, {"group:a@b.c", "group:A@b.c", true}, {"domain:Example.com", "domain:example.com", true},
		{"serviceAccount:a@p.iam.gserviceaccount.com", "serviceAccount:A@p.iam.gserviceaccount.com", true}, {"user:a@b.c", "group:a@b.c", false},
		{pool + "Org/App", pool + "org/app", false}, {pool + "org/app", pool + "org/app", true}, {"projectOwner:P", "projectOwner:p", false},
	} {
		if got := SameMember(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}
