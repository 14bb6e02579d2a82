// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package resourcename knows how Google names things: the full names of jobs,
// executions, buckets and service accounts, the shorter forms that an import
// accepts, and the rules for a new name.
//
// A form that Parse accepts is read generously, because the thing may exist
// already; the Check functions hold the rules for what a configuration may
// create. Every error quotes what was written and says what to write instead.
//
// The package imports nothing but the standard library, so that every other
// room can use it. Its main rule: Parse of String is the same name again.
package resourcename
