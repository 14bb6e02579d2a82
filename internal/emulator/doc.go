// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package emulator is a local Google Cloud for jobs: Cloud Run jobs with
// executions that really run, service accounts, Cloud Storage, Secret Manager and
// Cloud Logging on one loopback port, by gRPC and by REST.
//
// A request goes this way: guard (is the caller a program on this machine) →
// faults (record, and cut what is to be cut) → Cloud Storage, the control API,
// or the transcoder in front of the gRPC services. Each API is a room of its
// own below this package: run, iam, storage, secretmanager, logging; operations,
// faults, clock, store and runner are what they share. README.md is for users, and
// says what was checked against what.
//
// Where to find what: emulator.go and server.go are the outside; world.go holds the
// rooms over one store, which a reset replaces; control.go and controlcalls.go are
// the control API, forward.go moves the clock, seed.go makes a world from a document,
// record.go shows calls; guard.go, rest.go, codec.go and envelope.go are the way in
// and out; narrate.go tells a person who watches.
//
// Only tests and cmd/resilientjob-emulator import it. Its main rule: it does
// what the real service was seen to do; behaviour that only flatters the
// provider is a defect.
package emulator
