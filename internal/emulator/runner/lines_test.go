// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		writes, want []string
	}{
		"nothing":             {nil, nil},
		"one line":            {[]string{"a\n"}, []string{"a"}},
		"several in one":      {[]string{"a\nb\n\nc\n"}, []string{"a", "b", "", "c"}},
		"one in several":      {[]string{"a", "b", "c\nd", "\n"}, []string{"abc", "d"}},
		"without end":         {[]string{"a\nb"}, []string{"a", "b"}},
		"only an empty line":  {[]string{"\n"}, []string{""}},
		"carriage returns":    {[]string{"a\r\nb\rc\r", "\n"}, []string{"a", "b\rc"}},
		"split character":     {[]string{"\xc3", "\xa9\n"}, []string{"é"}},
		"not UTF-8":           {[]string{"a\xff\xfeb\n\xc3"}, []string{"a\uFFFDb", "\uFFFD"}},
		"long":                {[]string{strings.Repeat("x", maxLine+1), "y\n"}, []string{strings.Repeat("x", maxLine), "xy"}},
		"just as long":        {[]string{strings.Repeat("x", maxLine) + "\n"}, []string{strings.Repeat("x", maxLine)}},
		"cut in a character":  {[]string{strings.Repeat("x", maxLine-1) + "éz\n"}, []string{strings.Repeat("x", maxLine-1), "éz"}},
		"very long, no end":   {[]string{strings.Repeat("x", 2*maxLine) + "z"}, []string{strings.Repeat("x", maxLine), strings.Repeat("x", maxLine), "z"}},
		"long, no characters": {[]string{strings.Repeat("\x80", maxLine+1)}, []string{"\uFFFD", "\uFFFD"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			l := newLines(func(stream, line string) {
				if stream != Stderr {
					t.Errorf("stream %q", stream)
				}
				if !utf8.ValidString(line) || len(line) > maxLine {
					t.Errorf("a bad line of %d bytes", len(line))
				}
				got = append(got, line)
			})
			for _, w := range tc.writes {
				if n, err := fmt.Fprint(&l.stderr, w); err != nil || n != len(w) {
					t.Errorf("Write = %d, %v", n, err)
				}
			}
			l.flush()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
