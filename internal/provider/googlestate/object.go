// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// findings collects the problems of a state.
type findings struct{ problems []Problem }

// object is one JSON object of a state. What is asked for is noted, so that the rest can be named.
type object struct {
	found  *findings
	path   string
	fields map[string]any
	asked  map[string]bool
}

// parse reads a state; that it is no JSON object is a problem.
func parse(raw []byte) (o *object, ok bool) {
	root := &object{found: &findings{}, asked: map[string]bool{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&root.fields); err != nil || root.fields == nil {
		root.problem("", "the state of the resource is no JSON object")
		return root, false
	}
	return root, true
}

func (o *object) child(path string, fields map[string]any) *object {
	return &object{found: o.found, path: path, fields: fields, asked: map[string]bool{}}
}

// at is the path of an attribute.
func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o *object) problem(attribute, format string, args ...any) {
	o.found.problems = append(o.found.problems, Problem{attribute, fmt.Sprintf(format, args...)})
}

func (o *object) wrong(name, want string) {
	o.problem(o.at(name), "is not %s in the state, as the schema of Google's provider has it", want)
}

func (o *object) take(name string) any {
	o.asked[name] = true
	return o.fields[name]
}

// has tells whether an attribute has a value, an empty one included.
func (o *object) has(name string) bool { return o.take(name) != nil }

// ignore notes attributes that say nothing about the real thing.
func (o *object) ignore(names ...string) {
	for _, n := range names {
		o.asked[n] = true
	}
}

// text returns a string, empty for null.
func (o *object) text(name string) string {
	switch v := o.take(name).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		o.wrong(name, "a string")
		return ""
	}
}

// flag returns a bool, nil for null.
func (o *object) flag(name string) *bool {
	switch v := o.take(name).(type) {
	case nil:
		return nil
	case bool:
		return &v
	case string: // the oldest states have every value as a string
		if b, err := strconv.ParseBool(v); err == nil {
			return &b
		}
	}
	o.wrong(name, "a bool")
	return nil
}

// is returns a bool, false for null.
func (o *object) is(name string) bool {
	b := o.flag(name)
	return b != nil && *b
}

// whole returns a whole number, nil for null.
func (o *object) whole(name string) *int64 {
	var text string
	switch v := o.take(name).(type) {
	case nil:
		return nil
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		o.wrong(name, "a whole number")
		return nil
	}
	return &n
}

// count returns a number of 32 bits, 0 for null.
func (o *object) count(name string) int32 {
	n := o.whole(name)
	if n == nil {
		return 0
	}
	if *n != int64(int32(*n)) {
		o.wrong(name, "a number of 32 bits")
		return 0
	}
	return int32(*n)
}

// texts returns a list or a set of strings; null elements are empty strings.
func (o *object) texts(name string) []string {
	list, ok := o.take(name).([]any)
	if !ok {
		if o.fields[name] != nil {
			o.wrong(name, "a list")
		}
		return nil
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok && e != nil {
			o.wrong(name, "a list of strings")
			return nil
		}
		out = append(out, s)
	}
	return out
}

// textMap returns a map of strings, nil for null; null elements are left out.
func (o *object) textMap(name string) map[string]string {
	fields, ok := o.take(name).(map[string]any)
	if !ok {
		if o.fields[name] != nil {
			o.wrong(name, "a map")
		}
		return nil
	}
	out := make(map[string]string, len(fields))
	for k, v := range fields {
		switch v := v.(type) {
		case nil:
		case string:
			out[k] = v
		default:
			o.wrong(name, "a map of strings")
			return nil
		}
	}
	return out
}

// each reads every block of a name. A block without any attribute is null in a state.
func (o *object) each(name string, read func(*object)) {
	o.blocks(name, func(i int) string { return o.at(name) + "[" + strconv.Itoa(i) + "]" }, read)
}

// one reads a block that is there once at most.
func (o *object) one(name string, read func(*object)) {
	if list, ok := o.take(name).([]any); ok && len(list) > 1 {
		o.problem(o.at(name), "is there %d times in the state", len(list))
		return
	}
	o.blocks(name, func(int) string { return o.at(name) }, read)
}

func (o *object) blocks(name string, path func(int) string, read func(*object)) {
	list, ok := o.take(name).([]any)
	if !ok {
		if o.fields[name] != nil {
			o.wrong(name, "a list of blocks")
		}
		return
	}
	for i, e := range list {
		fields, ok := e.(map[string]any)
		if !ok && e != nil {
			o.wrong(name, "a list of blocks")
			return
		}
		block := o.child(path(i), fields)
		read(block)
		block.rest()
	}
}

// rest makes a problem of each attribute that has a value and that nobody asked for.
func (o *object) rest() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if !o.asked[name] && !blank(o.fields[name]) {
			o.problem(o.at(name), "has a value, and this version of the provider does not know the attribute")
		}
	}
}

// blank tells whether a value says nothing.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		n, err := v.Float64()
		return err == nil && n == 0
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !blank(e) })
	case map[string]any:
		for _, e := range v {
			if !blank(e) {
				return false
			}
		}
		return true
	}
	return false
}
