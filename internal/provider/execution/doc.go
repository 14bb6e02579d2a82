// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package execution holds the resource and the data source
// resilientjob_execution: one run of a Cloud Run job.
//
// Its main rule has two halves. A configuration runs exactly once: every run
// carries a key, a run that the provider lost sight of is found again by its
// key, and :run is sent again only where an answer proves that nothing was
// accepted. And Terraform's mechanics never end a run: an interrupt, a timeout,
// a lost permission or an outage only end the watching.
//
// What exists × what the state says:
//
//	plan     | state                | live execution       | what happens
//	---------+----------------------+----------------------+------------------------------------------------------
//	create   | none                 | none unfinished      | :run, then the wait
//	create   | none                 | unfinished, this key | adopted: no :run, then the wait
//	create   | none                 | unfinished, other    | refused by name, or :run with allow_concurrent
//	create   | none                 | finished, this key   | :run (a second run was asked for: replace, taint, destroy)
//	read     | finished             | anything             | no call
//	read     | not finished         | found                | state from the live execution
//	read     | not finished         | forgotten, job gone  | last known state is kept
//	update   | anything             | anything             | state only, no call
//	delete   | finished             | anything             | no call
//	delete   | not finished         | finished, forgotten  | removed from the state
//	delete   | not finished         | unfinished           | refused by name, or cancelled with cancel_on_destroy
//
// The files follow one direction each: expand.go turns a model into a request
// and the run's key; run.go starts exactly once; wait.go watches; read.go,
// delete.go and import.go are the other verbs; flatten.go turns an execution
// and its tasks into the model; state.go and explain.go are the pure functions
// that say what an execution is doing and why a task failed.
//
// The package may import the small shared rooms of the provider, resilience and
// gcp, and reads Google's message types through gcp's return values.
package execution
