// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/messages"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

const root = "../.."

// A page that is checked in says what the tables say.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for name, render := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "templates", name))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := render(root); err != nil || string(got) != want {
			t.Errorf("templates/%s is stale: run make generate and commit the result", name)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(root, dir); err != nil {
		t.Fatal(err)
	}
	for name, render := range pages {
		want, err := render(root)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(root, file); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}

// Everything of the tables is on the page, and the tables are whole.
func TestLimits(t *testing.T) {
	t.Parallel()
	page := limits()
	if strings.Contains(page, "{{") || strings.Contains(page, "%!") {
		t.Error("the page has a slip of formatting")
	}
	for _, r := range resilience.Rules() {
		if !strings.Contains(page, "| `"+r.Attribute+"` | "+r.Limit+" | "+r.Verdict.String()+" | ") {
			t.Errorf("rule %s is not there", r.ID)
		}
	}
	for _, g := range resilience.GPUTypes() {
		if !strings.Contains(page, "| `\""+g.Name+"\"` |") {
			t.Errorf("%s is not there", g.Name)
		}
		for _, r := range g.Regions {
			if !strings.Contains(page, "| `"+r.Name+"` |") {
				t.Errorf("%s is not there", r.Name)
			}
		}
	}
	regular(t, page)
	for _, want := range []string{
		"| `asia-south1` | by invitation | – |", "| `us-east4` | yes | – |",
		"| `\"nvidia-rtx-pro-6000\"` | 20 or more | 80Gi or more | `\"20\"`, `\"80Gi\"` |", "|  | 8 | 16Gi to 32Gi |  |", "at most 11 attempts and, with a GPU, 132h",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not there", want)
		}
	}
}

// regular fails the test when a table has rows of different lengths.
func regular(t *testing.T, page string) {
	t.Helper()
	columns := 0
	for _, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|")
		if columns != 0 && n != columns {
			t.Errorf("%d cells instead of %d: %s", n-1, columns-1, line)
		}
		columns = n
	}
}

// Every message has its heading, once, and nothing of a machine or of a template
// shows.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	page, err := troubleshooting(root)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := messages.Read(filepath.Join(root, messagesFolder))
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != len(groupOrder) {
		t.Errorf("%d groups are written down, and %d have a place on the page", len(groups), len(groupOrder))
	}
	for _, g := range groups {
		if !slices.Contains(groupOrder, g.File) || !strings.Contains(page, "\n## "+g.Title+"\n") || !strings.Contains(page, "(#"+anchor(g.Title)+")") {
			t.Errorf("group %s is not there", g.File)
		}
		for _, c := range g.Cases {
			for _, m := range c.Messages {
				if n := strings.Count(page, "\n### "+m.Summary+"\n"); n != 1 {
					t.Errorf("%q is a heading %d times", m.Summary, n)
				}
			}
		}
	}
	for _, want := range []string{
		"\n### No GPU quota\n", "\n### The image was not found\n", "\n### cpu and memory do not fit together\n",
		"- The moon", // a text that is not known explains nothing, and is left out
	} {
		if strings.Contains(page, want) != (want != "- The moon") {
			t.Errorf("%q: it is there: %t", want, strings.Contains(page, want))
		}
	}
	for _, bad := range []string{"{{", "%!", "/home/", "/tmp/", "(case "} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is there", bad)
		}
	}
	if strings.Count(page, "```")%2 != 0 {
		t.Error("a block of code has no end")
	}
	if _, err := troubleshooting(t.TempDir()); err == nil {
		t.Error("nothing is written down, and that is no error")
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ wrong, right, want string }{
		{"r {\n  a = 1\n  b = 2\n}", "r {\n  a = 1\n  b = 3\n}", "  a = 1\n- b = 2\n+ b = 3\n"},
		{"r {\n  a = 1\n  b = 2\n}", "r {\n  b = 2\n}", "- a = 1\n  b = 2\n"},
		{"r {\n  a = 1\n}", "s {\n  a = 1\n}", "- r {\n+ s {\n    a = 1\n  }\n"},
		{"a = {}", "a = { b = 1 }", "- a = {}\n+ a = { b = 1 }\n"},
	} {
		if got := change(test.wrong, test.right); got != test.want {
			t.Errorf("%q to %q:\n%s\nwant\n%s", test.wrong, test.right, got, test.want)
		}
	}
}

func TestQuoteText(t *testing.T) {
	t.Parallel()
	got := quoteText("First: a_b, *, <, X_.\n\n  gcloud a\n  gcloud b\n\nLast.")
	want := "> First: a_b, \\*, \\<, X\\_.\n>\n> ```\n> gcloud a\n> gcloud b\n> ```\n>\n> Last.\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
