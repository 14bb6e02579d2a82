// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
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
	// Logger gets a line about the mode and one about each process; nil drops them.
	Logger *slog.Logger
	// Mode is ModeNamespace (fail when it is not to be had), ModeRewrite, or empty: the first if possible, else the second.
	Mode string
	// Environ is the host's environment, from which PATH, HOME and the like are taken, and nothing else; nil means os.Environ.
	Environ []string
}

// Processes is the Launcher that starts real processes.
type Processes struct {
	images    []Image
	grace     time.Duration
	clock     clockwork.Clock
	logger    *slog.Logger
	host      []string
	namespace *namespace // nil in ModeRewrite
	why       string
}

// maybeInitCalled is set by MaybeInit. Without it a task's parent would be a second emulator.
var maybeInitCalled bool

// NewProcesses returns a launcher of real processes, having tried once which mode works on this machine. The program
// must have called MaybeInit first thing in main (in TestMain when it is a test).
func NewProcesses(o Options) (*Processes, error) {
	if !maybeInitCalled {
		return nil, errors.New("runner.MaybeInit was not called: call it first thing in main, and in TestMain of tests")
	}
	for _, i := range o.Images {
		if i.Pattern == "" || len(i.Command) == 0 || i.Command[0] == "" {
			return nil, fmt.Errorf("the image rule %q needs a pattern and a command", i.String())
		}
	}
	if o.Grace < 0 {
		return nil, fmt.Errorf("the grace between SIGTERM and SIGKILL is %s; it cannot be negative", o.Grace)
	}
	p := &Processes{images: o.Images, grace: o.Grace, clock: o.Clock, logger: o.Logger}
	if p.grace == 0 {
		p.grace = DefaultGrace
	}
	if p.clock == nil {
		p.clock = clockwork.NewRealClock()
	}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	p.host = hostBasics(environ)

	switch o.Mode {
	case "", ModeNamespace:
		ns, err := probeNamespace()
		if err != nil && o.Mode == ModeNamespace {
			return nil, fmt.Errorf("tasks cannot be started in namespaces of their own on this machine: %w", err)
		}
		if err != nil {
			p.why = err.Error()
			p.logger.Warn("tasks run without namespaces: mount paths are rewritten in arguments and environment values", "reason", p.why)
			break
		}
		p.namespace = ns
		p.logger.Debug("tasks run in namespaces: mount paths are real")
	case ModeRewrite:
		p.why = "mode \"rewrite\" was asked for"
	default:
		return nil, fmt.Errorf("there is no mode %q: write %q or %q, or leave it out", o.Mode, ModeNamespace, ModeRewrite)
	}
	return p, nil
}

// Mode returns ModeNamespace or ModeRewrite.
func (p *Processes) Mode() string {
	if p.namespace != nil {
		return ModeNamespace
	}
	return ModeRewrite
}

// Why says in one sentence why the mode is not ModeNamespace; empty when it is.
func (p *Processes) Why() string { return p.why }

// Launch implements Launcher.
func (p *Processes) Launch(t Task, output func(stream, line string)) (Attempt, error) {
	s, err := p.spec(t)
	if err != nil {
		return nil, err
	}
	if output == nil {
		output = func(string, string) {}
	}
	out := newLines(output)
	proc, err := startProcess(s, p.namespace, out)
	if err != nil {
		return nil, fmt.Errorf("the task's process cannot be started: %w", err)
	}
	a := &attempt{
		name: t.Name, timeout: t.Timeout, grace: p.grace, clock: p.clock, timeoutClock: t.Clock, logger: p.logger,
		stop: make(chan Reason, 1), done: make(chan struct{}),
	}
	if a.timeoutClock == nil {
		a.timeoutClock = p.clock
	}
	go a.run(proc)
	return a, nil
}

// spec is everything that the process which becomes the task must know.
type spec struct {
	// Probe only tries whether the namespace can be built.
	Probe bool
	Argv  []string
	Env   []string
	Dir   string
	// Mounts are made when the task gets a namespace; Path has no symbolic link left in it.
	Mounts []Mount
	// NotFound is what a person can do when the program does not exist.
	NotFound string
}

