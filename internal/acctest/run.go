// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// commandLimit is how long one command may take. It only ends a test that
// hangs; no test waits for it.
const commandLimit = 3 * time.Minute

// Run is a command that runs.
type Run struct {
	tf       *Terraform
	cmd      *exec.Cmd
	args     []string
	out      output
	stdout   strings.Builder
	stdoutMu sync.Mutex
	done     chan struct{}
	err      error
}

// Environment returns the variables of a command, NAME=value: for a script that
// starts terraform itself.
func (tf *Terraform) Environment() []string {
	env := slices.Clone(tf.env)
	if tf.served != nil {
		env = append(env, tf.served.variable())
	}
	return env
}

// Start starts a command. The test must Wait for it.
func (tf *Terraform) Start(args ...string) *Run {
	tf.t.Helper()
	r := &Run{tf: tf, args: args, done: make(chan struct{})}
	r.out.changed = make(chan struct{})
	r.cmd = exec.Command(tf.path, args...)
	r.cmd.Dir, r.cmd.Env = tf.Dir, tf.Environment()
	r.cmd.Stdout, r.cmd.Stderr = stdoutOf{r}, &r.out
	ownGroup(r.cmd)
	if err := r.cmd.Start(); err != nil {
		tf.t.Fatalf("%s does not start: %v", tf.path, err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	tf.t.Cleanup(func() {
		select {
		case <-r.done:
		default:
			r.killAll()
			<-r.done
		}
	})
	return r
}

// Interrupt sends the signal of Ctrl-C to terraform, and to terraform alone.
func (r *Run) Interrupt() {
	r.tf.t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.tf.t.Fatalf("terraform cannot be interrupted: %v\n%s", err, r.out.String())
	}
}

// KillProvider kills the provider process as kill -9 does, and returns how many
// there were; none fails the test.
func (r *Run) KillProvider() int {
	r.tf.t.Helper()
	if r.tf.served != nil {
		r.tf.t.Fatal("the provider is no process: start the command with tf.Processes().Start")
	}
	entries, err := os.ReadDir(r.tf.processes)
	if err != nil {
		r.tf.t.Fatal(err)
	}
	killed := 0
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !inGroup(r.cmd, pid) {
			continue
		}
		p, err := os.FindProcess(pid)
		if err == nil && p.Kill() == nil {
			killed++
		}
		if err := os.Remove(filepath.Join(r.tf.processes, entry.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.tf.t.Fatal(err)
		}
	}
	if killed == 0 {
		r.tf.t.Fatalf("no provider process runs\n%s", r.out.String())
	}
	return killed
}

// AwaitOutput waits until terraform has written the text.
func (r *Run) AwaitOutput(text string) {
	r.tf.t.Helper()
	ctx, cancel := context.WithTimeout(r.tf.t.Context(), commandLimit)
	defer cancel()
	for {
		all, changed := r.out.state()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-changed:
		case <-r.done:
			if strings.Contains(r.out.String(), text) {
				return
			}
			r.tf.t.Fatalf("terraform %s has ended without writing %q:\n%s", strings.Join(r.args, " "), text, r.out.String())
		case <-ctx.Done():
			r.killAll()
			r.tf.t.Fatalf("terraform %s does not write %q:\n%s", strings.Join(r.args, " "), text, r.out.String())
		}
	}
}

// Wait waits for the end of the command.
func (r *Run) Wait() *Result {
	r.tf.t.Helper()
	limit := time.NewTimer(commandLimit)
	defer limit.Stop()
	select {
	case <-r.done:
	case <-limit.C:
		r.killAll()
		<-r.done
		r.tf.t.Fatalf("terraform %s did not end within %s:\n%s", strings.Join(r.args, " "), commandLimit, r.out.String())
	}
	if r.tf.served != nil {
		r.tf.served.wait()
	}
	res := &Result{t: r.tf.t, Args: r.args, all: r.out.String()}
	r.stdoutMu.Lock()
	res.Stdout = r.stdout.String()
	r.stdoutMu.Unlock()
	var exit *exec.ExitError
	switch {
	case r.err == nil:
	case errors.As(r.err, &exit):
		res.Code = exit.ExitCode()
	default:
		r.tf.t.Fatalf("terraform %s: %v", strings.Join(r.args, " "), r.err)
	}
	return res
}

func (r *Run) killAll() { killGroup(r.cmd) }

// Result is how a command ended.
type Result struct {
	Args   []string
	Code   int
	Stdout string

	t   testing.TB
	all string
}

// Output returns everything that was written, in its order.
func (r *Result) Output() string { return r.all }

// Text returns the output as running text: without the frames around messages
// and without the line breaks that depend on the width of a terminal.
func (r *Result) Text() string {
	return strings.Join(strings.Fields(frames.Replace(r.all)), " ")
}

var frames = strings.NewReplacer("╷", " ", "│", " ", "╵", " ")

// Succeeds fails the test unless the command ended with 0.
func (r *Result) Succeeds() *Result {
	r.t.Helper()
	if r.Code != 0 {
		r.t.Fatalf("terraform %s ended with %d:\n%s", strings.Join(r.Args, " "), r.Code, r.all)
	}
	return r
}

// Fails fails the test unless the command ended with an error and says each of
// the texts.
func (r *Result) Fails(texts ...string) *Result {
	r.t.Helper()
	if r.Code == 0 {
		r.t.Fatalf("terraform %s succeeded:\n%s", strings.Join(r.Args, " "), r.all)
	}
	return r.Says(texts...)
}

// Says fails the test unless the running text holds each of the texts.
func (r *Result) Says(texts ...string) *Result {
	r.t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.Text(), strings.Join(strings.Fields(text), " ")) {
			r.t.Fatalf("terraform %s does not say %q:\n%s", strings.Join(r.Args, " "), text, r.all)
		}
	}
	return r
}

// SaysNot fails the test when the running text holds one of the texts.
func (r *Result) SaysNot(texts ...string) *Result {
	r.t.Helper()
	for _, text := range texts {
		if strings.Contains(r.Text(), strings.Join(strings.Fields(text), " ")) {
			r.t.Fatalf("terraform %s says %q:\n%s", strings.Join(r.Args, " "), text, r.all)
		}
	}
	return r
}

// output collects what a command writes and tells who waits for more.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	close(o.changed)
	o.changed = make(chan struct{})
	return len(p), nil
}

func (o *output) String() string {
	s, _ := o.state()
	return s
}

func (o *output) state() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

// stdoutOf keeps standard output apart as well.
type stdoutOf struct{ r *Run }

func (w stdoutOf) Write(p []byte) (int, error) {
	w.r.stdoutMu.Lock()
	w.r.stdout.Write(p)
	w.r.stdoutMu.Unlock()
	return w.r.out.Write(p)
}
