// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Pattern is a pattern of names below a folder of the bucket:
//
//   - any text within one part of the name, also none
//     **      alone between slashes: any folders, also none; alone at the end: any rest
//     {task}  the index of a task: digits
//     {step}  what differs from one checkpoint to the next of a series: text within one part, at least one character
//     /       at the end: checkpoints are folders, each with everything in it
//
// Everything else stands for itself. Where a name fits in several ways, the
// words further left decide first: {task} takes as many digits as it can, the
// others as little as they can.
//
// Names are matched by regexp, in time that is linear in their length.
type Pattern struct {
	text   string
	re     *regexp.Regexp // of a whole name; of a folder, without its last slash
	folder bool
	// parts is how many parts the name of a folder has; 0 when ** leaves that open.
	parts int
	// task and series are the numbers of capture groups, 0 for none: the task's
	// digits, and the place of the first part with {step}.
	task, series int
}

// everything is the pattern where none is written.
const everything = "**"

const (
	anyText  = "*"
	anyPath  = "**"
	taskWord = "{task}"
	stepWord = "{step}"
)

// ParsePattern reads a pattern. The error is for users.
func ParsePattern(s string) (*Pattern, error) {
	if err := checkPath(s); err != nil {
		return nil, err
	}
	if err := checkGlob(s); err != nil {
		return nil, err
	}
	if strings.Count(s, taskWord) > 1 {
		return nil, fmt.Errorf("%q has {task} more than once: write it where the index certainly stands, and * elsewhere", resourcename.Shorten(s))
	}
	text, folder := strings.CutSuffix(s, "/")
	segments := strings.Split(text, "/")
	p := &Pattern{text: s, folder: folder, parts: len(segments)}
	groups := 0
	group := func() int { groups++; return groups }
	var b strings.Builder
	b.WriteString(`\A`)
	for i, segment := range segments {
		last := i == len(segments)-1
		switch {
		case segment != anyPath:
		case last && folder:
			return nil, fmt.Errorf("%q ends in ** and a slash, so that every folder would be a checkpoint: say how the folders are called, such as \"**/step-{step}/\"", resourcename.Shorten(s))
		case last:
			b.WriteString(`(?s:.*)`)
			continue
		default:
			p.parts = 0
			b.WriteString(`(?s:.*?/)??`)
			continue
		}
		words, err := split(segment)
		if err != nil {
			return nil, fmt.Errorf("%q has %w", resourcename.Shorten(s), err)
		}
		if p.series == 0 && strings.Contains(segment, stepWord) {
			p.series = group()
			b.WriteString(`()`)
		}
		for _, w := range words {
			switch w {
			case anyText:
				b.WriteString(`[^/]*?`)
			case stepWord:
				b.WriteString(`[^/]+?`)
			case taskWord:
				p.task = group()
				b.WriteString(`([0-9]+)`)
			default:
				b.WriteString(regexp.QuoteMeta(w))
			}
		}
		if !last {
			b.WriteString(`/`)
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("%q is too long, or no text: write a simpler pattern", resourcename.Shorten(s))
	}
	p.re = re
	return p, nil
}

// split takes a part of a pattern apart into words and plain text. The error
// goes on a sentence about the pattern.
func split(segment string) ([]string, error) {
	var out []string
	for segment != "" {
		at := strings.IndexAny(segment, "*{}")
		switch {
		case at < 0:
			return append(out, segment), nil
		case at > 0:
			out = append(out, segment[:at])
			segment = segment[at:]
		}
		found := ""
		for _, word := range []string{anyText, taskWord, stepWord} {
			if strings.HasPrefix(segment, word) {
				found = word
				break
			}
		}
		switch {
		case strings.HasPrefix(segment, anyPath):
			return nil, errors.New("** beside other text: write it alone between two slashes, or * for any text within one part of a name")
		case found == "" && segment[0] == '{' && strings.Contains(segment, "}"):
			return nil, fmt.Errorf("%q in it, and there is only {task}, for the index of a task, and {step}, for what differs from one checkpoint to the next: write one of them, or *", resourcename.Shorten(segment[:strings.Index(segment, "}")+1]))
		case found == "":
			return nil, fmt.Errorf("a single %q in it: write {task}, {step}, or * for a name with a brace", segment[:1])
		}
		out = append(out, found)
		segment = segment[len(found):]
	}
	return out, nil
}

// checkPath holds what a pattern and a folder have in common. The error is for
// users.
func checkPath(s string) error {
	short := resourcename.Shorten(s)
	switch {
	case strings.Trim(s, "/") == "":
		return fmt.Errorf("%q names nothing: leave the attribute out for every object", short)
	case strings.HasPrefix(s, "gs://"):
		return fmt.Errorf("%q has the bucket in it: write the bucket in bucket, and here what follows", short)
	case strings.HasPrefix(s, "/"):
		return fmt.Errorf("%q begins with a slash, and no object's name does: write %q", short, resourcename.Shorten(strings.TrimLeft(s, "/")))
	case strings.Contains(s, "//"):
		return fmt.Errorf("%q has two slashes side by side: write one", short)
	case strings.ContainsAny(s, "\r\n"):
		return fmt.Errorf("%q has a line end, which no object's name has: take it out", short)
	}
	return nil
}

// checkGlob refuses what other languages of patterns have, and here would never
// match. The error is for users.
func checkGlob(s string) error {
	if i := strings.IndexAny(s, `?[]\`); i >= 0 {
		return fmt.Errorf("%q has %q in it, which is no wildcard here: write * for any text within one part of a name", resourcename.Shorten(s), s[i:i+1])
	}
	return nil
}

// Folder reports whether checkpoints are folders.
func (p *Pattern) Folder() bool { return p.folder }

// Literal returns the text with which every name that fits begins.
func (p *Pattern) Literal() string {
	at := strings.IndexAny(p.text, "*{")
	if at < 0 {
		return p.text
	}
	return p.text[:at]
}

// Match is what a name says.
type Match struct {
	// Checkpoint is the name of the checkpoint: the name itself, or that of the
	// folder, with a slash at its end.
	Checkpoint string
	// Series is the folder in which checkpoints follow each other: the one before
	// the first part with {step}, else the one that holds the checkpoint. It has no
	// slash at its end, and is empty for the top.
	Series string
	// Task is the index of the task, and -1 where the pattern does not say.
	Task int64
}

// Match reads a name relative to the folder of the pattern.
func (p *Pattern) Match(name string) (Match, bool) {
	if !p.folder {
		return p.match(name, name)
	}
	// The outermost folder that fits is the checkpoint.
	parts := 0
	for i := 0; i < len(name); i++ {
		if name[i] != '/' {
			continue
		}
		parts++
		if p.parts > 0 && parts != p.parts {
			continue
		}
		if m, ok := p.match(name[:i], name[:i+1]); ok {
			return m, true
		}
	}
	return Match{}, false
}

func (p *Pattern) match(s, checkpoint string) (Match, bool) {
	at := p.re.FindStringSubmatchIndex(s)
	if at == nil {
		return Match{}, false
	}
	m := Match{Checkpoint: checkpoint, Task: -1}
	if p.task > 0 {
		n, err := strconv.ParseInt(s[at[2*p.task]:at[2*p.task+1]], 10, 64)
		if err != nil {
			return Match{}, false // more digits than an index can have
		}
		m.Task = n
	}
	end := strings.LastIndexByte(s, '/')
	if p.series > 0 {
		end = at[2*p.series] - 1
	}
	m.Series = s[:max(end, 0)]
	return m, true
}
