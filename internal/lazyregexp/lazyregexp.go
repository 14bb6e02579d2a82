// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package lazyregexp compiles a regular expression at its first use. Terraform starts a provider up to three times for one command, and
// compiling every pattern of the provider at its start took a third of that time.
//
// It is a leaf: it imports the standard library only. Its main rule: in a test binary a pattern is compiled at once, so that a wrong one
// fails every test of its package and is never met by a user.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that may not be compiled yet.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// inTest is how Go's own lazily compiled patterns tell a test binary.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New is the regular expression of a pattern, in the syntax of the package regexp. It panics at the first use when the pattern is wrong.
func New(pattern string) *Regexp {
	r := &Regexp{compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
	if inTest {
		r.compiled()
	}
	return r
}

// MatchString is as in the package regexp.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString is as in the package regexp.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringSubmatch is as in the package regexp.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllStringSubmatch is as in the package regexp.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// ReplaceAllString is as in the package regexp.
func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.compiled().ReplaceAllString(src, repl)
}

// ReplaceAllStringFunc is as in the package regexp.
func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(src, repl)
}
