// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const permissionsGuide = "../../templates/guides/permissions.md.tmpl"

// The guide has the permissions and roles that the tests of this table hold the
// provider to. With -update it is written anew; the page of docs/ follows by
// make generate.
func TestPermissionsGuide(t *testing.T) {
	t.Parallel()
	file := filepath.FromSlash(permissionsGuide)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- begin uses -->\n", "<!-- end uses -->\n"
	head, rest, found := strings.Cut(string(raw), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the uses", file)
	}
	want := head + begin + usesText() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(raw) != want {
		t.Errorf("%s does not have the permissions of the table: run this test with -update, and make generate", file)
	}
}

// usesText is the part of the guide that is made of the table.
func usesText() string {
	var b strings.Builder
	for _, u := range uses {
		title, level := u.heading()
		fmt.Fprintf(&b, "\n%s %s\n\n", level, title)
		var quoted []string
		for _, name := range u.names() {
			quoted = append(quoted, "`"+name+"`")
		}
		also := ""
		if len(u.also) > 0 {
			above, _ := useNamed(u.also[0]).heading()
			also = ", beside those under “" + above + "”"
		}
		fmt.Fprintf(&b, "Permissions%s: %s.\n", also, strings.Join(quoted, ", "))
		for _, r := range u.rights {
			if r.without != "" {
				fmt.Fprintf(&b, "Without `%s` the rest works: %s.\n", r.name, r.without)
			}
		}
		fmt.Fprintf(&b, "\n```shell\n%s\n```\n\nOr, with nothing else:\n\n```shell\ngcloud iam roles create %s --project=PROJECT --permissions=%s\n```\n",
			strings.Join(u.roles, "\n"), roleID(u.key), strings.Join(slices.Sorted(slices.Values(u.names())), ","))
	}
	return b.String() + "\n"
}

// roleID makes an id of a custom role: Google takes letters, digits, _ and dots.
func roleID(key string) string {
	return "resilientjob." + strings.NewReplacer(" ", "_").Replace(key)
}

// heading is the heading of a use, and its level: a feature of a resource stands
// below it.
func (u use) heading() (title, level string) {
	rest, below := strings.CutPrefix(u.title, "… ")
	if !below {
		return u.title, "###"
	}
	first := []rune(rest)
	return string(unicode.ToUpper(first[0])) + string(first[1:]), "####"
}
