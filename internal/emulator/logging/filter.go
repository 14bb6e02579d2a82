// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// predicate is a parsed filter: does it hold for the entry, given as JSON values.
type predicate func(entry map[string]any) bool

// parser reads the Logging query language. As there, OR binds tighter than AND,
// AND may be left out, operators are upper case, and "--" begins a comment.
type parser struct {
	in string
	at int
}

// parseFilter returns what the filter says; an empty one holds for all. The
// error says at which character it stopped.
func parseFilter(filter string) (predicate, error) {
	p := &parser{in: filter}
	p.space()
	if p.end() {
		return func(map[string]any) bool { return true }, nil
	}
	f, err := p.all()
	if err != nil {
		return nil, err
	}
	if !p.end() {
		return nil, p.fail("unexpected text")
	}
	return f, nil
}

func (p *parser) end() bool { return p.at >= len(p.in) }

func (p *parser) rest() string { return p.in[p.at:] }

func (p *parser) fail(what string) error {
	near := p.rest()
	if len(near) > 20 {
		near = near[:20]
	}
	return fmt.Errorf("%s at character %d, near %q", what, p.at+1, near)
}

// space skips white space and comments.
func (p *parser) space() {
	for !p.end() {
		r, n := utf8.DecodeRuneInString(p.rest())
		switch {
		case unicode.IsSpace(r):
			p.at += n
		case strings.HasPrefix(p.rest(), "--"):
			line, _, _ := strings.Cut(p.rest(), "\n")
			p.at += len(line)
		default:
			return
		}
	}
}

// take skips the token when it is next.
func (p *parser) take(token string) bool {
	if !strings.HasPrefix(p.rest(), token) {
		return false
	}
	p.at += len(token)
	p.space()
	return true
}

// word skips the keyword when it is next and stands alone.
func (p *parser) word(keyword string) bool {
	after, ok := strings.CutPrefix(p.rest(), keyword)
	if !ok {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(after); after != "" && bare(r) {
		return false
	}
	return p.take(keyword)
}

func (p *parser) all() (predicate, error) {
	f, err := p.any()
	for err == nil && !p.end() && !strings.HasPrefix(p.rest(), ")") {
		p.word("AND")
		var g predicate
		if g, err = p.any(); err == nil {
			left := f
			f = func(e map[string]any) bool { return left(e) && g(e) }
		}
	}
	return f, err
}

func (p *parser) any() (predicate, error) {
	f, err := p.not()
	for err == nil && p.word("OR") {
		var g predicate
		if g, err = p.not(); err == nil {
			left := f
			f = func(e map[string]any) bool { return left(e) || g(e) }
		}
	}
	return f, err
}

func (p *parser) not() (predicate, error) {
	if p.word("NOT") || p.take("-") {
		f, err := p.not()
		if err != nil {
			return nil, err
		}
		return func(e map[string]any) bool { return !f(e) }, nil
	}
	if p.take("(") {
		f, err := p.all()
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.fail("missing )")
		}
		return f, nil
	}
	return p.term()
}

// term is a comparison, a function, or text that is searched everywhere.
func (p *parser) term() (predicate, error) {
	start := p.at
	quoted := strings.HasPrefix(p.rest(), `"`)
	first, err := p.name()
	if err != nil {
		return nil, err
	}
	if !quoted && (first == "AND" || first == "OR" || first == "NOT") {
		p.at = start
		return nil, p.fail("an operator without what it joins")
	}
	if !quoted && strings.HasPrefix(p.rest(), "(") {
		return p.function(first)
	}
	path := []string{first}
	for p.take(".") {
		next, err := p.name()
		if err != nil {
			return nil, err
		}
		path = append(path, next)
	}
	p.space()
	for _, op := range []string{"!=", "!~", ">=", "<=", "=~", "=", ">", "<", ":"} {
		if !p.take(op) {
			continue
		}
		if len(path) == 0 || quoted && len(path) == 1 {
			return nil, p.fail("a comparison begins with a field name, not with a quoted text")
		}
		if err := checkField(path); err != nil {
			return nil, err
		}
		return p.values(path, op)
	}
	if len(path) > 1 { // an unquoted text with dots in it
		path = []string{strings.TrimSpace(p.in[start:p.at])}
	}
	text := strings.ToLower(path[0])
	return func(e map[string]any) bool { return contains(e, text) }, nil
}

