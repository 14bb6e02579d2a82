// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package acctest

import "os/exec"

func ownGroup(*exec.Cmd) {}

func inGroup(*exec.Cmd, int) bool { return true }

func killGroup(cmd *exec.Cmd) {
	//nolint:errcheck // It may have ended by itself.
	cmd.Process.Kill()
}
