// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package lazyregexp

import (
	"fmt"
	"strings"
	"testing"
)

func TestWrongPatternFailsItsTestsAtOnce(t *testing.T) {
	t.Parallel()
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "missing closing )") {
			t.Errorf("New(\"(\") said %q", text)
		}
	}()
	New("(")
}

func TestRegexp(t *testing.T) {
	t.Parallel()
	r := New(`(\d+)([a-z])`)
	if !r.MatchString("12h") || r.MatchString("h") {
		t.Error("MatchString")
	}
	if got := r.FindString("at 12h or 3m"); got != "12h" {
		t.Errorf("FindString: %q", got)
	}
	if got := r.FindStringSubmatch("at 12h"); len(got) != 3 || got[1] != "12" || got[2] != "h" {
		t.Errorf("FindStringSubmatch: %q", got)
	}
	if got := r.FindAllStringSubmatch("12h 3m", -1); len(got) != 2 || got[1][0] != "3m" {
		t.Errorf("FindAllStringSubmatch: %q", got)
	}
	if got := r.ReplaceAllString("12h 3m", "$2"); got != "h m" {
		t.Errorf("ReplaceAllString: %q", got)
	}
	if got := r.ReplaceAllStringFunc("12h 3m", strings.ToUpper); got != "12H 3M" {
		t.Errorf("ReplaceAllStringFunc: %q", got)
	}
}
