// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package acctest

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C in the developer's terminal, and one that a test
// sends, from reaching more than it should.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// inGroup reports whether a process belongs to the command's group. The number
// of a process that has ended may be somebody else's by now.
func inGroup(cmd *exec.Cmd, pid int) bool {
	group, err := syscall.Getpgid(pid)
	return err == nil && group == cmd.Process.Pid
}

// killGroup ends terraform and the providers that it has started.
func killGroup(cmd *exec.Cmd) {
	//nolint:errcheck // It may have ended by itself.
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
