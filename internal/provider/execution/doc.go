// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package execution holds the resource and the data source
// resilientjob_execution, one run of a Cloud Run job, and the data source
// resilientjob_executions, the runs of a job.
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
//	delete   | not finished, deposed| unfinished           | refused by name, or with cancel_on_destroy let go
//
// Finished executions with the key are not adopted: a run that ended while
// Terraform was killed during the create cannot be told from one that was asked
// for again. Within one apply a second resource with the same key is an error,
// and a replacement that is created first takes the run over. Since its old,
// deposed object may share the run, also after an apply that was interrupted,
// only the destroy of a current object cancels: see mayCancel.
//
// The files follow one direction each: plan.go decides what runs the job again;
// expand.go turns a model into a request and the run's key; run.go starts exactly
// once; wait.go watches; resource.go (create, update), read.go, delete.go and
// import.go are the verbs; flatten.go turns an execution and its tasks into the
// model; validate.go checks single values; state.go and explain.go are the pure functions that say what an
// execution is doing and why a task failed; report.go puts it into words.
//
// The package may import the small shared rooms of the provider, resilience and
// gcp, and reads Google's message types through gcp's return values.
package execution
