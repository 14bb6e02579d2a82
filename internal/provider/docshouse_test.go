// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	saysWhat    = regexp.MustCompile(`^(Package|Command) \S+ `)
	saysImports = regexp.MustCompile(`\bimports?\b|\bimported\b`)
	saysRule    = regexp.MustCompile(`(?i)\brules?\b`)
)

// Every package says what it is for, what it may import, and its main rule.
func TestPackagesAreDescribed(t *testing.T) {
	t.Parallel()
	comments := map[string][]string{}
	for _, name := range projectFiles(t, ".go") {
		folder := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains(folder, "testdata") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(projectRoot, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		comments[folder] = append(comments[folder], "")
		if file.Doc != nil {
			comments[folder] = append(comments[folder], file.Doc.Text())
		}
	}
	for folder, all := range comments {
		all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
		if len(all) != 1 {
			t.Errorf("%s has %d package comments", folder, len(all))
			continue
		}
		for what, pattern := range map[string]*regexp.Regexp{"what it is (Package or Command NAME ...)": saysWhat, "what it may import": saysImports, "its main rule": saysRule} {
			if !pattern.MatchString(all[0]) {
				t.Errorf("the comment of %s does not say %s", folder, what)
			}
		}
	}
	if len(comments) < 40 {
		t.Errorf("only %d packages", len(comments))
	}
}

// Programs and scripts that are not in Go, which the linter looks at, begin with
// the licence. What a page shows whole, such as the commands of an import, has none.
func TestScriptsHaveTheLicence(t *testing.T) {
	t.Parallel()
	scripts := projectFiles(t, ".py", ".sh", ".js", ".mjs", ".ci/run")
	for _, name := range scripts {
		if path.Base(name) == "import.sh" {
			continue
		}
		head := strings.Join(strings.SplitN(projectFile(t, name), "\n", 5)[:4], "\n")
		if !strings.Contains(head, "Copyright (c) The resilientjob authors") || !strings.Contains(head, "SPDX-License-Identifier: MPL-2.0") {
			t.Errorf("%s does not begin with the licence", name)
		}
	}
	if len(scripts) < 8 {
		t.Errorf("only %d scripts", len(scripts))
	}
}
