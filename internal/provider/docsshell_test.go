// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commands are the commands of a block, one a line: those of a block in "console"
// stand behind a dollar, and what is printed between them is left out.
func (b codeBlock) commands() string {
	if b.language != "console" {
		return b.text
	}
	var all strings.Builder
	more := false
	for line := range strings.Lines(b.text) {
		command, ok := strings.CutPrefix(line, "$ ")
		if ok || more {
			all.WriteString(command)
			more = strings.HasSuffix(strings.TrimSpace(command), `\`)
		}
	}
	return all.String()
}

func shellBlocks(t testing.TB) []codeBlock {
	t.Helper()
	var all []codeBlock
	docs := documents(t)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		for _, b := range docs[name].blocks {
			if slices.Contains([]string{"sh", "shell", "console"}, b.language) {
				all = append(all, b)
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d blocks of commands", len(all))
	}
	return all
}

// What a page tells to type is a command that the shell can read.
func TestDocsShell(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	for _, b := range shellBlocks(t) {
		check := exec.CommandContext(t.Context(), bash, "-n")
		check.Stdin = strings.NewReader(b.commands())
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s:%d: %v: %s", b.file, b.line, err, out)
		}
		if strings.TrimSpace(b.commands()) == "" {
			t.Errorf("%s:%d: no command is in it", b.file, b.line)
		}
	}
}

var (
	emulatorFlag = regexp.MustCompile(`flags\.\w+\([^"\n]*"([a-z-]+)"`)
	providerFlag = regexp.MustCompile(`flag\.\w+\("([a-z-]+)"`)
	programFlag  = regexp.MustCompile(`add_argument\(\s*"--([a-z-]+)"`)
	target       = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	quoted       = regexp.MustCompile(`'[^']*'|"(?:[^"\\]|\\.)*"`)
	flagWord     = regexp.MustCompile(`(?:^|\s)--?([a-z][a-z-]*)`)
	makeWords    = regexp.MustCompile(`(?:^|[\s;&|(])make((?: +[A-Za-z_]+=\S*| +[a-z][a-z-]*)+)`)
	variable     = regexp.MustCompile(`\b(?:RESILIENTJOB|GOOGLE|QUICKSTART|CLOUDSDK|TF_ACC|TRAIN|CHECKPOINT)_[A-Z0-9_]+\b|\bUSER_PROJECT_OVERRIDE\b`)
)

func allOf(pattern *regexp.Regexp, text string) []string {
	var all []string
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// ownFlags are the flags of what this project builds and shows, by the word that
// starts it.
func ownFlags(t testing.TB) map[string][]string {
	t.Helper()
	var emulator string
	for _, name := range projectFiles(t, ".go") {
		if strings.HasPrefix(name, "cmd/resilientjob-emulator/") && !strings.HasSuffix(name, "_test.go") {
			emulator += projectFile(t, name)
		}
	}
	all := map[string][]string{
		"resilientjob-emulator":           append(allOf(emulatorFlag, emulator), "help"),
		"terraform-provider-resilientjob": allOf(providerFlag, projectFile(t, "main.go")),
		"train.py":                        allOf(programFlag, projectFile(t, "examples/apps/checkpointed-training/train.py")),
	}
	for program, flags := range all {
		if len(flags) < 2 {
			t.Fatalf("%s has the flags %q", program, flags)
		}
	}
	return all
}

// The flags and the make targets that pages name exist.
func TestDocsFlags(t *testing.T) {
	t.Parallel()
	flags, targets := ownFlags(t), allOf(target, projectFile(t, "Makefile"))
	seen := map[string]int{}
	check := func(where, command string) {
		t.Helper()
		command = quoted.ReplaceAllString(strings.ReplaceAll(command, "\\\n", " "), "TEXT")
		for line := range strings.Lines(command) {
			line, _, _ = strings.Cut(line, " #")
			for program, known := range flags {
				_, rest, ok := strings.Cut(line, program+" ")
				if !ok {
					continue
				}
				rest = regexp.MustCompile(`[|;&].*`).ReplaceAllString(rest, "")
				for _, flag := range allOf(flagWord, " "+rest) {
					seen[program]++
					if !slices.Contains(known, flag) {
						t.Errorf("%s: %s has no flag --%s", where, program, flag)
					}
				}
			}
			for _, words := range allOf(makeWords, line) {
				for word := range strings.FieldsSeq(words) {
					seen["make"]++
					if !strings.Contains(word, "=") && !slices.Contains(targets, word) {
						t.Errorf("%s: make has no target %s", where, word)
					}
				}
			}
		}
	}
	for _, b := range shellBlocks(t) {
		check(b.String(), b.commands())
	}
	for name, d := range documents(t) {
		for _, span := range d.spans {
			check(name+": "+span, span)
			flag := allOf(flagWord, " "+span)
			if strings.HasPrefix(span, "--") && len(flag) > 0 && !slices.Contains(slices.Concat(flags["resilientjob-emulator"], flags["train.py"], others), flag[0]) {
				t.Errorf("%s: nothing of ours has the flag %s", name, span)
			}
		}
	}
	for _, program := range []string{"resilientjob-emulator", "make", "train.py"} {
		if seen[program] < 3 {
			t.Errorf("%d flags or targets of %s: is it still shown?", seen[program], program)
		}
	}
}

// others are flags of other programs that pages name without the program.
var others = []string{
	// gcloud's, in the side by side of the tutorial
	"add-volume", "gpu", "max-retries", "no-gpu-zonal-redundancy", "service-account", "source", "task-timeout",
}

// The environment variables that pages name exist: the code, or a script, reads them.
func TestDocsVariables(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, name := range projectFiles(t, ".go", ".py", ".sh", "Makefile", ".ci/run", ".yml", ".yaml", ".tf") {
		if !strings.HasSuffix(name, "_test.go") {
			code.WriteString(projectFile(t, name))
		}
	}
	text, seen := code.String(), map[string]bool{}
	for name, d := range documents(t) {
		for _, v := range variable.FindAllString(projectFile(t, d.name), -1) {
			seen[v] = true
			if !strings.Contains(text, strings.TrimRight(v, "0123456789")) && !slices.ContainsFunc(notRead, func(begin string) bool { return strings.HasPrefix(v, begin) }) {
				t.Errorf("%s: nothing reads the variable %s", name, v)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d variables are named", len(seen))
	}
}

// notRead are variables of Google's tools that pages tell to set for these, or
// how they begin.
var notRead = []string{"CLOUDSDK_API_ENDPOINT_OVERRIDES_", "CLOUDSDK_AUTH_DISABLE_CREDENTIALS"}
