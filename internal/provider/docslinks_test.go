// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	registryPages = "/providers/resilientjob/resilientjob/latest/docs"
	repository    = "/resilientjob/terraform-provider-resilientjob"
)

// hosts are where links may lead. What is on them is not looked at: no test needs
// the network.
var hosts = []string{
	"arxiv.org", "cloud.google.com", "console.cloud.google.com", "developer.hashicorp.com", "docs.github.com", "g.co", "github.com", "go.dev",
	"golangci-lint.run", "goreleaser.com", "keepachangelog.com", "opentofu.org", "raw.githubusercontent.com", "registry.terraform.io",
	"search.opentofu.org", "semver.org", "towncrier.readthedocs.io", "www.python.org",
}

var (
	link    = regexp.MustCompile(`(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]*(?:\([^()\s]*\))?[^()\s]*)(?: "[^"]*")?\)`)
	address = regexp.MustCompile(`https?://[^\s<>()\[\]"'|]+`)
)

// Each link of every page leads somewhere, in the repository and on a registry.
//
// A registry serves a page at .../docs/guides/NAME and the first one at .../docs,
// without a slash at the end, takes .md off the end of an address, and resolves
// the rest as a browser does. So a page links to another page as a file, which
// works in both places, and the first page by absolute addresses. What is not
// below docs/ is not on the registry at all: a page names it by its address in
// the repository, and an image by its raw address, which shows a PNG but no SVG.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	all := documents(t)
	links := 0
	for name, d := range all {
		for i, line := range d.prose {
			line = codeSpan.ReplaceAllString(line, "code")
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				links++
				if wrong := wrongLink(all, d, m[3], m[1] == "!"); wrong != "" {
					t.Errorf("%s:%d: %s: %s", name, i+1, m[3], wrong)
				}
			}
			for _, a := range address.FindAllString(line, -1) {
				if name == "docs/guides/troubleshooting.md" {
					continue // what stands in the text there are the messages' own examples
				}
				if wrong := wrongAddress(all, strings.TrimRight(a, ".,;:")); wrong != "" {
					t.Errorf("%s:%d: %s: %s", name, i+1, a, wrong)
				}
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links", links)
	}
}

// wrongLink says what is wrong with a link of a document.
func wrongLink(all map[string]*document, d *document, target string, image bool) string {
	if strings.Contains(target, "://") {
		if image && (!strings.HasPrefix(target, "https://raw.githubusercontent.com"+repository+"/main/") || strings.HasSuffix(target, ".svg")) {
			return "an image is a PNG at https://raw.githubusercontent.com" + repository + "/main/"
		}
		return "" // as an address
	}
	if strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	switch {
	case file == "":
		file = d.name
	case d.name == "docs/index.md":
		return "a registry serves this page without a slash at the end of its address: write https://registry.terraform.io" + registryPages + "/..."
	case strings.HasPrefix(file, "/"):
		return "write a relative address"
	default:
		file = path.Join(path.Dir(d.name), file)
	}
	switch {
	case image && d.page():
		return "a registry shows no image by a relative address"
	case d.page() && !strings.HasPrefix(file, "docs/"):
		return "it is not on a registry: write its address in the repository"
	case d.page() && all[file] == nil:
		return "no page is there; an address ends in .md"
	case !exists(file):
		return "nothing is there"
	}
	return wrongAnchor(all, file, anchor)
}

func wrongAnchor(all map[string]*document, file, anchor string) string {
	if anchor == "" {
		return ""
	}
	if all[file] == nil {
		return file + " has no anchors"
	}
	if !all[file].anchors()[anchor] {
		return file + " has no such heading"
	}
	return ""
}

// wrongAddress says what is wrong with an absolute address.
func wrongAddress(all map[string]*document, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return err.Error()
	}
	switch {
	case u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost":
		return ""
	case u.Scheme != "https":
		return "write https"
	case !slices.Contains(hosts, u.Host):
		return "the host is not in this test's list of hosts"
	}
	if page, ok := strings.CutPrefix(u.Path, registryPages); ok && u.Host == "registry.terraform.io" {
		if page == "" {
			page = "/index"
		}
		if all["docs"+page+".md"] == nil {
			return "there is no such page"
		}
		return wrongAnchor(all, "docs"+page+".md", u.Fragment)
	}
	rest, ours := strings.CutPrefix(u.Path, repository+"/")
	parts := strings.SplitN(rest, "/", 3)
	switch {
	case !ours:
	case u.Host == "raw.githubusercontent.com":
		if file, ok := strings.CutPrefix(rest, "main/"); !ok || !exists(file) {
			return "there is no such file"
		}
	case len(parts) == 3 && slices.Contains([]string{"blob", "tree", "raw"}, parts[0]):
		if parts[1] != "main" || !exists(parts[2]) {
			return "there is no such file"
		}
		return wrongAnchor(all, parts[2], u.Fragment)
	}
	return ""
}

