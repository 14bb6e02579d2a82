// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import "strings"

// mask is a parsed `fields` parameter: items(name,generation),nextPageToken. An
// empty mask keeps everything.
type mask map[string]mask

func parseFields(text string) (mask, error) {
	p := fieldsParser{rest: text}
	m, err := p.list()
	if err == nil && p.rest != "" {
		err = p.bad()
	}
	return m, err
}

type fieldsParser struct {
	rest  string
	depth int
}

func (p *fieldsParser) bad() error {
	return failure(400, "invalidParameter", "Invalid field selection %s", p.rest)
}

func (p *fieldsParser) list() (mask, error) {
	if p.depth++; p.depth > 20 {
		return nil, p.bad()
	}
	defer func() { p.depth-- }()
	m := mask{}
	for {
		end := strings.IndexAny(p.rest, ",()")
		if end < 0 {
			end = len(p.rest)
		}
		path := strings.Split(strings.TrimSpace(p.rest[:end]), "/")
		p.rest = p.rest[end:]
		var inner mask
		if strings.HasPrefix(p.rest, "(") {
			p.rest = p.rest[1:]
			var err error
			if inner, err = p.list(); err != nil {
				return nil, err
			}
			if !strings.HasPrefix(p.rest, ")") {
				return nil, p.bad()
			}
			p.rest = p.rest[1:]
		}
		at := m
		for i, name := range path {
			if name == "" {
				return nil, p.bad()
			}
			next, ok := at[name]
			if !ok || next == nil {
				next = mask{}
				at[name] = next
			}
			if i == len(path)-1 {
				for k, v := range inner {
					next[k] = v
				}
			}
			at = next
		}
		if !strings.HasPrefix(p.rest, ",") {
			return m, nil
		}
		p.rest = p.rest[1:]
	}
}

func (m mask) apply(v map[string]any) map[string]any {
	if len(m) == 0 {
		return v
	}
	out := map[string]any{}
	for k, member := range v {
		inner, ok := m[k]
		if !ok {
			if inner, ok = m["*"]; !ok {
				continue
			}
		}
		out[k] = inner.applyTo(member)
	}
	return out
}

func (m mask) applyTo(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return m.apply(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.applyTo(v[i])
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.apply(v[i])
		}
		return out
	}
	return v
}
