// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// writing applies the fields of a create or a change to a bucket's resource.
type writing struct {
	resource map[string]any
	now      time.Time
	creating bool
}

const (
	defaultSoftDeleteSeconds = 7 * 24 * 60 * 60
	mostSoftDeleteSeconds    = 90 * 24 * 60 * 60
	// uniformLock is how long uniform access can be switched off again.
	uniformLock = 90 * 24 * time.Hour
)

var storageClasses = []string{"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE", "MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY", "RAPID"}

func storageClass(text string) (string, bool) {
	class := strings.ToUpper(text)
	return class, slices.Contains(storageClasses, class)
}

func defaultSoftDelete(now time.Time) map[string]any {
	return map[string]any{
		"retentionDurationSeconds": strconv.Itoa(defaultSoftDeleteSeconds),
		"effectiveTime":            stamp(now),
	}
}

func (w *writing) apply(body map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(body)) {
		if err := w.field(key, body[key]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) field(key string, v any) error {
	switch key {
	case "labels":
		return w.labels(v)
	case "lifecycle":
		return w.lifecycle(v)
	case "softDeletePolicy":
		return w.softDelete(v)
	case "iamConfiguration":
		return w.access(v)
	case "storageClass":
		class, ok := storageClass(asString(v))
		if v == nil {
			class, ok = "STANDARD", true
		}
		if !ok {
			return invalid("Invalid storage class \"%s\"", asString(v))
		}
		w.resource[key] = class
	case "encryption":
		return w.encryption(v)
	case "retentionPolicy":
		return w.retention(v)
	case "rpo":
		return w.rpo(v)
	case "autoclass":
		w.mergeField(key, v)
		if a := asMap(w.resource[key]); asBool(a["enabled"]) {
			if a["toggleTime"] == nil {
				a["toggleTime"] = stamp(w.now)
			}
			if a["terminalStorageClass"] == nil {
				a["terminalStorageClass"] = "NEARLINE"
			}
			a["terminalStorageClassUpdateTime"] = stamp(w.now)
		}
	case "versioning", "billing", "website", "logging", "ipFilter":
		w.mergeField(key, v)
	case "cors", "defaultEventBasedHold":
		if v == nil || len(asList(v)) == 0 && !asBool(v) {
			delete(w.resource, key)
		} else {
			w.resource[key] = clone(v)
		}
	}
	// The rest is chosen once (name, location, namespace), computed, or an
	// access list: taken and not applied here.
	return nil
}

func (w *writing) mergeField(key string, v any) {
	if v == nil {
		delete(w.resource, key)
		return
	}
	merge(w.resource, map[string]any{key: v})
	if len(asMap(w.resource[key])) == 0 {
		delete(w.resource, key)
	}
}

// checkNamespace refuses what a hierarchical namespace excludes.
func (w *writing) checkNamespace() error {
	if !asBool(asMap(w.resource["hierarchicalNamespace"])["enabled"]) {
		return nil
	}
	if !uniformAccess(w.resource) {
		return invalid("Hierarchical namespace buckets must use uniform bucket-level access.")
	}
	if asBool(asMap(w.resource["versioning"])["enabled"]) {
		return invalid("Versioning is not supported for hierarchical namespace buckets.")
	}
	if w.resource["retentionPolicy"] != nil {
		return invalid("Retention policy is not supported for hierarchical namespace buckets.")
	}
	if w.resource["objectRetention"] != nil {
		return invalid("Object retention config is not supported for hierarchical namespace buckets.")
	}
	return nil
}

func (w *writing) labels(v any) error {
	changes := asMap(v)
	if len(changes) == 0 { // null and {} remove every label
		delete(w.resource, "labels")
		return nil
	}
	labels := asMap(w.resource["labels"])
	if labels == nil {
		labels = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		if !labelText(key, true) {
			return invalid("Invalid user label: %s", key)
		}
		if changes[key] == nil {
			delete(labels, key)
			continue
		}
		text := asString(changes[key])
		if !labelText(text, false) {
			return invalid("Invalid user label: %s with value %s", key, text)
		}
		labels[key] = text
	}
	if len(labels) > 64 {
		return invalid("Attempt to create a bucket with %d labels, maximum is 64", len(labels))
	}
	w.resource["labels"] = labels
	if len(labels) == 0 {
		delete(w.resource, "labels")
	}
	return nil
}

// labelText: up to 63 characters, letters of any script that are not upper
// case, digits, _ and -; a key also begins with a letter. An empty value is one.
func labelText(text string, key bool) bool {
	if utf8.RuneCountInString(text) > 63 || key && text == "" || !utf8.ValidString(text) {
		return false
	}
	for i, r := range text {
		letter := unicode.IsLetter(r) && !unicode.IsUpper(r)
		if key && i == 0 && !letter {
			return false
		}
		if !letter && !unicode.IsDigit(r) && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

func (w *writing) softDelete(v any) error {
	if v == nil { // not off: back to the default
		w.resource["softDeletePolicy"] = defaultSoftDelete(w.now)
		return nil
	}
	given, ok := asMap(v)["retentionDurationSeconds"]
	if !ok || given == nil {
		return nil
	}
	seconds := asInt(given)
	if seconds != 0 && (seconds < defaultSoftDeleteSeconds || seconds > mostSoftDeleteSeconds) {
		return invalid("Soft delete policy must have a retention duration between 7 days and 90 days.")
	}
	policy := map[string]any{"retentionDurationSeconds": strconv.FormatInt(seconds, 10)}
	if seconds != 0 {
		policy["effectiveTime"] = stamp(w.now)
	}
	w.resource["softDeletePolicy"] = policy
	return nil
}

func (w *writing) access(v any) error {
	given := asMap(v)
	access := asMap(w.resource["iamConfiguration"])
	if prevention, ok := given["publicAccessPrevention"]; ok {
		switch text := asString(prevention); text {
		case "enforced":
			access["publicAccessPrevention"] = text
		case "inherited", "unspecified", "":
			access["publicAccessPrevention"] = "inherited"
		default:
			return invalid("Invalid value for: %s is not a valid value", text)
		}
	}
	// Two names for one thing; the newer one wins.
	for _, name := range []string{"bucketPolicyOnly", "uniformBucketLevelAccess"} {
		enabled, ok := asMap(given[name])["enabled"]
		if !ok {
			continue
		}
		uniform := asMap(access["uniformBucketLevelAccess"])
		if asBool(enabled) == asBool(uniform["enabled"]) {
			continue
		}
		if asBool(enabled) {
			access["uniformBucketLevelAccess"] = map[string]any{"enabled": true, "lockedTime": stamp(w.now.Add(uniformLock))}
			continue
		}
		if locked, err := time.Parse(time.RFC3339, asString(uniform["lockedTime"])); err == nil && w.now.After(locked) {
			return invalid("Cannot disable uniform bucket-level access after its locked time %s.", asString(uniform["lockedTime"]))
		}
		access["uniformBucketLevelAccess"] = map[string]any{"enabled": false}
	}
	return nil
}

var kmsKey = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

func (w *writing) encryption(v any) error {
	w.mergeField("encryption", v)
	if key := asString(asMap(w.resource["encryption"])["defaultKmsKeyName"]); key != "" && !kmsKey.MatchString(key) {
		return invalid("Malformed Cloud KMS crypto key: %s", key)
	}
	return nil
}

// retention keeps the policy as data: the emulator holds no object back.
func (w *writing) retention(v any) error {
	if v == nil {
		delete(w.resource, "retentionPolicy")
		return nil
	}
	given, ok := asMap(v)["retentionPeriod"]
	if !ok || given == nil {
		return nil
	}
	const century = 3155760000
	if seconds := asInt(given); seconds < 1 || seconds > century {
		return invalid("Retention policy must have a retention period greater than 0 and less than 100 years.")
	}
	policy := asMap(w.resource["retentionPolicy"])
	if policy == nil {
		policy = map[string]any{"effectiveTime": stamp(w.now)}
	}
	policy["retentionPeriod"] = strconv.FormatInt(asInt(given), 10)
	w.resource["retentionPolicy"] = policy
	return nil
}

func (w *writing) rpo(v any) error {
	switch text := asString(v); text {
	case "", "DEFAULT":
		delete(w.resource, "rpo") // computed
	case "ASYNC_TURBO":
		if asString(w.resource["locationType"]) != "dual-region" {
			return invalid("ASYNC_TURBO rpo is only supported for dual-region buckets.")
		}
		w.resource["rpo"] = text
	default:
		return invalid("Invalid value for: %s is not a valid value", text)
	}
	return nil
}