// values is one value, or several in parentheses.
func (p *parser) values(path []string, op string) (predicate, error) {
	if !p.take("(") {
		value, quoted, err := p.value()
		if err != nil {
			return nil, err
		}
		return compare(path, op, value, quoted)
	}
	f, err := p.joined(path, op)
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail("missing )")
	}
	return f, nil
}

// joined is what stands in field=( … ): values joined by operators.
func (p *parser) joined(path []string, op string) (predicate, error) {
	one := func() (predicate, error) {
		negate := p.word("NOT") || p.take("-")
		f, err := p.values(path, op)
		if err != nil || !negate {
			return f, err
		}
		return func(e map[string]any) bool { return !f(e) }, nil
	}
	either := func() (predicate, error) {
		f, err := one()
		for err == nil && p.word("OR") {
			var g predicate
			if g, err = one(); err == nil {
				left := f
				f = func(e map[string]any) bool { return left(e) || g(e) }
			}
		}
		return f, err
	}
	f, err := either()
	for err == nil && !p.end() && !strings.HasPrefix(p.rest(), ")") {
		p.word("AND")
		var g predicate
		if g, err = either(); err == nil {
			left := f
			f = func(e map[string]any) bool { return left(e) && g(e) }
		}
	}
	return f, err
}

// function knows log_id, whose name may be written in capitals as well; the
// others of the language are refused.
func (p *parser) function(name string) (predicate, error) {
	if !strings.EqualFold(name, "log_id") {
		return nil, fmt.Errorf("the emulator does not know the function %s()", name)
	}
	p.take("(")
	value, _, err := p.value()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail("missing )")
	}
	return func(e map[string]any) bool {
		log, _ := e["logName"].(string)
		_, id, _ := strings.Cut(log, "/logs/")
		return strings.EqualFold(strings.ReplaceAll(id, "%2F", "/"), value)
	}, nil
}

// name is a segment of a field's path, bare or quoted.
func (p *parser) name() (string, error) {
	if strings.HasPrefix(p.rest(), `"`) {
		return p.quoted()
	}
	start := p.at
	for !p.end() {
		r, n := utf8.DecodeRuneInString(p.rest())
		if !bare(r) {
			break
		}
		p.at += n
	}
	if p.at == start {
		return "", p.fail("a field name or a text is missing")
	}
	name := p.in[start:p.at]
	return name, nil
}

// value is what a field is compared with.
func (p *parser) value() (text string, quoted bool, err error) {
	if strings.HasPrefix(p.rest(), `"`) {
		text, err = p.quoted()
		p.space()
		return text, true, err
	}
	start := p.at
	for !p.end() {
		r, n := utf8.DecodeRuneInString(p.rest())
		if !bare(r) && !strings.ContainsRune(".:+/*@%$,;[]{}?^\\|&", r) {
			break
		}
		p.at += n
	}
	if p.at == start {
		return "", false, p.fail("a value is missing")
	}
	text = p.in[start:p.at]
	p.space()
	return text, false, nil
}

// bare reports whether the rune may stand in unquoted text.
func bare(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}

func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '"':
			p.at = i + 1
			return b.String(), nil
		case c == '\\' && i+1 < len(p.in):
			i++
			switch p.in[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '"', '\\', '\'', '?':
				b.WriteByte(p.in[i])
			default: // such as \d of a regular expression
				b.WriteByte('\\')
				b.WriteByte(p.in[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail("a quote is not closed")
}
