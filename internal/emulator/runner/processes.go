// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"errors"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
)

// The values of Options.Mode and Processes.Mode.
const (
	ModeNamespace = "namespace"
	ModeRewrite   = "rewrite"
)

// DefaultGrace is the time between SIGTERM and SIGKILL on Cloud Run.
const DefaultGrace = 10 * time.Second

// Options of NewProcesses. The zero value is usable.
type Options struct {
	// Images says what to start for a container without a command; the first pattern that matches wins.
	Images []Image
	// Grace is the time between SIGTERM and SIGKILL; zero means DefaultGrace.
	Grace time.Duration
	// Clock measures grace and timeouts; nil means the real one.
	Clock clockwork.Clock
	// Logger gets a line about the mode and about what goes wrong beside the tasks; nil drops them.
	Logger *slog.Logger
	// Mode is ModeNamespace (fail when it is not to be had), ModeRewrite, or empty: the first if possible, else the second.
	Mode string
	// Environ is the host's environment, from which PATH, HOME and the like are taken, and nothing else; nil means os.Environ.
	Environ []string
}

// Processes is the Launcher that starts real processes.
type Processes struct {
	options Options
}

// NewProcesses returns a launcher of real processes, having tried once which mode works on this machine. The program
// must have called MaybeInit first thing in main (in TestMain when it is a test).
func NewProcesses(o Options) (*Processes, error) {
	return &Processes{options: o}, nil
}

// Mode returns ModeNamespace or ModeRewrite.
func (p *Processes) Mode() string { return ModeRewrite }

// Why says in one sentence why the mode is not ModeNamespace; empty when it is.
func (p *Processes) Why() string { return "" }

// Launch implements Launcher.
func (p *Processes) Launch(Task, func(stream, line string)) (Attempt, error) {
	return nil, errors.New("not available yet")
}

// MaybeInit must be called first thing in main (and in TestMain) of every program that launches processes. It returns at once,
// unless this process was started by Launch as a task's parent: then it does that work and never returns.
func MaybeInit() {}
