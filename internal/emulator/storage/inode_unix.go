// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package storage

import (
	"errors"
	"io/fs"
	"syscall"
)

// openNonblocking keeps an open from waiting where a task put a pipe.
const openNonblocking = syscall.O_NONBLOCK

// inode tells a file from another one that took its name.
func inode(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
