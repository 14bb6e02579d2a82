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
// volumes.go prepares what a task sees; recovery.go takes over what an earlier
// emulator left; control.go is for tests and the control API.
//
// # What backs the behaviour
//
// Recorded: HTTP traffic of the real service. Event: a real audit event, or real
// output in a public report. Proto: a comment of the API definition. Documented:
// Google's pages. Guess: none of these; the third column says which test against
// the cloud would settle it, and a name in brackets is the switch.
//
//	behaviour                                     | backed by            | cloud test that would settle it
//	----------------------------------------------|----------------------|--------------------------------
//	first and last answer of create, update,      | recorded             |
//	  delete; defaults; zero values; generation;   |                      |
//	  Ready condition; 404 of a job                |                      |
//	etag form; the same through reconciling        | recorded             |
//	stale etag on update: 409 and its text         | event (services)     | update a job twice with one etag [StaleEtagOnUpdate]
//	stale etag on delete, run, cancel              | guess: as on update  | the same for each call [StaleEtagOnDelete, …OnRun, …OnCancel]
//	a run does not change the job's etag           | guess                | read, run, update with the etag [RunChangesEtag]
//	labels alone do not raise the generation       | guess                | patch a label, read the generation [MetadataRaisesGeneration]
//	validate_only answers done, with response      | guess                | create with validate_only, poll its operation [ValidateOnlyForm]
//	cpu and memory as sent                         | recorded; reports differ | create with cpu "8", read back [RespellQuantities]
//	limits of a GPU job without limits             | guess: the minimum   | create with accelerator only, read back [GPULimits]
//	GPU minimum of cpu and memory                  | documented; text guessed | create an L4 job with 2 CPU
//	GPU regions                                    | documented (ages); text guessed | create an L4 job in europe-north1 [GPURegionsOpen]
//	launch_stage is read back lowered              | proto                | create with BETA, read back [LaunchStageAsSent]
//	GPU timeout above 1 h needs BETA               | documented as preview; feature name guessed | create with 2 h in GA [GPUTimeoutStage]
//	timeout above 24 h without GPU is GA           | documented           | create with 25 h in GA [LongTimeoutStage]
//	GPU timeout above 12 h is accepted             | tutorials; pages say 12 h | create with 13 h in BETA [GPUTimeoutLimit]
//	job name up to 63 characters                   | code in production; text guessed | create with 50 and with 64 characters [JobNameLimit]
//	memory range per cpu, its text; reserved env,  | event                |
//	  its text; gen1, its text; actAs, its text    |                      |
//	fewer than 1 CPU refused; cpu 1, 2, 4, 6, 8    | event, documented; text guessed | create with 500m and with 3
//	labels and annotations of system namespaces    | proto; text guessed  | create with a run.googleapis.com label
//	all other refusals                             | proto or documented; text guessed | one create for each
//	nested mount paths are accepted                | guess                | create with mounts /a and /a/b
//	execution token: name, drop by another run,    | proto, event         |
//	  409 when the name is taken                   |                      |
//	the job's own token sent again starts a run    | guess                | create with a token, update without changing it [SameTokenIgnored]
//	operation of a run token without response      | event, once          | create with a run token, poll [TokenOperationWithoutResponse]
//	failed run token: Ready FAILED                 | guess                | create with a run token and a failing program
//	run of a job that is not Ready: 400            | guess                | run a job whose image is missing [RunUnreadyJob]
//	latest_created_execution {} before a run       | recorded; one older trace differs | [LatestCreatedExecutionEpoch]
//	short name there                               | fixtures             | run, read the job [LatestCreatedExecutionFullName]
//	no labels of the v1 view                       | guess                | run, read the v2 execution [SystemLabels]
//	list below a missing job is empty              | guess                | list it [ListOfMissingJob]
//	order of tasks: by index; page size 100        | guess                | list 200 tasks
//	execution name alphabet; answer to run; phases;| events and fixtures  |
//	  messages; times in messages; reasons; counts |                      |
//	Completed while running: RECONCILING           | fixtures have both   | read a running execution [RunningCompleted]
//	message wording                                | event (2026, 2024)   | [MessageForm]
//	etag and update time of an execution stay      | guess                | read a running and a finished execution
//	parallelism unset is shown as min(tasks, 100)  | guess                | run 200 tasks, read the execution [MaxParallelism]
//	a failed task leaves the other tasks running   | guess                | run two tasks, one failing at once
//	deleted execution: cancelled first             | fixture              | delete a running execution [DeleteRunningRefused]
//	run operation of a deleted execution: done     | guess                | the same, poll the run operation
//	cancelled before the start: no completion time | fixture              | cancel at once [CancelledPendingHasCompletionTime]
//	cancel operation ends with the execution       | fixtures have three  | cancel a running execution [CancelOperation]
//	a task that ends with 0 after a cancel is      | guess                | cancel a program that exits 0 on SIGTERM
//	  cancelled                                    |                      |
//	attempt: exit code, timeout, platform failure, | event, fixtures      |
//	  cancel                                       |                      |
//	attempt killed by a signal: term_signal, 10    | guess                | a program that kills itself [SignalResult]
//	attempt over its memory: 8, term_signal 9      | message: event; codes: guess | a program that takes all memory [MemoryResult]
//	attempt preempted: as the process ended        | guess                | wait for maintenance of a GPU task [PreemptionResult]
//	entry of a preemption                          | text: documented; form: guess | the same [PreemptionLog]
//	attempt whose mount or start failed: 10 and    | guess                | run without a grant on the bucket [StartFailure]
//	  the cause; it is retried                     |                      |
//	image gone at the run: fails before tasks      | guess                | delete the tag between create and run [ImagePullFailure]
//	entries of exit, signal, timeout; audit events | events               |
//	mount needs objects.list; without              | guess                | run with objectCreator, and with objectViewer and a write
//	  objects.create it is read-only               |                      |
//	a task has started when its container has      | guess                | run without a grant on the bucket, read the task
//
// What is not modelled: who calls (creator and last_modifier are one invented
// address), quota (script a fault), existence of images (SetImageMissing) and of
// secrets at create, networks, encryption keys, Cloud SQL sockets, probes, memory
// limits. NFS volumes are folders that tasks share. A job with several containers
// is kept as it is and its tasks cannot start. Scheduled preemption strikes tasks
// with and without GPU, so that a rehearsal without GPU shows it.
package run
