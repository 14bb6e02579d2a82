// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package messages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Message is what a person reads.
type Message struct {
	// Severity is "error" or "warning".
	Severity string
	// Path is the attribute as a configuration would name it, "" for none.
	Path string
	// Summary and Detail are the texts.
	Summary, Detail string
}

// Case is one mistake.
type Case struct {
	// Title says what is wrong, in words.
	Title string
	// Do is what is done with the configuration: "" to validate and plan it,
	// else a word that the test knows.
	Do string
	// Environment are the only variables that the provider sees, NAME=VALUE.
	Environment []string
	// Before is applied first, Wrong causes the messages, Right causes none.
	Before, Wrong, Right string
	Messages             []Message
}

// Group is one file.
type Group struct {
	// File is its name without folder.
	File         string
	Title, Intro string
	Cases        []Case
}

// Read reads every file of a folder, by name.
func Read(folder string) ([]Group, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	groups := make([]Group, 0, len(files))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		g, err := Parse(string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		g.File = filepath.Base(file)
		groups = append(groups, g)
	}
	return groups, nil
}

// Parse reads the text of a file.
func Parse(text string) (Group, error) {
	head, rest, found := strings.Cut(text, "\n==== ")
	title, intro, _ := strings.Cut(strings.TrimSpace(head), "\n")
	g := Group{Title: title, Intro: strings.TrimSpace(intro)}
	if !found {
		return g, nil
	}
	for _, one := range strings.Split(rest, "\n==== ") {
		c, err := parseCase(one)
		if err != nil {
			return Group{}, err
		}
		g.Cases = append(g.Cases, c)
	}
	return g, nil
}

func parseCase(text string) (Case, error) {
	parts := strings.Split(text, "\n---- ")
	lines := strings.Split(strings.TrimSpace(parts[0]), "\n")
	c := Case{Title: lines[0]}
	for _, line := range lines[1:] {
		key, v, _ := strings.Cut(line, ": ")
		switch key {
		case "do":
			c.Do = v
		case "environment":
			c.Environment = append(c.Environment, v)
		default:
			return Case{}, fmt.Errorf("case %q: %q is neither a do nor an environment", c.Title, line)
		}
	}
	for _, part := range parts[1:] {
		name, body, _ := strings.Cut(part, "\n")
		body = strings.Trim(body, "\n")
		switch name {
		case "before":
			c.Before = body
		case "wrong":
			c.Wrong = body
		case "right":
			c.Right = body
		case "says":
			m, err := parseMessage(body)
			if err != nil {
				return Case{}, fmt.Errorf("case %q: %w", c.Title, err)
			}
			c.Messages = append(c.Messages, m)
		default:
			return Case{}, fmt.Errorf("case %q: no part is called %q", c.Title, name)
		}
	}
	return c, nil
}

func parseMessage(body string) (Message, error) {
	lines := strings.SplitN(body, "\n", 3)
	if len(lines) < 3 {
		return Message{}, fmt.Errorf("a message has a severity with a path, a summary and a detail, and not %q", body)
	}
	severity, path, _ := strings.Cut(lines[0], " ")
	if severity != "error" && severity != "warning" {
		return Message{}, fmt.Errorf("%q is neither error nor warning", severity)
	}
	return Message{severity, path, lines[1], lines[2]}, nil
}

// String writes the text of a file, which Parse reads.
func (g Group) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", g.Title, g.Intro)
	for _, c := range g.Cases {
		fmt.Fprintf(&b, "\n==== %s\n", c.Title)
		if c.Do != "" {
			fmt.Fprintf(&b, "do: %s\n", c.Do)
		}
		for _, v := range c.Environment {
			fmt.Fprintf(&b, "environment: %s\n", v)
		}
		for _, part := range []struct{ name, body string }{{"before", c.Before}, {"wrong", c.Wrong}, {"right", c.Right}} {
			if part.body != "" {
				fmt.Fprintf(&b, "---- %s\n%s\n", part.name, part.body)
			}
		}
		for _, m := range c.Messages {
			fmt.Fprintf(&b, "---- says\n%s\n%s\n%s\n", strings.TrimSpace(m.Severity+" "+m.Path), m.Summary, m.Detail)
		}
	}
	return b.String()
}
