// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package messages

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	g := Group{Title: "Network", Intro: "One line.\nAnother.", Cases: []Case{
		{Title: "plain", Wrong: "a = 1"},
		{Title: "all", Do: "import", Environment: []string{"A=b", "C="}, Before: "x {\n}", Wrong: "y {\n\n}", Right: "z", Messages: []Message{
			{"error", `volumes["a"].mount_path`, "Summary", "Detail.\n\nMore: of it."}, {"warning", "", "Another", "Detail."},
		}},
	}}
	got, err := Parse(g.String())
	if err != nil || !reflect.DeepEqual(got, g) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, g)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "network.txt"), []byte(g.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	g.File = "network.txt"
	if all, err := Read(folder); err != nil || !reflect.DeepEqual(all, []Group{g}) {
		t.Errorf("%v\n%+v", err, all)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"T\n\n==== a\nwhat: b\n", "T\n\n==== a\n---- other\nb\n", "T\n\n==== a\n---- says\nerror\nSummary\n", "T\n\n==== a\n---- says\nfatal x\nSummary\nDetail\n",
	} {
		if g, err := Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, g)
		}
	}
}
