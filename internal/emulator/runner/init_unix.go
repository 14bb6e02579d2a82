// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// MaybeInit must be called first thing in main (and in TestMain) of every program that launches processes. It returns at once,
// unless this process was started by Launch as a task's parent: then it does that work and never returns.
func MaybeInit() {
	maybeInitCalled = true
	if len(os.Args) != 1 || os.Args[0] != initName {
		return
	}
	// Neither these two nor what the emulator itself inherited from its shell is for the task.
	for fd := controlFD; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
	if _, err := unix.FcntlInt(statusFD, unix.F_GETFD, 0); err != nil {
		fmt.Fprintln(os.Stderr, initName+" is started by the emulator only")
		syscall.Exit(2)
	}
	report := json.NewEncoder(os.NewFile(statusFD, "status"))
	if err := taskInit(os.NewFile(controlFD, "control"), report); err != nil {
		_ = report.Encode(status{Failure: err.Error()})
		syscall.Exit(1)
	}
	// Not os.Exit: nothing of this program's own needs an orderly end, and a race-instrumented build would wait a second there.
	syscall.Exit(0)
}

// taskInit is the life of a task's parent. In a PID namespace it is PID 1: the kernel kills everything in there when it ends.
func taskInit(control io.Reader, report *json.Encoder) error {
	// Capabilities belong to a thread: the one that drops them must be the one that starts the task.
	runtime.LockOSThread()
	s, err := readSpec(control)
	if err != nil {
		return err
	}
	// A handled signal is at its default in the started program, one that the emulator's shell had ignored would stay ignored.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)

	inNamespace := os.Getpid() == 1
	if inNamespace {
		if err := enterNamespace(s.Mounts); err != nil {
			return err
		}
	}
	if s.Probe {
		if err := checkNamespace(s.Mounts); err != nil {
			return err
		}
		return report.Encode(status{Ended: true})
	}
	pid, err := startTask(s)
	if err != nil {
		return err
	}
	if err := report.Encode(status{Started: true}); err != nil {
		return err // the emulator is gone, and the task goes with us
	}
	all := -pid // its session's process group
	if inNamespace {
		all = -1
	}
	go follow(control, signals, pid, all)

	var ws unix.WaitStatus
	for {
		reaped, err := unix.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for the task: %w", err)
		}
		if reaped == pid && (ws.Exited() || ws.Signaled()) {
			break
		}
	}
	_ = unix.Kill(all, unix.SIGKILL) // what the task left behind; nothing is there most of the time
	if ws.Signaled() {
		return report.Encode(status{Ended: true, Signal: int(ws.Signal())})
	}
	return report.Encode(status{Ended: true, Code: ws.ExitStatus()})
}

func readSpec(control io.Reader) (spec, error) {
	var s spec
	var size [4]byte
	if _, err := io.ReadFull(control, size[:]); err != nil {
		return s, fmt.Errorf("reading what to start: %w", err)
	}
	message := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(control, message); err != nil {
		return s, fmt.Errorf("reading what to start: %w", err)
	}
	if err := gob.NewDecoder(bytes.NewReader(message)).Decode(&s); err != nil {
		return s, fmt.Errorf("reading what to start: %w", err)
	}
	return s, nil
}

// follow passes on what the emulator asks for, and signals that somebody sends to this process by hand.
func follow(control io.Reader, signals <-chan os.Signal, pid, all int) {
	go func() {
		for got := range signals {
			if n, ok := got.(syscall.Signal); ok && n != syscall.SIGPIPE {
				_ = unix.Kill(pid, n)
			}
		}
	}()
	order := make([]byte, 1)
	for {
		n, err := control.Read(order)
		if err != nil {
			_ = unix.Kill(all, unix.SIGKILL)
			return
		}
		if n == 1 && order[0] == terminateByte {
			_ = unix.Kill(pid, unix.SIGTERM)
		}
	}
}

func startTask(s spec) (pid int, err error) {
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("the working directory %q does not exist: the emulator does not unpack the image, so a working directory must be a folder of this machine or of a mount; make it, or leave it out", s.Dir)
	}
	program, err := findProgram(s.Argv[0], s.Dir, lookup(s.Env, "PATH"))
	if err != nil {
		return 0, fmt.Errorf("the command %q cannot be started: %w. %s", s.Argv[0], err, s.NotFound)
	}
	pid, err = syscall.ForkExec(program, s.Argv, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	switch {
	case errors.Is(err, syscall.ENOENT):
		return 0, fmt.Errorf("the command %q cannot be started: %s exists, but the interpreter that its first line names does not. %s", s.Argv[0], program, s.NotFound)
	case errors.Is(err, syscall.ENOEXEC):
		return 0, fmt.Errorf("the command %q cannot be started: %s is no program of this machine (a script needs a first line such as #!/bin/sh). %s", s.Argv[0], program, s.NotFound)
	case errors.Is(err, syscall.E2BIG):
		return 0, fmt.Errorf("the command %q cannot be started: its arguments and environment are too large for this system", s.Argv[0])
	case err != nil:
		return 0, fmt.Errorf("the command %q cannot be started: %w", s.Argv[0], err)
	}
	return pid, nil
}

// lookup returns the value of a variable.
func lookup(env []string, name string) string {
	for _, v := range env {
		if n, value, ok := strings.Cut(v, "="); ok && envKey(n) == name {
			return value
		}
	}
	return ""
}

// findProgram looks a command up as a container runtime does: by the PATH of the task, a name with a slash from its working directory.
func findProgram(name, dir, searchPath string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, checkProgram(name)
	}
	var denied error
	for _, d := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(d) { // the empty entry among them, which means the working directory
			d = filepath.Join(dir, d)
		}
		candidate := filepath.Join(d, name)
		err := checkProgram(candidate)
		if err == nil {
			return candidate, nil
		}
		if !errors.Is(err, os.ErrNotExist) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("no folder of PATH has it (%s)", searchPath)
}

func checkProgram(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %s", os.ErrNotExist, file)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", file)
	}
	return nil
}
