// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package gpujob holds the resource resilientjob_gpu_job: a Cloud Run job, the
// service account that it runs as (unless one is named) and what that account
// is granted.
//
// It may import the small shared rooms of the provider, resilience and gcp, and
// reads Google's message types through gcp's return values.
//
// Its main rule: one way for the data. A model becomes a request in expand.go, a
// job of the API becomes a model in flatten.go, both pure; every verb ends in one
// read; what the plan knew is returned as planned. What was made is put into the
// response before anything is waited for, so that an error loses nothing.
//
// # Life cycle
//
// A resource is up to three things: the job, the account (owned: made here and
// marked with the job's full name as its description) and grants. They may exist
// in any combination, whatever the state says. "Owned" rows do not apply to a
// named account.
//
//	what exists             | state says        | plan           | create, update or delete
//	------------------------+-------------------+----------------+-----------------------------------------------
//	nothing                 | nothing           | create         | account, grants, job
//	no bucket               | nothing           | create         | error at checkpoint.bucket, nothing written
//	bucket, no right to     | nothing           | create         | error that names the right, nothing written
//	  set its policy        |                   |                |
//	job                     | nothing           | create         | error with the import command, nothing written
//	job and account         | nothing           | create         | the same
//	account, our marker     | nothing           | create         | account adopted (a provider was killed), grants, job
//	account, other marker   | nothing           | create         | error, nothing written
//	account and grants      | tainted, uid null | replace        | both removed, then everything made
//	job failed to reconcile | tainted           | replace        | everything removed, then made
//	everything              | everything        | no change      | -
//	everything              | everything        | update         | live job read, changed where managed, written with
//	                        |                   |                |   its etag; new grants before, revocations after
//	everything              | everything        | update of what | state only, no call
//	                        |                   |   only we know |
//	job failed to reconcile | everything        | labels unknown | sent again
//	no job                  | everything        | uid unknown    | job made again with the same account and grants
//	no account (owned)      | everything        | unique id      | account made again, grants given again, job kept
//	                        |                   |   unknown      |
//	account made again by   | everything        | grants come    | the new account is adopted when it carries our
//	  somebody (owned)      |                   |   back         |   marker, else the error says whose it is
//	a grant is missing      | everything        | grants come    | given again, the job is not written
//	                        |                   |   back         |
//	nothing (named: no job, | everything        | create         | as in the first row
//	  no grants)            |                   |                |
//	execution running       | everything        | destroy, with  | refused by name; with cancel_running_executions in
//	                        |                   |   a warning    |   state cancelled and waited for first
//	execution running       | everything        | update that    | the same, before anything is written
//	                        |                   |   revokes      |
//	everything              | everything        | destroy        | job, grants, account by its unique id
//	nothing                 | everything        | destroy        | each step finds nothing and goes on
//	account made again,     | everything        | destroy        | job and grants; the account is left (its unique id
//	  other unique id       |                   |                |   is not the one in state)
//	anything                | the other world's | any            | refused: an emulator's uid is never taken for a
//	                        |                   |                |   real one, nor the other way round
package gpujob
