// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The project's Markdown, as the tests of the documentation read it.

const projectRoot = "../.."

// document is a Markdown file: its text without code, and its code.
type document struct {
	name   string // from the project's root, with slashes
	front  map[string]string
	prose  []string // line by line; what stands in code is empty there
	spans  []string // what stands between backticks
	blocks []codeBlock
}

// codeBlock is a fenced block. Its number counts those of its language in the file.
type codeBlock struct {
	file           string
	number, line   int
	language, text string
}

func (b codeBlock) String() string {
	if b.language == "terraform" || b.language == "hcl" {
		return fmt.Sprintf("%s#%d", b.file, b.number)
	}
	return fmt.Sprintf("%s#%s-%d", b.file, b.language, b.number)
}

// notOurs are folders that hold no file of the project's own.
var notOurs = []string{".git", "bin", "dist", "node_modules", ".quickstart", ".terraform", "__pycache__"}

// projectFiles are the files of the project whose names end so.
func projectFiles(t testing.TB, ends ...string) []string {
	t.Helper()
	var names []string
	if err := filepath.WalkDir(projectRoot, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notOurs, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(p, end) }):
			return nil
		}
		name, err := filepath.Rel(projectRoot, p)
		names = append(names, filepath.ToSlash(name))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func projectFile(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(projectRoot, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(projectRoot, filepath.FromSlash(name)))
	return err == nil
}

// documents are the Markdown files of the project, by name.
func documents(t testing.TB) map[string]*document {
	t.Helper()
	all := map[string]*document{}
	for _, name := range projectFiles(t, ".md") {
		d, err := readDocument(name, projectFile(t, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = d
	}
	if len(all) < 20 {
		t.Fatalf("only %d Markdown files", len(all))
	}
	return all
}

var (
	fence    = regexp.MustCompile("^( *)(```+|~~~+)\\s*([A-Za-z0-9_-]*)\\s*$")
	codeSpan = regexp.MustCompile("(`+)([^`]+)(`+)")
)

func readDocument(name, text string) (*document, error) {
	d := &document{name: name, front: map[string]string{}}
	var open *codeBlock
	var mark, indent string
	count := map[string]int{}
	lines := strings.Split(text, "\n")
	start := 0
	if lines[0] == "---" {
		end := slices.Index(lines[1:], "---")
		if end < 0 {
			return nil, fmt.Errorf("%s: the front matter does not end", name)
		}
		for i, line := range lines[1 : end+1] {
			if key, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#") {
				if value = strings.TrimSpace(value); value == "|-" {
					value = strings.TrimSpace(strings.Join(lines[i+2:end+1], "\n"))
				}
				d.front[key] = strings.Trim(value, `"`)
			}
		}
		start = end + 2
		d.prose = make([]string, start)
	}
	for i, line := range lines[start:] {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			kind := strings.Replace(m[3], "hcl", "terraform", 1) // counted together
			count[kind]++
			indent, mark, open = m[1], m[2], &codeBlock{file: name, number: count[kind], line: start + i + 1, language: m[3]}
		case open != nil && m != nil && m[3] == "" && strings.HasPrefix(m[2], mark):
			d.blocks, open = append(d.blocks, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		default:
			for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
				if span[1] == span[3] {
					d.spans = append(d.spans, strings.TrimSpace(span[2]))
				}
			}
			d.prose = append(d.prose, line)
			continue
		}
		d.prose = append(d.prose, "")
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block does not end", name, open.line)
	}
	return d, nil
}

