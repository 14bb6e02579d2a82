// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"regexp"
	"slices"
	"strings"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
)

// term is one comparison: field, operator, value with or without quotes.
var term = regexp.MustCompile(`^\s*(name|state|labels\.[^\s:=]+)\s*([:=])\s*("[^"]*"|[^\s"()]+)\s*$`)

var and = regexp.MustCompile(`\s+AND\s+`)

// filter keeps what a filter lets through: comparisons of name, state and
// labels, joined by AND. Everything else is refused: an answer to half of a
// filter would be a wrong one.
func filter[T listed](all []T, text string) ([]T, error) {
	for _, part := range and.Split(text, -1) {
		m := term.FindStringSubmatch(part)
		if m == nil {
			return nil, invalid("filter", "The emulator does not understand the filter %q: it knows name, state and labels.KEY with : or =, joined by AND.", text)
		}
		field, operator, value := m[1], m[2], strings.Trim(m[3], `"`)
		all = slices.DeleteFunc(all, func(v T) bool { return !matches(v, field, operator, value) })
	}
	return all, nil
}

func matches(v any, field, operator, value string) bool {
	has, found := "", false
	switch v := v.(type) {
	case *secretmanagerpb.Secret:
		if key, isLabel := strings.CutPrefix(field, "labels."); isLabel {
			has, found = v.GetLabels()[key]
		} else {
			has, found = v.GetName(), field == "name"
		}
	case *secretmanagerpb.SecretVersion:
		switch field {
		case "name":
			has, found = v.GetName(), true
		case "state":
			has, found = v.GetState().String(), true
		}
	}
	if operator == ":" {
		return found && (value == "*" || strings.Contains(strings.ToLower(has), strings.ToLower(value)))
	}
	return found && has == value
}
