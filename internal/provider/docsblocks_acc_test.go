// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// languages are what a block can be in, with what tests it.
var languages = map[string]string{
	"terraform": "TestAccDocsBlocks", "hcl": "TestAccDocsBlocks",
	"sh": "TestDocsShell", "shell": "TestDocsShell", "console": "TestDocsShell",
	"diff":   "TestMessages: both sides of each message of the page Troubleshooting",
	"python": "the tests beside the program that the guide shows",
	"text":   "nothing: it is what a program prints", "dockerfile": "nothing, but that it is a file of examples/", "yaml": "TestAccWorkflow", "json": "TestAccControlScript", "go": "TestAccRehearsalInGo",
}

// copied are languages whose blocks are copies of files below examples/, by how the
// names of these end.
var copied = map[string]string{"yaml": ".yml", "json": ".json", "go": ".go", "python": ".py", "dockerfile": "Dockerfile"}

// beside is what a block needs beside it, for those that a page shows in part.
var beside = map[string]string{
	"docs/guides/quickstart.md#2": `
resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name = "my-project-quickstart"
}

resource "resilientjob_gpu_job" "train" {
  name       = "quickstart"
  image      = "us-central1-docker.pkg.dev/my-project/images/train:v1"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.checkpoints.name }
}
`,
	"examples/apps/checkpointed-training/README.md#1": `
resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name = "my-project-checkpoints"
}
`,
}

// fragments are blocks that cannot be planned, or are no copy, with the reason. A
// star stands for every block of the language in the file.
var fragments = map[string]string{
	"internal/emulator/README.md#json-*":                     "TestREADME of cmd/resilientjob-emulator compares them with what the emulator answers",
	"internal/emulator/README.md#go-1":                       "the lines that start the emulator, of a test that is somebody else's",
	"examples/apps/checkpointed-training/README.md#python-1": "the lines of the program that change with PyTorch, which is not installed here",
	"README.md#2": "the configuration of the command line, which says where providers are installed from",
}

// Every configuration that a page shows is part of a file of examples/, which a
// test applies, or is planned here: each as a module of one configuration, so that
// Terraform starts twice and not twice for each.
func TestAccDocsBlocks(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range projectFiles(t, append(slices.Collect(maps.Values(copied)), ".tf", ".hcl")...) {
		if strings.HasPrefix(name, "examples/") {
			files[name] = projectFile(t, name)
		}
	}
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	var root strings.Builder
	used, blocks := map[string]bool{}, 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if languages[b.language] == "" {
				t.Errorf("%s:%d: a block in %q: no test is said to look at it", b.file, b.line, b.language)
			}
			if listed := slices.DeleteFunc([]string{b.String(), fmt.Sprintf("%s#%s-*", b.file, b.language)}, func(s string) bool { return fragments[s] == "" }); len(listed) > 0 {
				used[listed[0]] = true
				continue
			}
			if end := copied[b.language]; end != "" && !strings.HasSuffix(partOf(files, b.text), end) {
				t.Errorf("%s:%d: it is no part of a file *%s of examples/", b.file, b.line, end)
			}
			if b.language != "terraform" && b.language != "hcl" {
				continue
			}
			blocks++
			if partOf(files, b.text) != "" {
				continue
			}
			used[b.String()] = true
			module := "block_" + regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(b.String(), "_")
			text := b.text + beside[b.String()]
			if !strings.Contains(text, "required_providers") {
				text = "terraform {\n  required_providers {\n    resilientjob = { source = \"resilientjob/resilientjob\" }\n  }\n}\n\n" + text
			}
			if err := os.Mkdir(filepath.Join(tf.Dir, module), 0o700); err != nil {
				t.Fatal(err)
			}
			tf.WriteFile(filepath.Join(module, "main.tf"), text)
			fmt.Fprintf(&root, "module %q { source = \"./%[1]s\" } # %s:%d\n", module, b.file, b.line)
		}
	}
	for _, listed := range []map[string]string{beside, fragments} {
		for name := range listed {
			if !used[name] {
				t.Errorf("%s is no block that needs anything", name)
			}
		}
	}
	if blocks < 25 || len(used) <= len(fragments) {
		t.Errorf("%d blocks, of which %d are planned here", blocks, len(used))
	}
	tf.Write(root.String())
	tf.Run("get").Succeeds()
	plan := tf.Plan()
	if plan.Code == 1 {
		t.Fatal(plan.Output())
	}
	if n := strings.Count(plan.Output(), "will be created"); n < len(used)-len(fragments)-1 { // one block is a provider's alone
		t.Errorf("%d resources are planned of %d blocks:\n%s", n, len(used), plan.Output())
	}
}

// partOf names the file that has the text, from the beginning of a line to the
// end of one.
func partOf(files map[string]string, text string) string {
	for name, file := range files {
		if strings.Contains("\n"+file, "\n"+text) {
			return name
		}
	}
	return ""
}
