// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	logtype "google.golang.org/genproto/googleapis/logging/type"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func timestamp(seconds int64, nanos int32) *timestamppb.Timestamp {
	return &timestamppb.Timestamp{Seconds: seconds, Nanos: nanos}
}

// asJSON is the entry as a filter sees it: JSON names and values, severity as
// its number so that it can be ordered.
func asJSON(e *loggingpb.LogEntry) map[string]any {
	view := map[string]any{}
	raw, err := protojson.Marshal(e)
	if err != nil { // a payload of a type that is not linked in
		bare, _ := proto.Clone(e).(*loggingpb.LogEntry)
		bare.Payload = nil
		raw, err = protojson.Marshal(bare)
	}
	if err != nil || json.Unmarshal(raw, &view) != nil {
		return map[string]any{}
	}
	view["severity"] = float64(e.GetSeverity())
	return view
}

var entryFields = (&loggingpb.LogEntry{}).ProtoReflect().Descriptor().Fields()

// checkField refuses a path that no entry can have, as the real service does.
func checkField(path []string) error {
	for i := range entryFields.Len() {
		f := entryFields.Get(i)
		if f.JSONName() == path[0] || string(f.Name()) == path[0] {
			path[0] = f.JSONName()
			return nil
		}
	}
	return fmt.Errorf("field not found: '%s'", strings.Join(path, "."))
}

// lookup follows the path. Names of Google's own fields may be written in snake
// case; keys of labels and payloads are as they are.
func lookup(v any, path []string) (any, bool) {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			if v, ok = m[camel(name)]; !ok {
				return nil, false
			}
		}
	}
	return v, true
}

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// compare returns the comparison of the field with the value. A field that an
// entry does not have compares to nothing, also not by != .
func compare(path []string, op, value string, quoted bool) (predicate, error) {
	test, err := tester(path, op, value, quoted)
	if err != nil {
		return nil, err
	}
	return func(e map[string]any) bool {
		v, ok := lookup(e, path)
		return ok && anyOf(v, test)
	}, nil
}

// anyOf holds for a list when it holds for one of its elements.
func anyOf(v any, test func(any) bool) bool {
	list, ok := v.([]any)
	if !ok {
		return test(v)
	}
	for _, v := range list {
		if test(v) {
			return true
		}
	}
	return false
}

func tester(path []string, op, value string, quoted bool) (func(any) bool, error) {
	if op == ":" && value == "*" && !quoted {
		return func(any) bool { return true }, nil
	}
	if op == "=~" || op == "!~" {
		re, err := regexp.Compile(value)
		if err != nil {
			return nil, fmt.Errorf("regular expression %q: %w", value, err)
		}
		return func(v any) bool { return re.MatchString(text(v)) == (op == "=~") }, nil
	}
	if len(path) == 1 {
		switch path[0] {
		case "severity":
			return severityTester(op, value)
		case "timestamp", "receiveTimestamp":
			return timeTester(op, value)
		}
	}
	want := strings.ToLower(value)
	number, err := strconv.ParseFloat(value, 64)
	numeric := err == nil && !quoted
	return func(v any) bool {
		if op == ":" {
			switch v.(type) {
			case map[string]any:
				return contains(v, want)
			default:
				return strings.Contains(strings.ToLower(text(v)), want)
			}
		}
		if got, err := strconv.ParseFloat(text(v), 64); err == nil && numeric {
			return ordered(op, compareFloat(got, number))
		}
		return ordered(op, strings.Compare(strings.ToLower(text(v)), want))
	}, nil
}

func severityTester(op, value string) (func(any) bool, error) {
	number, known := logtype.LogSeverity_value[strings.ToUpper(value)]
	if !known {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("severity %q is not known", value)
		}
		number = int32(n)
	}
	if op == ":" {
		op = "="
	}
	return func(v any) bool {
		got, ok := v.(float64)
		return ok && ordered(op, compareFloat(got, float64(number)))
	}, nil
}

func timeTester(op, value string) (func(any) bool, error) {
	want, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		if want, err = time.Parse(time.DateOnly, value); err != nil {
			return nil, fmt.Errorf("time %q is not of the form 2006-01-02T15:04:05Z or 2006-01-02", value)
		}
	}
	if op == ":" {
		return nil, fmt.Errorf("a time cannot be compared by %q", op)
	}
	return func(v any) bool {
		got, err := time.Parse(time.RFC3339Nano, text(v))
		return err == nil && ordered(op, got.Compare(want))
	}, nil
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func ordered(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "!=":
		return c != 0
	case ">":
		return c > 0
	case "<":
		return c < 0
	case ">=":
		return c >= 0
	default: // "<="
		return c <= 0
	}
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// contains searches the lower-case text in every value, and in every key of a
// map: a label's name counts too.
func contains(v any, want string) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, v := range v {
			if strings.EqualFold(key, want) || contains(v, want) {
				return true
			}
		}
		return false
	case []any:
		for _, v := range v {
			if contains(v, want) {
				return true
			}
		}
		return false
	}
	return strings.Contains(strings.ToLower(text(v)), want)
}
