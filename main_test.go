// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// What .goreleaser.yml and the manifest for the registry say of the programs is so.
// The linker passes over a variable that does not exist, hence real builds.
func TestRelease(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(".goreleaser.yml")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +- (-s -w .*)$`).FindStringSubmatch(string(config))
	if flags == nil {
		t.Fatal("there are no linker flags")
	}
	ldflags := strings.NewReplacer("{{ .Version }}", "1.2.3", "{{ .FullCommit }}", "feed").Replace(flags[1])
	mains := regexp.MustCompile(`(?m)^    main: (.*)$`).FindAllStringSubmatch(string(config), -1)
	if len(mains) != 2 {
		t.Fatalf("%d programs, want provider and emulator", len(mains))
	}
	dir := t.TempDir()
	for i, name := range []string{"terraform-provider-resilientjob", "resilientjob-emulator"} {
		program := filepath.Join(dir, name)
		// Not with the release's other flags: this way only linking is left to do.
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", ldflags, "-o", program, mains[i][1]).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		said, err := exec.CommandContext(t.Context(), program, "--version").Output()
		want := name + " 1.2.3 (commit feed, " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
		if err != nil || string(said) != want {
			t.Errorf("--version says %q, %v; want %q", said, err, want)
		}
	}

	var manifest struct {
		Version  int
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		}
	}
	raw, err := os.ReadFile("terraform-registry-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	want := []string{served(t, filepath.Join(dir, "terraform-provider-resilientjob")) + ".0"}
	if got := manifest.Metadata.Protocols; manifest.Version != 1 || strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("the manifest has version %d and says %q, the provider serves %q", manifest.Version, got, want)
	}
}

// The notes that make release hands over are published: goreleaser passes over them
// when its own changelog is disabled.
func TestReleaseNotes(t *testing.T) {
	t.Parallel()
	for file, rule := range map[string]struct {
		pattern string
		want    bool
	}{
		"Makefile":        {`(?m)^\t\$\(GORELEASER\) release .*--release-notes `, true},
		".goreleaser.yml": {`(?m)^changelog:\n(?:[ #].*\n)*? +disable:`, false},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(rule.pattern).Match(text) != rule.want {
			t.Errorf("%s: %s matches %t, want %t", file, rule.pattern, !rule.want, rule.want)
		}
	}
}

// served starts the provider as Terraform does and returns the version of the
// protocol in its first line.
func served(t *testing.T, program string) string {
	t.Helper()
	provider := exec.CommandContext(t.Context(), program)
	provider.Env = append(os.Environ(), "PLUGIN_PROTOCOL_VERSIONS=4,5,6,7",
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
	out, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = provider.Process.Kill()
	_ = provider.Wait()
	parts := strings.Split(line, "|")
	if err != nil || len(parts) < 2 {
		t.Fatalf("the provider begins with %q, %v", line, err)
	}
	return parts[1]
}
