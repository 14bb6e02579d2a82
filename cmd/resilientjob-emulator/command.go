// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/build"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// version and commit are set by the linker in a release.
var version, commit string

// The exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `resilientjob-emulator is a local Google Cloud for resilientjob: Cloud Run jobs whose
executions run as real processes on this machine, service accounts, secrets, Cloud
Storage and Cloud Logging, by gRPC and by REST on one loopback port.

Usage: resilientjob-emulator [flags]

  resilientjob-emulator --image '*/train*=python3 train.py' --preempt-after 1m
  resilientjob-emulator --data ./cloud --seed world.json --control-token-file token

Then point clients at it: export RESILIENTJOB_EMULATOR_HOST=127.0.0.1:8085
The control API preempts tasks, lets calls go wrong, puts the clock ahead, resets and
seeds; with the token that is printed at the start:

  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8085/control/v1/
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"job": "train"}' http://127.0.0.1:8085/control/v1/preempt

Exit codes: 0 stopped by SIGTERM or SIGINT, 1 it cannot start or did not stop
cleanly, 2 the flags are wrong.

Flags:
`

// settings are the flags.
type settings struct {
	options   emulator.Options
	level     slog.Level
	tokenFile string
	seed      string
	record    string
	version   bool
}

// images collects --image.
type images []runner.Image

func (i *images) String() string { return "" }

func (i *images) Set(value string) error {
	image, err := runner.ParseImage(value)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--image "))
	}
	*i = append(*i, image)
	return nil
}

// duration is a flag's value that says what it takes.
type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil || v <= 0 {
		return errors.New("write a length of time such as 60s, 5m or 1h30m")
	}
	*d = duration(v)
	return nil
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("resilientjob-emulator", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is told below, in one line
	o := &s.options
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:8085", "listen on `HOST:PORT`, a loopback address; port 0 is any free one")
	flags.StringVar(&o.Data, "data", "", "keep everything in `FOLDER`; without it, in memory only")
	flags.Var((*images)(&o.Images), "image", "start COMMAND for containers without a command whose image matches PATTERN, as `PATTERN=COMMAND`; * in the pattern stands for any text; may be repeated, the first match counts")
	flags.Var((*duration)(&o.PreemptAfter), "preempt-after", "preempt the first attempt of each task when it has run for `DURATION`")
	flags.Var((*duration)(&o.PreemptEvery), "preempt-every", "preempt every attempt when it has run for `DURATION` (the first one after --preempt-after when that is given)")
	flags.TextVar(&s.level, "log-level", slog.LevelInfo, "say what happens from `LEVEL` on: debug, info, warn, error")
	flags.StringVar(&o.ControlToken, "control-token", "", "admit to the control API with `TOKEN`; without it, a random one is made")
	flags.StringVar(&s.tokenFile, "control-token-file", "", "write the control token to `FILE` when the emulator is ready, for scripts")
	flags.StringVar(&s.seed, "seed", "", "make what `FILE` says when the emulator is empty at its start; the README has its form")
	flags.StringVar(&s.record, "record", "", "append a line of JSON for each call to `FILE`, without payloads of secrets and tokens")
	flags.BoolVar(&s.version, "version", false, "print the version and exit")
	fail := func(format string, a ...any) (settings, error) {
		err := fmt.Errorf(format, a...)
		fmt.Fprintf(stderr, "%v (see --help)\n", err)
		return s, err
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		printFlags(flags, stderr)
		return s, err
	case err != nil:
		return fail("%s", strings.NewReplacer("flag -", "flag --", "defined: -", "defined: --").Replace(err.Error()))
	case flags.NArg() > 0:
		return fail("unexpected argument %q: the command has flags only", flags.Arg(0))
	case strings.ContainsAny(o.ControlToken, " \t\r\n"):
		return fail("--control-token must not contain blanks")
	}
	return s, nil
}

// printFlags lists the flags with two dashes, as they are written in the
// documentation.
func printFlags(flags *flag.FlagSet, w io.Writer) {
	flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if value != "" {
			value = " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  --%s%s\n    \t%s\n", f.Name, value, text)
	})
}

// command is the whole program but for signals, which end the context.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case s.version:
		fmt.Fprintln(stdout, build.Of(version, commit).Line("resilientjob-emulator"))
		return exitOK
	}
	s.options.Logger = newLogger(s.level, stdout)
	record, err := s.open()
	if err != nil {
		fmt.Fprintf(stderr, "the emulator cannot start: %v\n", err)
		return exitFailed
	}
	defer func() { _ = record.Close() }()
	e, err := emulator.Start(s.options)
	if err != nil {
		fmt.Fprintf(stderr, "the emulator cannot start: %v\n", err)
		return exitFailed
	}
	code := exitOK
	// The file first: a script that has seen the line below can read it.
	if err := writeToken(s.tokenFile, e.ControlToken()); err != nil {
		fmt.Fprintf(stderr, "the emulator cannot start: --control-token-file: %v\n", err)
		code = exitFailed
	} else {
		welcome(e, s, stdout)
		<-ctx.Done()
		s.options.Logger.Info("stopping: running tasks get SIGTERM, and SIGKILL after ten seconds")
	}
	if err := e.Close(); err != nil {
		fmt.Fprintf(stderr, "the emulator did not stop cleanly: %v\n", err)
		code = exitFailed
	}
	if code == exitOK {
		removeToken(s.tokenFile)
		s.options.Logger.Info("stopped")
	}
	return code
}

// open reads the seed and opens the record. What it returns is to be closed at the
// end; a nil file may be.
func (s *settings) open() (*os.File, error) {
	if s.seed != "" {
		seed, err := os.ReadFile(s.seed)
		if err != nil {
			return nil, fmt.Errorf("--seed: %w", err)
		}
		s.options.Seed = seed
	}
	if s.record == "" {
		return nil, nil
	}
	record, err := os.OpenFile(s.record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	s.options.Record = record
	return record, nil
}

// welcome says where the emulator is and how to use it.
func welcome(e *emulator.Emulator, s settings, stdout io.Writer) {
	kept := "in memory only"
	if s.options.Data != "" {
		kept = "in " + s.options.Data
	}
	fmt.Fprintf(stdout, "resilientjob-emulator %s listens on %s and keeps its data %s\n", build.Of(version, commit).Version, e.Addr(), kept)
	if e.TaskMode() == runner.ModeNamespace {
		fmt.Fprintln(stdout, "tasks run as processes of this machine, with their mounts at the paths of the job")
	} else {
		fmt.Fprintln(stdout, "tasks run as processes of this machine; mount paths are rewritten in their arguments and environment values, because namespaces are not available here")
	}
	fmt.Fprintf(stdout, "to use it: export RESILIENTJOB_EMULATOR_HOST=%s\n", e.Addr())
	fmt.Fprintf(stdout, "control token: %s\n", e.ControlToken())
}

// writeToken writes the file whole, for its owner only; no path, no file.
func writeToken(path, token string) error {
	if path == "" {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".control-token-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.WriteString(token + "\n")
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// removeToken removes the file: the token is of no use any more.
func removeToken(path string) {
	if path != "" {
		_ = os.Remove(path)
	}
}
