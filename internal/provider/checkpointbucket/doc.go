// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package checkpointbucket holds the resource resilientjob_checkpoint_bucket: a Cloud Storage bucket whose defaults fit checkpoints.
//
// It may import the small shared rooms of the provider and gcp, and reads Google's message types through gcp's return values.
//
// Its main rule: one way for the data. A model becomes a request in expand.go, a bucket of the API becomes a model in flatten.go, both
// pure; every verb ends in one read. What the plan knew is returned as planned. What is not managed here stays as others made it: labels
// that are not configured, lifecycle rules of other kinds, members of the policy whom nobody configured here.
//
// # Life cycle
//
//	what exists              | state says        | plan     | create, update or delete
//	-------------------------+-------------------+----------+----------------------------------------------------
//	nothing                  | nothing           | create   | made
//	a bucket of our project  | nothing           | create   | error with the import command, nothing written
//	a bucket of others       | nothing           | create   | error that says so, nothing written
//	ours, its answer lost    | nothing           | create   | adopted when it was absent before, is our project's now and
//	                         |                   |          |   is what was asked for; otherwise an error
//	the bucket               | the bucket        | none     | -
//	the bucket, changed      | the bucket        | update   | live bucket read, changed where it differs, only if nobody
//	                         |                   |          |   changed it since
//	the bucket               | client-only change| update   | nothing is sent
//	nothing                  | the bucket        | create   | made
//	objects in it            | the bucket        | destroy  | refused with their number, nothing deleted; with
//	                         |                   |          |   force_destroy in state all is deleted, then the bucket
//	nothing                  | the bucket        | destroy  | done
//	anything                 | the other world's | any      | refused: a bucket of the emulator is never taken for one of
//	                         |                   |          |   Google Cloud, nor the other way round
//
// # Readers and writers
//
// Each configured member is granted one role beside everything that the policy holds. The attributes show the configured members that have
// their role, whoever gave it; the private state notes which of them this resource gave, and only those it revokes.
//
//	the policy               | state says        | configured | what happens
//	-------------------------+-------------------+------------+----------------------------------------------------
//	without the member       | -                 | yes        | granted, and noted as given
//	with the member          | -                 | yes        | nothing is written; it is not noted, and never revoked
//	with the member          | the member        | yes        | nothing, also where only the case of letters differs
//	without the member       | the member        | yes        | read drops it from the state and the note: the plan grants it again
//	with the member          | the member, given | no         | revoked, after everything that is new was granted
//	with the member          | the member        | no         | it leaves the state and stays in the policy
//	with a condition         | any               | any        | another grant, which is left alone
//	any                      | any               | destroy    | nothing is written: the policy goes with the bucket
//	a grant fails            | any               | yes        | one error; the state has what was granted, nothing is revoked
//	a revocation fails       | the member, given | no         | one error; it stays in the state, and the next apply tries again
//	any                      | nothing (import)  | -          | null: what others have granted is theirs
package checkpointbucket