func (p *Processes) spec(t Task) (spec, error) {
	argv, notFound, err := p.command(t)
	if err != nil {
		return spec{}, err
	}
	if t.Timeout < 0 {
		return spec{}, fmt.Errorf("the timeout %s is negative", t.Timeout)
	}
	if t.WorkingDir != "" && !path.IsAbs(t.WorkingDir) {
		return spec{}, fmt.Errorf("the working directory %q is not absolute: write it with a leading slash", t.WorkingDir)
	}
	mounts, err := checkMounts(t.Mounts)
	if err != nil {
		return spec{}, err
	}
	s := spec{Argv: argv, Env: environment(p.host, t.Env), Dir: t.WorkingDir, NotFound: notFound}
	if s.Dir == "" {
		if s.Dir, err = os.Getwd(); err != nil {
			return spec{}, fmt.Errorf("the folder in which the emulator was started is gone: %w", err)
		}
	}
	if p.namespace == nil {
		rewrite(&s, mounts)
	} else {
		for i := range mounts {
			if mounts[i].Path, err = resolveTarget(mounts[i].Path); err != nil {
				return spec{}, err
			}
		}
		s.Mounts = mounts
	}
	for _, text := range append(append([]string{s.Dir}, s.Argv...), s.Env...) {
		if strings.ContainsRune(text, 0) {
			return spec{}, errors.New("an argument, environment value or the working directory contains a NUL character, which no process can be given")
		}
	}
	return s, nil
}

// command is what to start, and what to say when it does not exist.
func (p *Processes) command(t Task) (argv []string, notFound string, err error) {
	if len(t.Command) > 0 {
		if t.Command[0] == "" {
			return nil, "", errors.New("the container's command is an empty string: write a program's name or leave the command out")
		}
		return join(t.Command, t.Args), "The emulator starts a container's command with the programs of this machine, not of the image: install it here, or put its folder on the PATH that the emulator is started with.", nil
	}
	for _, i := range p.images {
		if i.Matches(t.Image) {
			return join(i.Command, t.Args), fmt.Sprintf("The command comes from the emulator's flag --image with the pattern %q: install it here, put its folder on the PATH that the emulator is started with, or correct the flag.", i.Pattern), nil
		}
	}
	return nil, "", fmt.Errorf("the container has no command, and the emulator does not pull images, so it does not know what the image %q would start: "+
		"start the emulator with --image '%s=COMMAND' (a pattern with * may stand for several images), or give the container a command", t.Image, t.Image)
}

func join(a, b []string) []string {
	return append(append(make([]string, 0, len(a)+len(b)), a...), b...)
}

// checkMounts returns a copy with clean paths and real host folders.
func checkMounts(mounts []Mount) ([]Mount, error) {
	checked := make([]Mount, 0, len(mounts))
	for _, m := range mounts {
		clean := path.Clean(m.Path)
		switch {
		case !path.IsAbs(m.Path):
			return nil, fmt.Errorf("the mount path %q is not absolute: write it with a leading slash", m.Path)
		case clean == "/":
			return nil, errors.New("the mount path \"/\" would hide the whole file system: write a folder such as /checkpoints")
		case within(clean, "/dev"), within(clean, "/proc"), within(clean, "/sys"):
			return nil, fmt.Errorf("the mount path %q is reserved: nothing can be mounted at or below /dev, /proc and /sys", m.Path)
		}
		for _, other := range checked {
			if within(clean, other.Path) || within(other.Path, clean) {
				return nil, fmt.Errorf("the mount paths %q and %q are equal or nested: give each volume a folder of its own", other.Path, m.Path)
			}
		}
		dir, err := filepath.Abs(m.HostDir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("the host folder for the mount at %q cannot be used: %w", m.Path, err)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the host folder for the mount at %q cannot be used: %s is not a folder", m.Path, dir)
		}
		checked = append(checked, Mount{Path: clean, HostDir: dir, ReadOnly: m.ReadOnly})
	}
	return checked, nil
}

// within tells whether p is dir or below it; both are clean.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// resolveTarget follows the symbolic links of the host in the part of a mount path that exists, since the namespace is
// built before anything can be followed in it.
func resolveTarget(p string) (string, error) {
	existing, missing := p, ""
	for {
		found, err := filepath.EvalSymlinks(existing)
		if err == nil {
			info, err := os.Stat(found)
			if err != nil {
				return "", fmt.Errorf("the mount path %q cannot be made: %w", p, err)
			}
			if !info.IsDir() {
				return "", fmt.Errorf("the mount path %q cannot be made: %s is a file on this machine, not a folder", p, existing)
			}
			return path.Join(found, missing), nil
		}
		if !errors.Is(err, os.ErrNotExist) || existing == "/" {
			return "", fmt.Errorf("the mount path %q cannot be made: %w", p, err)
		}
		missing = path.Join(path.Base(existing), missing)
		existing = path.Dir(existing)
	}
}
