// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseImage(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Image{
		"*=python3 train.py":                     {"*", []string{"python3", "train.py"}},
		" */train:* =  python3   train.py ":      {"*/train:*", []string{"python3", "train.py"}},
		"a=python3 train.py --steps=5":           {"a", []string{"python3", "train.py", "--steps=5"}},
		`a='/my folder/run' "b c" d\ e ''`:       {"a", []string{"/my folder/run", "b c", "d e", ""}},
		`a=sh -c 'echo "x" $HOME' "q\"\$\n"`:     {"a", []string{"sh", "-c", `echo "x" $HOME`, `q"$\n`}},
		`a=x"y z"'w'`:                            {"a", []string{"xy zw"}},
		"europe-docker.pkg.dev/p/r/i@sha256:0=x": {"europe-docker.pkg.dev/p/r/i@sha256:0", []string{"x"}},
	} {
		got, err := ParseImage(s)
		if err != nil {
			t.Errorf("ParseImage(%q): %v", s, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseImage(%q) (-want +got):\n%s", s, diff)
		}
	}
	for s, want := range map[string]string{
		"":         `has no "="`,
		"python3":  `has no "="`,
		"=python3": "has no pattern",
		"a b=x":    "contains a blank",
		"a=":       "has no command",
		"a=  ":     "has no command",
		"a=''":     "has no command",
		"a='x":     "single quote is not closed",
		`a="x\"`:   "double quote is not closed",
		`a=x\`:     "backslash at the end",
	} {
		if got, err := ParseImage(s); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--image") {
			t.Errorf("ParseImage(%q) = %+v, %v, want %q", s, got, err, want)
		}
	}
}

func TestImageIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Image{
			Pattern: rapid.StringMatching(`[a-z0-9*?/:.@-]+`).Draw(t, "pattern"),
			Command: rapid.SliceOfN(rapid.String(), 1, 4).Filter(func(c []string) bool { return c[0] != "" }).Draw(t, "command"),
		}
		got, err := ParseImage(want.String())
		if err != nil {
			t.Fatalf("ParseImage(%q): %v", want.String(), err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("ParseImage(%q) (-want +got):\n%s", want.String(), diff)
		}
	})
}

func TestImageMatches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "europe-docker.pkg.dev/p/r/train:v1", true},
		{"train", "train", true},
		{"train", "train:v1", false},
		{"train", "my/train", false},
		{"*train*", "europe-docker.pkg.dev/p/r/train:v1", true},
		{"*/train:*", "europe-docker.pkg.dev/p/r/train:v1", true},
		{"*/train:*", "europe-docker.pkg.dev/p/r/train", false},
		{"*/train:v?", "p/train:v1", true},
		{"*/train:v?", "p/train:v12", false},
		{"a*b*c", "axxbyybzzc", true},
		{"a*b*c", "axxbyybzz", false},
		{"**", "x", true},
		{"[a]", "a", false},
		{"[a]", "[a]", true},
		{"", "", true},
		{"", "x", false},
		{strings.Repeat("*a", 40), strings.Repeat("a", 200) + "b", false},
	} {
		if got := (Image{Pattern: tc.pattern}).Matches(tc.name); got != tc.want {
			t.Errorf("%q matches %q = %v", tc.pattern, tc.name, got)
		}
	}
}