// Every guide is in the reading order of the first page.
func TestDocsGuidesAreOnTheFirstPage(t *testing.T) {
	t.Parallel()
	first := projectFile(t, "docs/index.md")
	guides, err := filepath.Glob(filepath.Join(projectRoot, "docs/guides/*.md"))
	if err != nil || len(guides) < 8 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	for _, guide := range guides {
		if !strings.Contains(first, "https://registry.terraform.io"+registryPages+"/guides/"+strings.TrimSuffix(filepath.Base(guide), ".md")+")") {
			t.Errorf("docs/index.md has no link to %s", guide)
		}
	}
}

var ourFile = regexp.MustCompile(`^(?:(?:internal|examples|templates|cmd|tools|docs|\.github)/[A-Za-z0-9_.*/-]+|[A-Za-z0-9_*/-]+\.(?:go|sh|yml|md\.tmpl))$`)

// The files and folders that pages for those who carry on name are there.
func TestDocsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	files := projectFiles(t, "")
	seen := 0
	for name, d := range documents(t) {
		if d.page() || strings.Contains(name, "changes/") {
			continue
		}
		for _, span := range d.spans {
			if !ourFile.MatchString(span) || strings.Contains(span, "NAME") {
				continue
			}
			seen++
			if !slices.ContainsFunc(files, func(file string) bool { return isNamed(file, strings.TrimSuffix(span, "/")) }) {
				t.Errorf("%s: there is no %s", name, span)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d files are named", seen)
	}
}

// isNamed reports whether a name, which may begin below the project's root and may
// be that of a folder, is one of the file's.
func isNamed(file, name string) bool {
	parts, want := strings.Split(file, "/"), strings.Split(name, "/")
	for i := range parts {
		if i+len(want) > len(parts) {
			return false
		}
		if ok, err := path.Match(name, strings.Join(parts[i:i+len(want)], "/")); ok && err == nil {
			return true
		}
	}
	return false
}

// A checker that lets everything pass would find no fault.
func TestDocsLinksAreChecked(t *testing.T) {
	t.Parallel()
	all := documents(t)
	guide, first, other := all["docs/guides/permissions.md"], all["docs/index.md"], all["README.md"]
	for target, want := range map[string]bool{
		"troubleshooting.md": true, "troubleshooting.md#gpu-and-size": true, "../resources/gpu_job.md#nestedatt--checkpoint": true, "#the-running-job": true,
		"troubleshooting": false, "troubleshooting.md#nowhere": false, "../../README.md": false, "../resources/none.md": false, "#nowhere": false, "/docs/index.md": false,
	} {
		if got := wrongLink(all, guide, target, false); (got == "") != want {
			t.Errorf("%s: %q", target, got)
		}
	}
	if wrongLink(all, first, "guides/permissions.md", false) == "" || wrongLink(all, guide, "../../images/overhead-over-interval.png", true) == "" ||
		wrongLink(all, other, "docs/guides/none.md", false) == "" || wrongLink(all, other, "docs/guides/permissions.md#whoever-applies", false) != "" {
		t.Error("a wrong link passes, or a right one does not")
	}
	for target, want := range map[string]bool{
		"https://registry.terraform.io" + registryPages + "/guides/permissions": true, "https://registry.terraform.io" + registryPages: true,
		"https://registry.terraform.io" + registryPages + "/guides/none": false, "https://example.com/x": false, "http://go.dev/": false,
		"https://github.com" + repository + "/blob/main/README.md": true, "https://github.com" + repository + "/blob/main/NONE.md": false,
		"https://github.com" + repository + "/releases": true, "https://raw.githubusercontent.com" + repository + "/main/images/none.png": false,
	} {
		if got := wrongAddress(all, target); (got == "") != want {
			t.Errorf("%s: %q", target, got)
		}
	}
}
