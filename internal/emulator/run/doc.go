// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package run is Cloud Run's jobs API (v2: jobs, executions, tasks) and the
// controller that runs executions.
//
// It may import store, operations, faults and runner; accounts, buckets, secrets
// and logs come to it as interfaces. Its main rule: what a client sees has public
// evidence, or is a switch in Behaviour or a row of the table below.
package run
