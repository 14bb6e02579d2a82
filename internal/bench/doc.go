// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command bench measures what users feel, as whole processes: the provider's start, and apply, plan without changes and destroy of many
// jobs on one bucket, by the installed terraform on the emulator's own process, with requests and memory. It writes the table of
// BENCHMARKS.md to its standard output. It is in no archive of a release.
//
// It may import nothing of the project: it runs what users run. Its main rule: a figure is what was measured, however busy the machine was.
package main
