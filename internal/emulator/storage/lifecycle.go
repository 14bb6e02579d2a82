// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// lifecycle keeps the rules as data: the emulator never acts on them.
func (w *writing) lifecycle(v any) error {
	if v == nil {
		delete(w.resource, "lifecycle")
		return nil
	}
	rules, ok := asMap(v)["rule"]
	if !ok { // {} changes nothing
		return nil
	}
	if len(asList(rules)) == 0 {
		delete(w.resource, "lifecycle")
		return nil
	}
	var kept []any
	affixes := 0
	for _, rule := range asList(rules) {
		r, err := lifecycleRule(asMap(rule), &affixes)
		if err != nil {
			return err
		}
		kept = append(kept, r)
	}
	if affixes > 1000 {
		return invalid("Lifecycle matches_suffix and matches_prefix cannot specify more than 1000 rules per config.")
	}
	w.resource["lifecycle"] = map[string]any{"rule": kept}
	return nil
}

func lifecycleRule(rule map[string]any, affixes *int) (map[string]any, error) {
	action, err := lifecycleAction(asMap(rule["action"]))
	if err != nil {
		return nil, err
	}
	given := asMap(rule["condition"])
	condition := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] == nil {
			continue
		}
		v, err := lifecycleCondition(key, given[key], affixes)
		if err != nil {
			return nil, err
		}
		if v != nil {
			condition[key] = v
		}
	}
	if len(condition) == 0 {
		return nil, invalid("Lifecycle rules must have a condition.")
	}
	if action["type"] == "AbortIncompleteMultipartUpload" {
		for key := range condition {
			if key != "age" && key != "matchesPrefix" && key != "matchesSuffix" {
				return nil, invalid("Lifecycle age_days, matches_prefix, and matches_suffix conditions are the only ones allowed for a ABORT_INCOMPLETE_MULTIPART_UPLOAD rule.")
			}
		}
	}
	return map[string]any{"action": action, "condition": condition}, nil
}

func lifecycleAction(action map[string]any) (map[string]any, error) {
	kind, class := asString(action["type"]), asString(action["storageClass"])
	switch kind {
	case "SetStorageClass":
		if class == "" {
			return nil, invalid("Lifecycle storage class rules must specify the destination storage class.")
		}
		upper, ok := storageClass(class)
		if !ok {
			return nil, invalid("Unknown storage class '%s' is not a valid option for SET_STORAGE_CLASS actions.", class)
		}
		return map[string]any{"type": kind, "storageClass": upper}, nil
	case "Delete", "AbortIncompleteMultipartUpload":
		if class != "" {
			return nil, invalid("Storage class can only be specified for SET_STORAGE_CLASS actions")
		}
		return map[string]any{"type": kind}, nil
	}
	return nil, invalid("Invalid value for: %s is not a valid value", kind)
}

// lifecycleCondition returns a condition as it is kept, nil when it is dropped.
func lifecycleCondition(key string, v any, affixes *int) (any, error) {
	const largest = 5 << 40
	switch key {
	case "age", "daysSinceCustomTime", "daysSinceNoncurrentTime", "numNewerVersions":
		n := asInt(v)
		if n < 0 {
			return nil, invalid("Lifecycle %s condition must be greater than or equal to 0, but was %d", key, n)
		}
		if n > math.MaxInt32 {
			return nil, invalid("Parse Error: Invalid value for TYPE_INT32 field: '%d'.", n)
		}
		return json.Number(strconv.FormatInt(n, 10)), nil
	case "createdBefore", "customTimeBefore", "noncurrentTimeBefore":
		if _, err := time.Parse(time.DateOnly, asString(v)); err != nil {
			return nil, invalid("Invalid value for: Invalid format: \"%s\"", asString(v))
		}
	case "matchesPrefix", "matchesSuffix":
		if len(asList(v)) == 0 {
			return nil, nil
		}
		for _, item := range asList(v) {
			if text := asString(item); text == "" || len(text) > 1024 {
				return nil, invalid("Lifecycle %s cannot contain a string that is empty or longer than 1024.", key)
			}
		}
		*affixes += len(asList(v))
	case "matchesStorageClass":
		if len(asList(v)) == 0 {
			return nil, nil
		}
		var classes []any
		for _, item := range asList(v) {
			class, ok := storageClass(asString(item))
			if !ok {
				return nil, invalid("Invalid storage class \"%s\"", asString(item))
			}
			classes = append(classes, class)
		}
		return classes, nil
	case "sizeAboveBytes", "sizeBelowBytes":
		if n := asInt(v); n < 0 || n > largest {
			return nil, invalid("Lifecycle %s condition cannot exceed GCS maximum object size limit: 5 TiB, but was %d.", key, n)
		}
	}
	return clone(v), nil
}
