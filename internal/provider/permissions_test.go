// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
)

// With the documented permissions, and no others, every use goes through its
// whole life; and none of them is documented in vain.
func TestDocumentedPermissionsSuffice(t *testing.T) {
	t.Parallel()
	for _, u := range uses {
		t.Run(u.key, func(t *testing.T) {
			t.Parallel()
			w := newPermissionWorld(t)
			before := w.stock()
			w.hold(u.whole())
			if at, res := w.play(u.course, 0); res != nil {
				t.Fatalf("%s, by somebody with the documented permissions:%s", u.course[at].name, res)
			}
			for _, r := range u.rights {
				if !slices.Contains(w.used(), r.name) {
					t.Errorf("%s is documented, and no call needed it", r.name)
				}
			}
			w.finish(u, before)
		})
	}
}

// finish destroys what a life that ends with a refusal has left, and makes sure
// that everything is as it was.
func (w *permissionWorld) finish(u use, before []string) {
	w.t.Helper()
	w.hold(nil)
	if len(w.core.State) > 0 {
		// What is in the bucket was put there by others, who take it away again.
		for _, path := range []string{"o/step-1%2Fmodel", "managedFolders/managed%2F", "folders/step-1%2F", "folders/managed%2F"} {
			tryEmulator(w.t, w.e, "DELETE", "/storage/v1/b/our-checkpoints/"+path, "")
		}
		if res := w.core.Destroy(providerBlock); res.Failed() {
			w.t.Fatalf("the destroy by somebody who may do everything:%s", res)
		}
	}
	if after := w.stock(); !slices.Equal(before, after) {
		w.t.Errorf("%s: there was\n  %s\nand there is\n  %s", u.key, strings.Join(before, "\n  "), strings.Join(after, "\n  "))
	}
}

// Whoever lacks one permission gets the error that names it, or a role that has
// it, at the attribute that is to blame. What was made is in the state: with the
// permission the same apply goes on, and a destroy leaves nothing.
func TestMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	for _, u := range uses {
		for _, r := range u.rights {
			t.Run(u.key+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				for _, then := range []string{"go on", "destroy"} {
					w := newPermissionWorld(t)
					before := w.stock()
					w.hold(slices.DeleteFunc(u.whole(), func(name string) bool { return name == r.name }))
					at, res := w.play(u.course, 0)
					switch {
					case r.without != "" && res != nil:
						t.Fatalf("%s fails, and is documented to go on:%s", u.course[at].name, res)
					case r.without == "" && res == nil:
						t.Fatal("the whole life succeeds without it")
					case res != nil:
						for _, d := range res.Errors {
							r.isNamed(t, u.course[at].name, d)
						}
						w.hold(nil)
						if then == "go on" {
							again := slices.Clone(u.course)
							again[at].before = nil
							if at, res := w.play(again, at); res != nil {
								t.Fatalf("%s again, now with the permission:%s", u.course[at].name, res)
							}
						}
					}
					w.finish(u, before)
					if res == nil || u.course[at].name == "destroy" {
						break // the same again
					}
				}
			})
		}
	}
}

var aRole = regexp.MustCompile(`roles/[A-Za-z.]+[A-Za-z]`)

// isNamed asserts that an error names the permission, at its attribute, and that
// each role that it names for it has it.
func (r right) isNamed(t *testing.T, step string, d core.Diagnostic) {
	t.Helper()
	t.Logf("%s: %s", step, d)
	if d.Attribute != r.at {
		t.Errorf("%s: the error is at %q, want %q: %s", step, d.Attribute, r.at, d)
	}
	if !strings.Contains(strings.ToLower(d.Detail), strings.ToLower(r.name)) {
		t.Errorf("%s: the error does not name the permission: %s", step, d)
	}
	found := false
	for _, role := range aRole.FindAllString(d.Detail, -1) {
		has, known := predefined[role]
		found = found || slices.Contains(has, r.name)
		if !known {
			t.Logf("%s: %s is not a role of the table", step, role)
		}
	}
	if !found {
		t.Errorf("%s: no role that has %s is named: %s", step, r.name, d)
	}
}

// The roles of the guide have the permissions that stand beside them.
func TestDocumentedRolesHaveThePermissions(t *testing.T) {
	t.Parallel()
	for _, u := range uses {
		var has []string
		for _, line := range u.roles {
			if _, known := predefined[roleOf(line)]; !known {
				t.Errorf("%s: %s is not known", u.key, line)
			}
			has = append(has, predefined[roleOf(line)]...)
		}
		for _, name := range u.names() {
			if !slices.Contains(has, name) {
				t.Errorf("%s: none of its roles has %s", u.key, name)
			}
		}
	}
}
