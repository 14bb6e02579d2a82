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
// in any combination, whatever the state says. Rows that speak of an account do
// not apply to a named one. Tests name their row.
//
//	row | what exists              | state says        | plan            | create, update or delete
//	----+--------------------------+-------------------+-----------------+----------------------------------------------
//	 1  | nothing                  | nothing           | create          | account, grants, job
//	 2  | no bucket                | nothing           | create          | error at checkpoint.bucket, nothing written
//	 3  | bucket, but no right to  | nothing           | create          | error that names the right, nothing written
//	    |   set its policy         |                   |                 |
//	 4  | job, with or without     | nothing           | create          | error with the import command, nothing written
//	    |   account                |                   |                 |
//	 5  | account, our marker      | nothing           | create          | account adopted (a provider was killed), grants,
//	    |                          |                   |                 |   job
//	 6  | account, other marker    | nothing           | create          | error, nothing written
//	 7  | account and grants       | tainted, uid null | replace         | both removed, then everything made
//	 8  | job of somebody else     | tainted, uid null | replace         | account and grants removed, the job left alone,
//	    |                          |                   |                 |   then as row 4
//	 9  | job that failed to       | tainted           | replace         | everything removed, then made
//	    |   reconcile              |                   |                 |
//	10  | everything               | everything        | no change       | no write
//	11  | everything               | everything        | update          | new grants; live job read, changed where managed,
//	    |                          |                   |                 |   written with its etag; revocations
//	12  | everything               | everything        | update of what  | state only, no call
//	    |                          |                   |   only we know  |
//	13  | job that failed to       | everything        | effective_labels| sent again
//	    |   reconcile              |                   |   unknown       |
//	14  | no job                   | everything        | uid unknown     | job made again, same account and grants
//	15  | a grant is missing       | everything        | grants come back| given again, the job is not written
//	16  | no account               | everything        | unique id       | account made again, grants given again, the job
//	    |                          |                   |   unknown       |   is not written
//	17  | account of the name, but | everything        | unique id       | adopted when it carries our marker, else an
//	    |   another unique id      |                   |   unknown       |   error that says whose it is
//	18  | nothing                  | everything        | create          | as row 1
//	19  | execution running        | everything        | destroy, warns  | refused by name; with cancel_running_executions
//	    |                          |                   |                 |   in the state cancelled and waited for
//	20  | execution running        | everything        | update that     | as row 19, before anything is written
//	    |                          |                   |   revokes, warns|
//	21  | everything               | everything        | destroy         | job, grants, account by its unique id
//	22  | nothing                  | everything        | destroy         | each step finds nothing and goes on
//	23  | account of the name, but | everything        | destroy         | job and grants; the account is left
//	    |   another unique id      |                   |                 |
//	24  | anything                 | the other world's | any             | refused: what the emulator made is not looked for
//	    |                          |                   |                 |   on Google Cloud, nor the other way round
//	25  | job of somebody else     | everything        | uid unknown,    | update refused; destroy removes account and
//	    |   under the name         |                   |   warns         |   grants, the job is left alone
//	26  | an account more, of a    | everything, the   | effective_labels| job settled first, then that account's grants
//	    |   change that failed     |   account noted   |   unknown       |   and the account; a destroy does the same
//	27  | as row 26                | everything, the   | as without it   | a destroy looks for accounts with our marker and
//	    |                          |   note lost by a  |                 |   removes them; without the right to list, a
//	    |                          |   taint or a kill |                 |   warning says what may be left
//	28  | everything, made by the  | deposed, uid null | destroy         | left alone: it is the replacement's
//	    |   replacement            |                   |                 |
//	29  | job of somebody else     | tainted, uid and  | replace,        | left alone, with account and grants: they are
//	    |   that runs as our       |   image null      |   destroy       |   that job's; a replace goes on as row 4
//	    |   account                |                   |                 |
package gpujob
