// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// unknown is the version of a build that nobody numbered.
const unknown = "dev"

// Info is what a program knows of its own build.
type Info struct {
	// Version is a semantic version without the v of its tag, or "dev".
	Version string
	// Commit is the full hash, empty when nobody noted it.
	Commit string
}

// Of returns what the linker was told or, where that is empty, what the go
// command noted.
func Of(version, commit string) Info {
	noted, _ := debug.ReadBuildInfo()
	return of(version, commit, noted)
}

func of(version, commit string, noted *debug.BuildInfo) Info {
	if noted == nil {
		noted = &debug.BuildInfo{}
	}
	if version == "" && noted.Main.Version != "(devel)" {
		version = noted.Main.Version
	}
	if version == "" {
		version = unknown
	}
	for _, s := range noted.Settings {
		if commit == "" && s.Key == "vcs.revision" {
			commit = s.Value
		}
	}
	return Info{Version: strings.TrimPrefix(version, "v"), Commit: commit}
}

// ShortCommit returns the first twelve digits of the commit, as Go's own
// versions have them.
func (i Info) ShortCommit() string { return i.Commit[:min(len(i.Commit), 12)] }

// Line is what --version prints.
func (i Info) Line(program string) string {
	commit := i.Commit
	if commit == "" {
		commit = "unknown"
	}
	return fmt.Sprintf("%s %s (commit %s, %s, %s/%s)", program, i.Version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
