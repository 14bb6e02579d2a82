// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package build

import (
	"runtime"
	"runtime/debug"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func TestOf(t *testing.T) {
	t.Parallel()
	checkout := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.1.1-0.20261130020000-0123456789ab+dirty"},
		Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "true"}},
	}
	for name, c := range map[string]struct {
		version, commit string
		noted           *debug.BuildInfo
		want            Info
	}{
		"a release":                    {"0.1.0", commit, checkout, Info{"0.1.0", commit}},
		"make build at a tag":          {"v0.1.0", "", checkout, Info{"0.1.0", commit}},
		"the linker counts more":       {"0.1.0", "feed", checkout, Info{"0.1.0", "feed"}},
		"go build in a checkout":       {"", "", checkout, Info{"0.1.1-0.20261130020000-0123456789ab+dirty", commit}},
		"go install of a version":      {"", "", &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, Info{"0.1.0", ""}},
		"a build without a repository": {"", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Info{"dev", ""}},
		"nothing is known":             {"", "", nil, Info{"dev", ""}},
	} {
		if got := of(c.version, c.commit, c.noted); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	built := ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	for _, c := range []struct {
		info        Info
		line, short string
	}{
		{Info{"0.1.0", commit}, "program 0.1.0 (commit " + commit + built, "0123456789ab"},
		{Info{"dev", "feed"}, "program dev (commit feed" + built, "feed"},
		{Info{"dev", ""}, "program dev (commit unknown" + built, ""},
	} {
		if got := c.info.Line("program"); got != c.line {
			t.Errorf("%q, want %q", got, c.line)
		}
		if got := c.info.ShortCommit(); got != c.short {
			t.Errorf("short %q, want %q", got, c.short)
		}
	}
}
