// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// deadline bounds every wait of these tests; nothing takes nearly as long.
const deadline = 60 * time.Second

// eachMode runs a test in every mode that this machine has.
func eachMode(t *testing.T, f func(t *testing.T, mode string)) {
	t.Helper()
	for _, mode := range []string{ModeNamespace, ModeRewrite} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f(t, mode)
		})
	}
}

// start returns a launcher, and skips the test where namespaces are refused.
func start(t *testing.T, o Options) *Processes {
	t.Helper()
	p, err := NewProcesses(o)
	if err != nil && o.Mode == ModeNamespace {
		t.Skipf("this machine refuses what tasks need for their mounts to be at their paths, and the emulator says so at its start: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// watched is an attempt whose output is kept.
type watched struct {
	Attempt
	t       *testing.T
	mu      sync.Mutex
	lines   []string // "stdout: text"
	changed chan struct{}
}

func launch(t *testing.T, p *Processes, task Task) *watched {
	t.Helper()
	w := &watched{t: t, changed: make(chan struct{})}
	a, err := p.Launch(task, func(stream, line string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lines = append(w.lines, stream+": "+line)
		close(w.changed)
		w.changed = make(chan struct{})
	})
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	w.Attempt = a
	t.Cleanup(func() { // after a failed test the task may still run
		a.Cancel()
		eventually(t, "the end of the task", func() bool {
			if fake, ok := p.clock.(*clockwork.FakeClock); ok {
				fake.Advance(p.grace)
			}
			select {
			case <-a.Done():
				return true
			default:
				return false
			}
		})
	})
	return w
}

// output is what the task wrote so far.
func (w *watched) output() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lines...)
}

// await waits until the task has written the line.
func (w *watched) await(line string) {
	w.t.Helper()
	limit := time.After(deadline)
	for {
		w.mu.Lock()
		for _, l := range w.lines {
			if l == line {
				w.mu.Unlock()
				return
			}
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-w.Done():
			w.t.Fatalf("the task ended (%+v) without the line %q; it wrote:\n%s", w.Result(), line, strings.Join(w.output(), "\n"))
		case <-limit:
			w.t.Fatalf("no line %q; the task wrote:\n%s", line, strings.Join(w.output(), "\n"))
		}
	}
}

// end waits for the result.
func (w *watched) end() Result {
	w.t.Helper()
	select {
	case <-w.Done():
		return w.Result()
	case <-time.After(deadline):
		w.t.Fatalf("the task does not end; it wrote:\n%s", strings.Join(w.output(), "\n"))
		return Result{}
	}
}

// expect waits for the result and compares it.
func (w *watched) expect(want Result) {
	w.t.Helper()
	if got := w.end(); got != want {
		w.t.Fatalf("result = %+v, want %+v; the task wrote:\n%s", got, want, strings.Join(w.output(), "\n"))
	}
}

// shell is a task that runs a script.
func shell(script string, args ...string) Task {
	return Task{Name: "t-task0", Image: "image", Command: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// blocked waits until n timers wait on the clock.
func blocked(t *testing.T, clock *clockwork.FakeClock, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := clock.BlockUntilContext(ctx, n); err != nil {
		t.Fatalf("no %d timers on the clock: %v", n, err)
	}
}

// eventually polls a condition that nothing announces.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(deadline)
	for !condition() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// folder is a temporary one without symbolic links in its name, so that it can be compared.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// program writes a file that can be started. Another process does it: one that this process writes cannot be started
// while a fork of it, made for another test in the same moment, still has it open.
func program(t *testing.T, file, content string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `cat > "$0" && chmod 755 "$0"`, file)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
