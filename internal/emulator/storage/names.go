// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"slices"
	"strings"
)

// sortedNames are names in order, each once.
type sortedNames []string

// at returns the place of the first name that is not before the given one.
func (n sortedNames) at(name string) int {
	i, _ := slices.BinarySearch(n, name)
	return i
}

func (n *sortedNames) add(name string) {
	if i, there := slices.BinarySearch(*n, name); !there {
		*n = slices.Insert(*n, i, name)
	}
}

func (n *sortedNames) remove(name string) {
	if i, there := slices.BinarySearch(*n, name); there {
		*n = slices.Delete(*n, i, i+1)
	}
}

// within returns the names from one on that have the prefix and, where upTo is
// not empty, are before that. The slice is the caller's.
func (n sortedNames) within(from, prefix, upTo string) []string {
	begin := n.at(max(from, prefix))
	end := len(n)
	if prefix != "" {
		end = n.at(after(prefix))
	}
	if upTo != "" {
		end = min(end, n.at(upTo))
	}
	if begin >= end {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(n[begin:end]), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}
