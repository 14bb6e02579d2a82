// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import "strings"

// EmulatorUID reports whether a uid, a service account's unique id or a project number was given out by the emulator. The real platform
// gives out none of these forms but the last (a project number that begins with 999 is rare, not impossible).
func EmulatorUID(uid string) bool {
	switch {
	case strings.HasPrefix(uid, "00e30000-"):
		return true // UUID
	case len(uid) == 21 && strings.HasPrefix(uid, "9990"):
		return true // unique id of an account
	case len(uid) == 12 && strings.HasPrefix(uid, "999"):
		return true // project number
	}
	return false
}
