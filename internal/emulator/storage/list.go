// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// listing is one page of a list of objects.
type listing struct {
	b *bucket
	c *call

	prefix, delimiter, end string
	trailing, folders      bool
	versions, deleted      bool
	glob                   *regexp.Regexp

	size     int
	items    []any
	prefixes []any
	last     cursor
	full     bool
}

// cursor is where a page ended: behind a name, or one generation of it.
type cursor struct {
	name       string
	generation int64
	// item: the page ended with the object of a name that is a prefix as well,
	// before the prefix.
	item bool
}

func (c cursor) token() string {
	raw := protowire.AppendTag(nil, 1, protowire.BytesType)
	raw = protowire.AppendString(raw, c.name)
	if c.generation != 0 {
		raw = protowire.AppendTag(raw, 2, protowire.VarintType)
		raw = protowire.AppendVarint(raw, uint64(c.generation))
	}
	if c.item {
		raw = protowire.AppendTag(raw, 3, protowire.VarintType)
		raw = protowire.AppendVarint(raw, 1)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func parseCursor(token string) (cursor, error) {
	var c cursor
	bad := failure(400, "invalidParameter", "Invalid value for pageToken: %s", token)
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return c, bad
	}
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return c, bad
		}
		raw = raw[n:]
		switch {
		case number == 1 && kind == protowire.BytesType:
			c.name, n = protowire.ConsumeString(raw)
		case number == 2 && kind == protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(raw)
			c.generation = int64(v)
		case number == 3 && kind == protowire.VarintType:
			_, n = protowire.ConsumeVarint(raw)
			c.item = true
		default:
			return c, bad
		}
		if n < 0 {
			return c, bad
		}
		raw = raw[n:]
	}
	return c, nil
}

// syncStep is how many names a list brings up to date at a time.
const syncStep = 2000

func (c *call) listObjects() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	l, from, err := c.newListing(b)
	if err != nil {
		return err
	}
	if err := l.fill(from); err != nil {
		return err
	}
	answer := map[string]any{"kind": "storage#objects"}
	if l.items != nil {
		answer["items"] = l.items
	}
	if l.prefixes != nil {
		answer["prefixes"] = l.prefixes
	}
	if l.full {
		answer["nextPageToken"] = l.last.token()
	}
	return c.json(answer)
}

func (c *call) newListing(b *bucket) (*listing, string, error) {
	l := &listing{
		b: b, c: c, prefix: c.q.Get("prefix"), delimiter: c.q.Get("delimiter"), end: c.q.Get("endOffset"),
		trailing: c.flag("includeTrailingDelimiter"), folders: c.flag("includeFoldersAsPrefixes"),
		versions: c.flag("versions"), deleted: c.flag("softDeleted"),
	}
	var err error
	if l.size, err = c.pageSize("maxResults"); err != nil {
		return nil, "", err
	}
	if glob := c.q.Get("matchGlob"); glob != "" {
		if l.glob, err = compileGlob(glob); err != nil {
			return nil, "", err
		}
	}
	if l.folders && l.delimiter != "/" {
		return nil, "", invalid("includeFoldersAsPrefixes can only be set with delimiter '/'.")
	}
	if l.folders && !b.hierarchical() {
		l.folders = false
	}
	if l.deleted {
		if l.versions {
			return nil, "", invalid("versions and softDeleted cannot both be set.")
		}
		if b.softDelete() == 0 {
			return nil, "", invalid("Soft delete policy is required.")
		}
		if err := b.expire(); err != nil {
			return nil, "", err
		}
	}
	if l.last, err = parseCursor(c.q.Get("pageToken")); err != nil {
		return nil, "", err
	}
	from := max(l.prefix, c.q.Get("startOffset"))
	switch {
	case l.last.name == "":
	case l.last.generation != 0, l.last.item:
		from = max(from, l.last.name)
	case l.delimiter != "" && strings.HasSuffix(l.last.name, l.delimiter) && len(l.last.name) > len(l.prefix):
		from = max(from, after(l.last.name)) // a prefix that was listed: behind all that it stands for
	default:
		from = max(from, l.last.name+"\x00")
	}
	return l, from, nil
}

// fill lists from a name on until the page is full or nothing is left.
func (l *listing) fill(from string) error {
	for {
		upTo, more, err := l.b.sync(from, l.prefix, syncStep)
		if err != nil {
			return internal(err)
		}
		if from = l.within(from, upTo, more); l.full || from == "" {
			return nil
		}
	}
}

// within lists the names that are up to date. It returns the name to go on
// from, empty at the end.
func (l *listing) within(from, upTo string, more bool) string {
	for {
		name := l.nextName(from)
		if name == "" || l.end != "" && name >= l.end || !strings.HasPrefix(name, l.prefix) {
			if !more || l.end != "" && upTo >= l.end {
				return ""
			}
			return upTo
		}
		if more && name >= upTo {
			return upTo
		}
		collapsed, isPrefix := l.collapse(name)
		if isPrefix && !l.counts(name) {
			from = name + "\x00"
			continue
		}
		if isPrefix {
			if !l.listPrefix(name, collapsed) {
				return ""
			}
			if from = after(collapsed); more && from >= upTo {
				return from
			}
			continue
		}
		if !l.list(name) {
			return ""
		}
		from = name + "\x00"
	}
}

