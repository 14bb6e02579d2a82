// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// A page that is checked in says what the tables say.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for name, render := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "templates", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != render() {
			t.Errorf("templates/%s is stale: run make generate and commit the result", name)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for name, render := range pages {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != render() {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(file); err == nil {
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
	for _, want := range []string{
		"| `asia-south1` | by invitation | – |", "| `us-east4` | yes | – |",
		"| `\"nvidia-rtx-pro-6000\"` | 20 or more | 80Gi or more | `\"20\"`, `\"80Gi\"` |", "|  | 8 | 16Gi to 32Gi |  |", "at most 11 attempts and, with a GPU, 132h",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not there", want)
		}
	}
}
