// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// block is a block of shell commands of the README and the answers shown below it.
type block struct {
	line     int
	commands string
	answers  []shown
}

type shown struct{ kind, text string }

const endOfBlock = "@@ end of the commands @@"

// The commands of the README do what it says, one after the other, in a shell of
// somebody who has installed the emulator.
func TestREADME(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is not installed: CI must run the README's commands", program)
			}
			t.Skipf("%s is not installed, so the README's commands are not run here", program)
		}
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "internal", "emulator", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, left := blocksOf(t, string(raw))
	if len(blocks) < 15 || left != 1 {
		t.Fatalf("%d blocks are run and %d left out: a change of the README has taken commands away from this test", len(blocks), left)
	}
	const address = "127.0.0.1:8085"
	port := freePort(t)
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, b := range blocks {
		fmt.Fprintf(&script, "%s\necho; echo '%s'\n", strings.ReplaceAll(b.commands, address, port), endOfBlock)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh")
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader(script.String())
	cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+installed(t, port)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	got := strings.Split(out.String(), endOfBlock)
	for i, b := range blocks {
		if i >= len(got)-1 {
			t.Fatalf("line %d: the commands end with %v:\n%s\n%s", b.line, err, got[len(got)-1], errs.String())
		}
		if problem := compare(b.answers, got[i]); problem != "" {
			t.Errorf("line %d: %s; the answer is\n%s", b.line, problem, got[i])
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, errs.String())
	}
}

// installed is a folder with the command, which listens on the address for want
// of another.
func installed(t *testing.T, address string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --listen %s \"$@\"\n", self, address)
	if err := os.WriteFile(filepath.Join(dir, "resilientjob-emulator"), []byte(script), 0o755); err != nil { //nolint:gosec // it is to be executed
		t.Fatal(err)
	}
	return dir
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// blocksOf reads the fenced blocks of a page: those of commands, each with the
// answers that follow it before other text, and how many are not run.
func blocksOf(t *testing.T, page string) (blocks []block, left int) {
	t.Helper()
	lines := strings.Split(page, "\n")
	notRun := false
	follows := false // an answer of the last block may come
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		kind, fenced := strings.CutPrefix(line, "```")
		switch {
		case strings.HasPrefix(line, "<!-- not run: "):
			notRun = true
			continue
		case !fenced:
			follows = follows && strings.TrimSpace(line) == ""
			continue
		}
		begin := i + 1
		for i++; lines[i] != "```"; i++ {
		}
		text := strings.Join(lines[begin:i], "\n")
		switch {
		case kind == "sh" && notRun:
			left++
		case kind == "sh":
			blocks = append(blocks, block{line: begin + 1, commands: text})
			follows = true
		case follows && (kind == "json" || kind == "text"):
			last := &blocks[len(blocks)-1]
			last.answers = append(last.answers, shown{kind, text})
		case kind == "json" || kind == "text":
			t.Errorf("line %d: an answer without commands", begin)
		}
		notRun = false
	}
	return blocks, left
}

// compare says what is not as shown; empty when all is. JSON has to hold what is
// shown, text the lines that are, in their order.
func compare(answers []shown, got string) string {
	for _, a := range answers {
		if a.kind == "text" {
			if problem := compareText(a.text, got); problem != "" {
				return problem
			}
			continue
		}
		want, err := values(a.text)
		if err != nil {
			return "what is shown is no JSON: " + err.Error()
		}
		have, err := values(got)
		// Lines of text may follow the values.
		if err != nil && len(have) < len(want) {
			return "the answer is no JSON: " + err.Error()
		}
		if len(answers) == 1 && len(have) != len(want) {
			return fmt.Sprintf("%d answers are shown, and there are %d", len(want), len(have))
		}
		for i := range want {
			if problem := compareValue(fmt.Sprintf("answer %d", i+1), want[i], have[i]); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func values(text string) ([]any, error) {
	var all []any
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		switch err := decoder.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
		all = append(all, v)
	}
}

func compareText(want, got string) string {
	rest := strings.Split(got, "\n")
	for line := range strings.SplitSeq(want, "\n") {
		found := false
		for len(rest) > 0 && !found {
			found = like(line, strings.TrimSpace(rest[0])) || like(line+"…", strings.TrimSpace(rest[0]))
			rest = rest[1:]
		}
		if !found {
			return fmt.Sprintf("no line is %q", line)
		}
	}
	return ""
}

// like compares with a text in which … stands for any.
func like(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(got)
}

func compareValue(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok || len(want) == 0 && len(have) != 0 {
			return fmt.Sprintf("%s is %v", at, got)
		}
		for key, v := range want {
			if problem := compareValue(at+"."+key, v, have[key]); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) < len(want) || len(want) == 0 && len(have) != 0 {
			return fmt.Sprintf("%s is %v", at, got)
		}
		for i, v := range want {
			if problem := compareValue(fmt.Sprintf("%s[%d]", at, i), v, have[i]); problem != "" {
				return problem
			}
		}
		return ""
	case string:
		if have, ok := got.(string); ok && like(want, have) {
			return ""
		}
	default:
		if reflect.DeepEqual(want, got) {
			return ""
		}
	}
	return fmt.Sprintf("%s is %v and not %v", at, got, want)
}

// The comparison sees what is not as shown.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, want, got string
		same            bool
	}{
		{"json", `{"a": "x…", "b": [1]}`, `{"a": "xyz", "b": [1, 2], "c": 3}`, true},
		{"json", `{"a": 1}`, `{"a": 2}`, false},
		{"json", `{"a": 1}`, `{}`, false},
		{"json", `{"a": "x…"}`, `{"a": "yx"}`, false},
		{"json", `{}`, `{"error": 1}`, false},
		{"json", `{"b": []}`, `{"b": [1]}`, false},
		{"json", `{"b": [1, 2]}`, `{"b": [1]}`, false},
		{"json", "{}\n{}", `{}`, false},
		{"json", "{}", `{} {}`, false},
		{"json", "{}", `oops`, false},
		{"text", "a…c\nd", "x\nabbc\ny\nd", true},
		{"text", "a\nb", "b\na", false},
		{"text", "a", "ba", false},
	} {
		if problem := compare([]shown{{c.kind, c.want}}, c.got); (problem == "") != c.same {
			t.Errorf("%q against %q: %q", c.got, c.want, problem)
		}
	}
}
