// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command resilientjob-emulator is a local Google Cloud for resilientjob: it
// serves the APIs that the provider uses on one loopback port, runs executions
// as real processes, and preempts them on request or on a schedule.
//
// It may import the emulator and build. Its main rule: the command reads flags and
// prints lines; whatever tests need, too, is in the emulator.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func main() {
	runner.MaybeInit()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Tasks get ten seconds to end; a second signal does not wait for them.
	context.AfterFunc(ctx, stop)
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
