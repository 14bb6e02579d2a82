// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxLine is the most bytes that one call of an output function carries: a log entry of Cloud Logging may have 256 KB
// with everything around the text. A longer line comes in several pieces.
const maxLine = 250_000

// lines cuts the two streams of a task into lines for one output function, which is never called twice at a time.
type lines struct {
	mu             sync.Mutex
	output         func(stream, line string)
	stdout, stderr lineWriter
}

func newLines(output func(stream, line string)) *lines {
	l := &lines{output: output}
	l.stdout = lineWriter{lines: l, stream: Stdout}
	l.stderr = lineWriter{lines: l, stream: Stderr}
	return l
}

// flush delivers what is left of lines without an end. The streams must be at their end.
func (l *lines) flush() {
	for _, w := range []*lineWriter{&l.stdout, &l.stderr} {
		l.mu.Lock()
		if len(w.rest) > 0 {
			w.emit(w.rest)
			w.rest = nil
		}
		l.mu.Unlock()
	}
}

type lineWriter struct {
	lines  *lines
	stream string
	rest   []byte // the begun line
}

var _ io.Writer = (*lineWriter)(nil)

// Write never fails: a task must not die because nobody listens.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part, p = p[:end], p[end+1:]
		} else {
			p = nil
		}
		w.rest = append(w.rest, part...)
		for len(w.rest) > maxLine {
			cut := maxLine
			for cut > maxLine-utf8.UTFMax && !utf8.RuneStart(w.rest[cut]) {
				cut--
			}
			w.emit(w.rest[:cut])
			w.rest = append(w.rest[:0], w.rest[cut:]...)
		}
		if end >= 0 {
			w.emit(bytes.TrimSuffix(w.rest, []byte("\r")))
			w.rest = w.rest[:0]
		}
	}
	return n, nil
}

// emit replaces bytes that are not UTF-8, since neither a protocol message nor JSON can carry them.
func (w *lineWriter) emit(line []byte) {
	w.lines.output(w.stream, strings.ToValidUTF8(string(line), "\uFFFD"))
}
