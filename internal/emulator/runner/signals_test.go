// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
)

// The short sleeps in these scripts only say how fast they look; no result depends on them.
const (
	handles = `trap 'echo "got SIGTERM"; exit 143' TERM; echo ready; while :; do sleep 0.02; done`
	ignores = `trap 'echo "got SIGTERM"' TERM; echo ready; while :; do sleep 0.02; if test -e "$1/ask"; then rm "$1/ask"; echo alive; fi; done`
	dies    = `echo ready; exec sleep 1000`
)

func TestPreemptedTaskHandlesSIGTERM(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		w := launch(t, start(t, Options{Mode: mode}), shell(handles))
		w.await("stdout: ready")
		w.Preempt()
		w.expect(Result{Reason: Preempted, ExitCode: 143})
		w.await("stdout: got SIGTERM")
		w.Preempt() // after the end: nothing
		w.Cancel()
		w.expect(Result{Reason: Preempted, ExitCode: 143})
	})
}

func TestCancelledTaskHandlesSIGTERM(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		w := launch(t, start(t, Options{Mode: mode}), shell(handles))
		w.await("stdout: ready")
		w.Cancel()
		w.expect(Result{Reason: Cancelled, ExitCode: 143})
	})
}

// A program that exits with 0 on SIGTERM is told apart from one that was not interrupted by the reason only.
func TestExitZeroOnSIGTERMIsReportedAsItIs(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		w := launch(t, start(t, Options{Mode: mode}), shell(strings.Replace(handles, "143", "0", 1)))
		w.await("stdout: ready")
		w.Preempt()
		w.expect(Result{Reason: Preempted})
	})
}

// PID 1 of a namespace would ignore a SIGTERM that it does not handle.
func TestTaskWithoutHandlerDiesOfSIGTERM(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		w := launch(t, start(t, Options{Mode: mode}), shell(dies))
		w.await("stdout: ready")
		w.Preempt()
		w.expect(Result{Reason: Preempted, Signal: 15})
	})
}

func TestIgnoredSIGTERMEndsInSIGKILLAfterTheGrace(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		clock := clockwork.NewFakeClock()
		dir := folder(t)
		w := launch(t, start(t, Options{Mode: mode, Clock: clock}), shell(ignores, dir))
		w.await("stdout: ready")
		w.Preempt()
		w.await("stdout: got SIGTERM")
		blocked(t, clock, 1)
		clock.Advance(DefaultGrace - time.Millisecond)
		write(t, filepath.Join(dir, "ask"), "")
		w.await("stdout: alive")
		clock.Advance(time.Millisecond)
		w.expect(Result{Reason: Preempted, Signal: 9})
	})
}

func TestFirstRequestDecides(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		clock := clockwork.NewFakeClock()
		task := shell(ignores, folder(t))
		task.Timeout = time.Second
		w := launch(t, start(t, Options{Mode: mode, Clock: clock, Grace: 3 * time.Second}), task)
		w.await("stdout: ready")
		w.Cancel()
		w.await("stdout: got SIGTERM")
		w.Preempt()
		blocked(t, clock, 2)
		clock.Advance(2 * time.Second) // the timeout
		clock.Advance(time.Second)     // the grace since Cancel
		w.expect(Result{Reason: Cancelled, Signal: 9})
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		for name, tc := range map[string]struct {
			script string
			grace  bool
			want   Result
		}{
			"handled": {handles, false, Result{Reason: TimedOut, ExitCode: 143}},
			"ignored": {ignores, true, Result{Reason: TimedOut, Signal: 9}},
			"unaware": {dies, false, Result{Reason: TimedOut, Signal: 15}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				clock := clockwork.NewFakeClock()
				dir := folder(t)
				task := shell(tc.script, dir)
				task.Timeout = time.Hour
				w := launch(t, start(t, Options{Mode: mode, Clock: clock}), task)
				w.await("stdout: ready")
				blocked(t, clock, 1)
				clock.Advance(time.Hour)
				if tc.grace {
					w.await("stdout: got SIGTERM")
					blocked(t, clock, 1)
					clock.Advance(DefaultGrace)
				}
				w.expect(tc.want)
			})
		}
	})
}

func TestEndBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		clock := clockwork.NewFakeClock()
		task := shell("exit 4")
		task.Timeout = time.Hour
		w := launch(t, start(t, Options{Mode: mode, Clock: clock}), task)
		w.expect(Result{ExitCode: 4})
		blocked(t, clock, 0) // the timer is stopped
	})
}

// Preempt may come before the task's program runs.
func TestPreemptRightAfterLaunch(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		w := launch(t, start(t, Options{Mode: mode}), shell(dies))
		w.Preempt()
		w.expect(Result{Reason: Preempted, Signal: 15})
	})
}

// A signal that the emulator's shell ignores, as for background jobs, is at its default in the task.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		start(t, Options{Mode: mode})
		cmd := exec.Command("sh", "-c", `trap '' INT TERM HUP PIPE; exec "$0"`, os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"=launch-one", "MODE="+mode, "SCRIPT="+`kill -HUP $$; echo "survived HUP"`)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "{Reason:exited ExitCode:0 Signal:1 Message:}") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// running tells whether a process with the token in its arguments exists on the host.
func running(t *testing.T, token string) bool {
	t.Helper()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		return exec.Command("pgrep", "-f", token).Run() == nil
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err == nil && bytes.Contains(content, []byte(token)) {
			return true
		}
	}
	return false
}

func TestChildrenDieWithTheTask(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		for name, tc := range map[string]struct {
			script        string
			namespaceOnly bool
			stop          bool
			want          Result
		}{
			"after exit":         {script: `sh -c "sleep 1000; :" "$1" & echo ready`, want: Result{}},
			"grandchild":         {script: `(sh -c "sleep 1000; :" "$1" &) ; echo ready; exit 7`, want: Result{ExitCode: 7}},
			"after SIGTERM":      {script: `sh -c "trap '' TERM; sleep 1000; :" "$1" & echo ready; exec sleep 1000`, stop: true, want: Result{Reason: Preempted, Signal: 15}},
			"in another session": {script: `setsid sh -c "sleep 1000; :" "$1" & echo ready`, namespaceOnly: true, want: Result{}},
		} {
			if tc.namespaceOnly && mode != ModeNamespace {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				token := uuid.NewString()
				p := start(t, Options{Mode: mode})
				w := launch(t, p, shell(tc.script, token))
				w.await("stdout: ready")
				if tc.stop {
					w.Preempt()
				}
				w.expect(tc.want)
				if mode == ModeNamespace && running(t, token) {
					t.Error("a process of the task is alive")
				}
				// Without a namespace the kernel may take a moment for processes that are killed already.
				eventually(t, "the end of the task's processes", func() bool { return !running(t, token) })
			})
		}
	})
}

// Without a namespace a process can get away from its task. It must not keep the attempt from ending.
func TestEscapedProcessDoesNotHoldTheAttempt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid on this machine")
	}
	w := launch(t, start(t, Options{Mode: ModeRewrite}), shell(`setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000`))
	var pid int
	eventually(t, "the escaped process says its id", func() bool {
		for _, line := range w.output() {
			if n, err := strconv.Atoi(strings.TrimPrefix(line, "stdout: ")); err == nil {
				pid = n
			}
		}
		return pid != 0
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	w.Preempt()
	w.expect(Result{Reason: Preempted, Signal: 15})
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the process did not escape, so that this test shows nothing: %v", err)
	}
}

// A crashed emulator must not leave tasks behind.
func TestTasksDieWithTheEmulator(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		start(t, Options{Mode: mode})
		token := uuid.NewString()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"=launch-one", "MODE="+mode, "TOKEN="+token, "SCRIPT=trap '' TERM; echo ready; sleep 1000; :")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("the helper says %q, %v", line, err)
		}
		if !running(t, token) {
			t.Fatal("the task is not running")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, as asked
		eventually(t, "the end of the task", func() bool { return !running(t, token) })
	})
}
