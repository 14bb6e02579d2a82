// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command leftovers deletes what acceptance tests left in a project of Google
// Cloud: jobs with their executions, buckets with their objects, and service
// accounts whose names begin as those of tests do. It is for a time when no test
// runs there, and is in no archive of a release.
//
// It may import gcp. Its main rule: what has another name is not touched.
package main
