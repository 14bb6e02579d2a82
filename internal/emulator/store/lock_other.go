// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package store

import "os"

// lock only opens the file: there is no advisory lock to be had here, and two
// emulators on one folder are the user's to avoid.
func lock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