var (
	heading    = regexp.MustCompile(`^(#{1,6}) (.+?)#*$`)
	namedPlace = regexp.MustCompile(`<a id="([^"]+)">`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	noSlug     = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_\- ]`)
)

// anchors are the places of a document that a link can lead to: its headings, by
// the rule of GitHub, which the registries have too, and those with a name.
func (d *document) anchors() map[string]bool {
	all := map[string]bool{}
	for _, line := range d.prose {
		for _, m := range namedPlace.FindAllStringSubmatch(line, -1) {
			all[m[1]] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(linkText.ReplaceAllString(m[2], "$1"))), ""), " ", "-")
		unique := slug
		for i := 1; all[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", slug, i)
		}
		all[unique] = true
	}
	return all
}

// page reports whether a document is a page of a registry.
func (d *document) page() bool { return strings.HasPrefix(d.name, "docs/") }

// A reader of Markdown that reads nothing would find every page in order.
func TestReadDocument(t *testing.T) {
	t.Parallel()
	d, err := readDocument("x.md", "---\npage_title: \"A page\"\ndescription: |-\n  It is\n  long.\n---\n\n# A `b` & [c](d.md)\n\n# A `b` & [c](d.md)\n\n<a id=\"here\"></a>see `--flag`\n\n```terraform\n# no heading\n```\n\n- in a list\n  ```sh\n  one\n    two\n  ```\n")
	if err != nil {
		t.Fatal(err)
	}
	if d.front["page_title"] != "A page" || d.front["description"] != "It is\n  long." {
		t.Errorf("front matter %q", d.front)
	}
	for _, want := range []string{"a-b--c", "a-b--c-1", "here"} {
		if !d.anchors()[want] {
			t.Errorf("no anchor %s in %v", want, d.anchors())
		}
	}
	if len(d.anchors()) != 3 || len(d.blocks) != 2 || d.blocks[0].line != 14 || d.blocks[1].text != "one\n  two\n" || d.blocks[1].language != "sh" {
		t.Errorf("anchors %v, blocks %+v", d.anchors(), d.blocks)
	}
	if !slices.Contains(d.spans, "--flag") {
		t.Errorf("spans %q", d.spans)
	}
	if _, err := readDocument("x.md", "```sh\n"); err == nil {
		t.Error("a block without an end is no error")
	}
}

// A registry shows what is in front of a page in its menu and its search, takes
// no page above 500 KB, and no version with more than 1000 pages.
func TestDocsPages(t *testing.T) {
	t.Parallel()
	titles := map[string]string{}
	pages := 0
	for name, d := range documents(t) {
		if !d.page() {
			continue
		}
		pages++
		if size := len(projectFile(t, name)); size > 450_000 {
			t.Errorf("%s has %d bytes, near the 500,000 at which a registry cuts it off", name, size)
		}
		title, first := d.front["page_title"], ""
		for _, line := range d.prose {
			if m := heading.FindStringSubmatch(line); m != nil {
				first = m[2]
				break
			}
		}
		if d.front["description"] == "" {
			t.Errorf("%s has no description", name)
		}
		if other := titles[title]; other != "" || title == "" {
			t.Errorf("%s has the title %q, as %s has", name, title, other)
		}
		titles[title] = name
		stem := strings.TrimSuffix(path.Base(name), ".md")
		want := map[string]string{
			"docs/guides": first, "docs": "resilientjob Provider", "docs/functions": stem + " function - resilientjob",
			"docs/resources": "resilientjob_" + stem + " Resource - resilientjob", "docs/data-sources": "resilientjob_" + stem + " Data Source - resilientjob",
		}[path.Dir(name)]
		if title != want {
			t.Errorf("%s has the title %q; pages of its kind have %q", name, title, want)
		}
		if _, ok := d.front["subcategory"]; !ok && path.Dir(name) != "docs" {
			t.Errorf("%s: no subcategory, not even an empty one", name)
		}
		if path.Dir(name) == "docs/guides" && stem != slugOf(title) {
			t.Errorf("%s: a guide's file is named by its title, %s", name, slugOf(title))
		}
	}
	if pages < 20 || pages > 900 {
		t.Errorf("%d pages", pages)
	}
	for _, name := range projectFiles(t, "") {
		if strings.HasPrefix(name, "docs/") && !strings.HasSuffix(name, ".md") {
			t.Errorf("%s is no page", name)
		}
	}
}

func slugOf(title string) string {
	return strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}
