// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// defaultIgnore are the names of what is still being written: by programs that
// write to another name and then rename, by Python's tempfile, rsync, Orbax,
// TensorFlow, Transformers and gcsfuse.
var defaultIgnore = []string{
	"*.tmp", "*.tmp.*", "*.tmp-*", "tmp*", ".tmp*", "_tmp*", "*-tmp", "*-tmp-*", "*_tmp", "*.temp", "*_temp",
	"*.part", "*.partial", "*.incomplete", "*.new", "*~", ".*.*", ".gcsfuse_tmp",
}

// Ignore recognises names of what is no checkpoint: by each part of a name, so
// that what lies in a temporary folder is temporary, too.
type Ignore struct {
	globs []glob
	// The verdict on the last folder: a list goes folder by folder.
	folder  string
	verdict bool
}

// checkIgnore holds the rules for one pattern of the attribute ignore. The error
// is for users.
func checkIgnore(s string) error {
	short := resourcename.Shorten(s)
	switch {
	case s == "":
		return errors.New("a pattern is empty: take it out, or write one such as \"*.tmp\"")
	case strings.Contains(s, "/"):
		return fmt.Errorf("%q has a slash, and each pattern is compared with one part of a name: write what one folder or one file is called, such as \"*.tmp\"", short)
	case strings.Trim(s, anyText) == "":
		return fmt.Errorf("%q fits every name, so that nothing would be a checkpoint: write one such as \"*.tmp\"", short)
	case strings.ContainsAny(s, "{}"):
		return fmt.Errorf("%q has a brace in it, and {task} and {step} have no meaning here: write *", short)
	}
	return checkGlob(s)
}

// newIgnore makes a matcher of patterns that checkIgnore accepts.
func newIgnore(patterns []string) *Ignore {
	g := &Ignore{}
	for _, p := range patterns {
		g.globs = append(g.globs, strings.Split(p, anyText))
	}
	return g
}

// Match reports whether a part of the name is to be ignored.
func (g *Ignore) Match(name string) bool {
	at := strings.LastIndexByte(name, '/')
	if at >= 0 && name[:at] != g.folder {
		g.folder = name[:at]
		g.verdict = slices.ContainsFunc(strings.Split(g.folder, "/"), g.part)
	}
	return at >= 0 && g.verdict || g.part(name[at+1:])
}

func (g *Ignore) part(s string) bool {
	return slices.ContainsFunc(g.globs, func(g glob) bool { return g.match(s) })
}

// glob is the text between the stars of a pattern.
type glob []string

func (g glob) match(s string) bool {
	first, last := g[0], g[len(g)-1]
	if len(g) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, middle := range g[1 : len(g)-1] {
		// The first place leaves the most for the rest.
		_, after, found := strings.Cut(s, middle)
		if !found {
			return false
		}
		s = after
	}
	return true
}
