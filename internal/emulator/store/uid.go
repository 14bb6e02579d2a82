// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package store

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/google/uuid"
)

// uidPrefix is the first group of every uid that the emulator makes. A client
// can tell by it that a resource never existed in Google Cloud.
const uidPrefix = "00e30000"

// numberPrefix begins every project number that the emulator makes. Real
// project numbers have 10 to 12 digits; those beginning so are not in use.
const numberPrefix = "999"

// NewUID returns a random version 4 UUID whose first group marks it as the
// emulator's own.
func NewUID() string {
	return uidPrefix + uuid.NewString()[len(uidPrefix):]
}

// ProjectNumber returns the number of a project: 12 digits that depend on the
// project id only, so that every room and every restart agrees. A number that
// this function made stays what it is.
func ProjectNumber(project string) string {
	if len(project) == 12 && strings.HasPrefix(project, numberPrefix) && strings.Trim(project, "0123456789") == "" {
		return project
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(project))
	return fmt.Sprintf("%s%09d", numberPrefix, h.Sum64()%1_000_000_000)
}
