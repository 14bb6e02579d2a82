// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// decodeBody reads a JSON object and holds it to the published type of which
// shape is a value, such as storage.Bucket: unknown fields and values of
// another type are refused. Nulls stay, for merging. Numbers of 64 bits come
// out as strings, as Cloud Storage answers them, whichever form came in.
func decodeBody(raw []byte, shape any) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, failure(400, "parseError", "Parse Error")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, failure(400, "parseError", "Parse Error")
	}
	if v == nil { // how one client sends a body that it has not
		return map[string]any{}, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, failure(400, "parseError", "Parse Error")
	}
	checked, err := checkValue(m, field{typ: reflect.TypeOf(shape)}, "")
	if err != nil {
		return nil, err
	}
	return asMap(checked), nil
}

// field is a member of a published type.
type field struct {
	typ    reflect.Type
	quoted bool // a number that travels as a string
}

var shapes sync.Map // reflect.Type → map[string]field

func fieldsOf(t reflect.Type) map[string]field {
	if known, ok := shapes.Load(t); ok {
		if m, ok := known.(map[string]field); ok {
			return m
		}
	}
	m := map[string]field{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		m[name] = field{t.Field(i).Type, strings.Contains(options, "string")}
	}
	shapes.Store(t, m)
	return m
}

func checkValue(v any, f field, path string) (any, error) {
	if v == nil {
		return nil, nil
	}
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		m, ok := v.(map[string]any)
		if !ok {
			return nil, wrongType(path, "an object")
		}
		known := fieldsOf(t)
		out := make(map[string]any, len(m))
		for k, member := range m {
			want, ok := known[k]
			if !ok {
				if path == "" {
					return nil, invalid("Invalid JSON payload received. Unknown name %q: Cannot find field.", k)
				}
				return nil, invalid("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", k, path)
			}
			checked, err := checkValue(member, want, join(path, k))
			if err != nil {
				return nil, err
			}
			out[k] = checked
		}
		return out, nil
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			return nil, wrongType(path, "an object")
		}
		out := make(map[string]any, len(m))
		for k, member := range m {
			checked, err := checkValue(member, field{typ: t.Elem()}, join(path, k))
			if err != nil {
				return nil, err
			}
			out[k] = checked
		}
		return out, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // raw JSON
			return v, nil
		}
		list, ok := v.([]any)
		if !ok {
			return nil, wrongType(path, "a list")
		}
		out := make([]any, len(list))
		for i, member := range list {
			checked, err := checkValue(member, field{typ: t.Elem()}, path+"["+strconv.Itoa(i)+"]")
			if err != nil {
				return nil, err
			}
			out[i] = checked
		}
		return out, nil
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, wrongType(path, "a boolean")
	case reflect.String:
		if s, ok := v.(string); ok {
			return s, nil
		}
		return nil, wrongType(path, "a string")
	case reflect.Int64, reflect.Uint64, reflect.Int32, reflect.Int:
		n, ok := integer(v)
		if !ok {
			return nil, wrongType(path, "an integer")
		}
		if f.quoted {
			return n, nil
		}
		return json.Number(n), nil
	case reflect.Float64:
		if n, ok := v.(json.Number); ok {
			return n, nil
		}
		return nil, wrongType(path, "a number")
	}
	return v, nil
}

// integer takes a number or a string of one, as Google's JSON does.
func integer(v any) (string, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return "", false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return strconv.FormatUint(n, 10), true
	}
	return "", false
}

func wrongType(path, want string) *apiError {
	return invalid("Invalid value at '%s': want %s.", path, want)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// asMap and its like read decoded JSON; a missing or other value is the zero.
func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asString(v any) string {
	s, _ := v.(string)
	return s
}

func asBool(v any) bool {
	b, _ := v.(bool)
	return b
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// asInt reads a number or a string of one.
func asInt(v any) int64 {
	text, ok := integer(v)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// clone copies decoded JSON.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}

func cloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = clone(v)
	}
	return out
}

// merge is the PATCH rule: objects merge member by member, null removes,
// everything else replaces.
func merge(into, change map[string]any) {
	for k, v := range change {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case map[string]any:
			was := asMap(into[k])
			if was == nil {
				was = map[string]any{}
			}
			merge(was, v)
			into[k] = was
		default:
			into[k] = clone(v)
		}
	}
}

// dropNulls is for bodies where null and absent mean the same.
func dropNulls(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			dropNulls(v)
		case []any:
			for _, item := range v {
				if inner := asMap(item); inner != nil {
					dropNulls(inner)
				}
			}
		}
	}
}
