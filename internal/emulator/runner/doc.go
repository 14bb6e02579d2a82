// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package runner starts one attempt of one task: a real process on this machine that sees what a container of a
// Cloud Run job sees, as far as a process can. It knows nothing of jobs, executions or retries; the room run does,
// and calls it once per attempt.
//
// Its main rule: what a task observes here (arguments, environment, files under the mount path, SIGTERM, grace, SIGKILL)
// and what it reports (exit code or signal) are faithful, or this comment says that they are not.
//
// # Two modes
//
// Mode "namespace" (Linux, as root or as an ordinary user): the task lives in its own user, mount and PID namespaces.
// Its root is a fresh memory file system that holds binds of everything at the top of the host's root, and the mounts
// at their absolute container paths. The capabilities that built it are gone before the task starts, the task is never
// PID 1, and everything that it started dies with it.
//
// Mode "rewrite" (macOS, Windows, and Linux hosts that refuse namespaces): the task is an ordinary process. A mount path
// that is a whole argument, the value of a flag (--dir=/checkpoints) or a whole environment value is replaced by the
// host's folder, also when something below the mount path follows it, and RESILIENTJOB_MOUNT_0, _1, … hold the host
// folders in the order of the mounts. A path that is written in the program itself does not exist there.
//
// NewProcesses tries the first once and falls back to the second; Processes.Mode and Processes.Why tell.
//
// # What differs from Cloud Run
//
//   - The container's image is not used: the command runs with this machine's files and programs. /tmp and the home
//     folder outlive an attempt here, and do not there. Memory and CPU limits do not apply.
//   - SIGTERM is sent to the task's first process only, as container runtimes do. That process is not PID 1, so that a
//     program without a handler dies from it at once; as PID 1 of a real container it would live until SIGKILL.
//   - A mount is a plain folder of the host. It does not show gcsfuse's behaviour: here a rename over an existing file
//     and an fsync work as on a local disk, and other processes see a file while it is being written.
//   - In mode "rewrite" a process that moved itself into another session outlives its task; read-only mounts are
//     writable; on Windows SIGTERM is CTRL_BREAK_EVENT.
//
// It may import the standard library, golang.org/x/sys and clockwork; nothing else of this module.
package runner
