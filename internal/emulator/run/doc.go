// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package run is Cloud Run's jobs API (v2: jobs, executions, tasks) and the
// controller that runs executions.
//
// It may import store, operations, faults and runner; accounts, buckets, secrets
// and logs come to it as interfaces. Its main rule: what a client sees has public
// evidence, or is a switch in Behaviour or a row of the table below.
//
// Where to find what: jobs.go, runjob.go, executions.go, tasks.go and policy.go
// are the API; reconcile.go lets jobs become ready; defaults.go and validate*.go
// are what the server fills in and refuses; controller.go and attempt.go run
// executions, outcome.go, conditions.go, logs.go and audit.go say how that looks;
// secrets.go checks the secrets that a job names, volumes.go prepares what a task
// sees; recovery.go takes over what an earlier emulator left; control.go is for
// tests and the control API.
//
// README.md of the emulator says what backs each behaviour; a guess names the
// cloud test that would settle it and, where there is one, its switch in Behaviour.
//
// What is not modelled: who calls (creator and last_modifier are one invented
// address), quota (script a fault), existence of images (SetImageMissing),
// networks, encryption keys, Cloud SQL sockets, probes, memory limits. NFS volumes
// are folders that tasks share. A job with several containers is kept as it is and
// its tasks cannot start. Scheduled preemption strikes tasks with and without GPU,
// so that a rehearsal without GPU shows it.
package run