// listPrefix adds the prefix that stands for a name, with the object of that
// very name before it when those are asked for.
func (l *listing) listPrefix(name, collapsed string) bool {
	if l.trailing && name == collapsed && (!l.last.item || l.last.name != name) {
		if !l.list(name) {
			return false
		}
		l.last.item = l.last.name == name
	}
	if l.glob != nil && !l.glob.MatchString(collapsed) {
		return true
	}
	if !l.room() {
		return false
	}
	l.prefixes = append(l.prefixes, collapsed)
	l.last = cursor{name: collapsed}
	return true
}

// nextName returns the first name from a name on that an object has or, when
// they are asked for, a folder.
func (l *listing) nextName(from string) string {
	name := ""
	if i := l.b.objects.at(from); i < len(l.b.objects.names) {
		name = l.b.objects.names[i]
	}
	if l.folders {
		if folder := l.b.folderFrom(from); folder != "" && (name == "" || folder < name) {
			name = folder
		}
	}
	return name
}

// counts reports whether a name has a generation of the kind that is listed.
func (l *listing) counts(name string) bool {
	if l.folders && l.b.folders[name] != nil {
		return true
	}
	v := l.b.objects.byName[name]
	if v == nil {
		return false
	}
	switch {
	case l.deleted:
		return len(v.deleted) > 0
	case l.versions:
		return v.live != nil || len(v.noncurrent) > 0
	}
	return v.live != nil
}

// collapse returns the prefix that stands for a name in a list with delimiter.
func (l *listing) collapse(name string) (string, bool) {
	if l.delimiter == "" {
		return "", false
	}
	at := strings.Index(name[len(l.prefix):], l.delimiter)
	if at < 0 {
		return "", false
	}
	return name[:len(l.prefix)+at+len(l.delimiter)], true
}

func (l *listing) room() bool {
	if len(l.items)+len(l.prefixes) < l.size {
		return true
	}
	l.full = true
	return false
}

// list adds the generations of a name, and reports whether all had room.
func (l *listing) list(name string) bool {
	v := l.b.objects.byName[name]
	if v == nil || l.glob != nil && !l.glob.MatchString(name) {
		return true
	}
	var records []*objectRecord
	switch {
	case l.deleted:
		records = v.deleted
	case l.versions:
		records = slices.Clone(v.noncurrent)
		if v.live != nil {
			records = append(records, v.live)
		}
	case v.live != nil:
		records = []*objectRecord{v.live}
	}
	for _, r := range records {
		if name == l.last.name && r.Generation <= l.last.generation {
			continue // on the page before
		}
		if !l.room() {
			return false
		}
		l.items = append(l.items, l.b.renderObject(l.c, r))
		l.last = cursor{name: name}
		if l.versions || l.deleted {
			l.last.generation = r.Generation
		}
	}
	return true
}

// compileGlob makes a pattern of a glob: * and ? stop at slashes, ** does not.
func compileGlob(glob string) (*regexp.Regexp, error) {
	var out strings.Builder
	out.WriteString(`\A`)
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch ch := glob[i]; ch {
		case '*':
			if strings.HasPrefix(glob[i:], "**/") && (i == 0 || glob[i-1] == '/') {
				out.WriteString(`(?s:.*/)?`)
				i += 2
			} else if strings.HasPrefix(glob[i:], "**") {
				out.WriteString(`(?s:.*)`)
				i++
			} else {
				out.WriteString(`[^/]*`)
			}
		case '?':
			out.WriteString(`[^/]`)
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end < 1 {
				return nil, invalid("Invalid glob: %s", glob)
			}
			set := glob[i+1 : i+1+end]
			out.WriteByte('[')
			if set[0] == '!' || set[0] == '^' {
				out.WriteByte('^')
				set = set[1:]
			}
			out.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`).Replace(set) + "]")
			i += end + 1
		case '{':
			depth++
			out.WriteString("(?:")
		case '}':
			if depth == 0 {
				return nil, invalid("Invalid glob: %s", glob)
			}
			depth--
			out.WriteByte(')')
		case ',':
			if depth > 0 {
				out.WriteByte('|')
			} else {
				out.WriteByte(',')
			}
		default:
			out.WriteString(regexp.QuoteMeta(glob[i : i+1])) // a byte of a longer character stays as it is
		}
	}
	out.WriteString(`\z`)
	re, err := regexp.Compile(out.String())
	if err != nil || depth != 0 {
		return nil, invalid("Invalid glob: %s", glob)
	}
	return re, nil
}
