// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
)

// attr is an attribute with its whole key.
type attr struct {
	key   string
	value slog.Value
}

// lines is a slog.Handler that prints one line for each event, for people: the
// message as it is, then what goes with it. Control characters of a message are
// shown escaped, so that a task cannot paint the terminal or forge a line.
type lines struct {
	level slog.Level
	with  []attr
	group string // prefix of the keys to come

	mu  *sync.Mutex
	out io.Writer
}

func newLogger(level slog.Level, out io.Writer) *slog.Logger {
	return slog.New(&lines{level: level, mu: &sync.Mutex{}, out: out})
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	if r.Level != slog.LevelInfo {
		fmt.Fprintf(&b, "%s: ", strings.ToLower(r.Level.String()))
	}
	b.WriteString(printable(r.Message))
	add := func(a attr) {
		value := printable(a.value.Resolve().String())
		if value == "" || strings.ContainsAny(value, " =") {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&b, " %s=%s", a.key, value)
	}
	for _, a := range l.with {
		add(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		add(attr{l.group + a.Key, a.Value})
		return true
	})
	b.WriteByte('\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(b.Bytes())
	return err
}

// printable escapes what is no graphic character, but for tabs.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\t' || strconv.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *l
	c.with = append([]attr{}, l.with...)
	for _, a := range attrs {
		c.with = append(c.with, attr{l.group + a.Key, a.Value})
	}
	return &c
}

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(name string) slog.Handler {
	c := *l
	c.group += name + "."
	return &c
}
