// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"slices"
	"strings"
)

// nearest returns the key that is probably meant by a name; "" when none is
// like it.
func nearest(name string, keys []string) string {
	plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
	best, distance := "", max(1, len(plain)/3)+1
	for _, k := range keys {
		if d := edits(plain, k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" || len(plain) < 3 {
		return best
	}
	for _, k := range keys {
		if strings.Contains(k, plain) || strings.Contains(plain, k) {
			return k
		}
	}
	for _, k := range keys {
		for word := range strings.SplitSeq(plain, "_") {
			if word != "time" && slices.Contains(strings.Split(k, "_"), strings.TrimSuffix(word, "s")) {
				return k
			}
		}
	}
	return ""
}

// edits is how many letters must be put in, taken out or changed to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
