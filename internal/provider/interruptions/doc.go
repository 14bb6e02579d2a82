// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package interruptions holds the data source resilientjob_interruptions: when
// and which attempt of a task was interrupted, read from Cloud Logging.
//
// The files follow one direction: filter.go says in the Logging query language
// which entries are wanted; entry.go tells what one entry says; attempts.go joins
// the entries of one attempt into one interruption and drops what was a timeout
// or a cancel; search.go reads until there are enough; datasource.go is the
// schema and the verb. The first three are pure.
//
// The package may import the small shared rooms of the provider and gcp, and
// reads Google's message types through gcp's return values. Its main rule: what
// the platform is not documented to write is not relied on. Which log holds its
// message, in which kind of payload and with which labels, is left open; one
// attempt is one interruption however often it is told of; and what the logs do
// not say stays null.
package interruptions
