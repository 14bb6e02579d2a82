// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"errors"
	"fmt"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

var (
	// projectShape covers ids, domain-scoped ids (example.com:web) and numbers.
	projectShape = lazyregexp.New(`^([a-z0-9][-a-z0-9.]*:)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	// segmentShape is what one part of an existing name may look like.
	segmentShape  = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	jobShape      = lazyregexp.New(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	locationShape = lazyregexp.New(`^[a-z]+(-?[a-z0-9]+)*$`)
	zoneShape     = lazyregexp.New(`^([a-z]+-[a-z]+\d+)-[a-z]$`)
)

const (
	// MaxJobName is the longest name that jobs are known to have in use.
	MaxJobName = 63
	// SafeJobName is the length up to which Google documents names of Cloud
	// Run's services; no page gives the number for jobs.
	SafeJobName = 49
)

// CheckJob holds the rules for the name of a new job. A name longer than
// [SafeJobName] passes. The error is for users.
func CheckJob(s string) error {
	var err error
	switch {
	case s == "":
		err = errors.New("it is empty; write one such as \"train\"")
	case strings.Contains(s, "/"):
		return fmt.Errorf("%q is not the name of a job: write the bare name, %q, and the rest in project and location", Shorten(s), s[strings.LastIndex(s, "/")+1:])
	case len(s) > MaxJobName:
		err = fmt.Errorf("it has %d characters, and %d is the most; write a shorter one", len(s), MaxJobName)
	case !jobShape.MatchString(s) && jobShape.MatchString(spelt(s)):
		return fmt.Errorf("%q cannot be the name of a job: write %q (lower-case letters, digits and \"-\" alone)", Shorten(s), spelt(s))
	case !jobShape.MatchString(s):
		err = errors.New("use lower-case letters, digits and \"-\", with a letter first and no \"-\" last")
	default:
		return nil
	}
	return fmt.Errorf("%q cannot be the name of a job: %w", Shorten(s), err)
}

// spelt is what the writer of a name probably meant: in lower case, with hyphens.
func spelt(s string) string {
	return strings.NewReplacer("_", "-", " ", "-", ".", "-").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// CheckProject says whether s can be the id or the number of a project. The
// error is for users.
func CheckProject(s string) error {
	if projectShape.MatchString(s) && len(s) <= 63 {
		return nil
	}
	if rest, ok := strings.CutPrefix(s, "projects/"); ok && projectShape.MatchString(rest) {
		return fmt.Errorf("%q is a full name: write the id alone, %q", Shorten(s), rest)
	}
	return fmt.Errorf("%q is not a project: write its id, such as \"my-project\" (lower-case letters, digits and \"-\"), not its display name", Shorten(s))
}

// CheckLocation says whether s can be a location: a region such as
// "us-central1", or what Cloud Storage knows beside regions, such as "us" or
// "nam4". It does not know which ones exist. The case means nothing. The error
// is for users.
func CheckLocation(s string) error {
	c := strings.ToLower(s)
	if m := zoneShape.FindStringSubmatch(c); m != nil {
		return fmt.Errorf("%q is a zone: write its region, %q", s, m[1])
	}
	if len(c) > 63 || !locationShape.MatchString(c) {
		return fmt.Errorf("%q is not a location: write a region, such as \"us-central1\"", Shorten(s))
	}
	return nil
}

// Shorten cuts a text that a message quotes to a length that can be read.
func Shorten(s string) string {
	const most = 80
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
