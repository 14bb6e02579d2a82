// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package functions holds the provider's functions, one a file: they answer
// before anything is planned what a job's times and retries should be, and what
// they can cost.
//
//	checkpoint_interval  how much work to do between two checkpoints
//	required_retries     how many retries are enough for the work of a task
//	exposure             the most that one execution can use
//
// A function is pure: no client, no clock, no provider configuration. What it
// computes stands in resilience, where the plan of a job has it from, too, so
// that both always agree.
//
// Its main rule: an object that a function takes has the names and the defaults
// of the job's schema. A key that does not exist, which Terraform would drop in
// silence from an attribute, is refused, and what is wrong in one key is said of
// that key. A value that is not known yet makes the result unknown; mistakes in
// the rest are told all the same.
//
// The package may import the framework, resilience and the small shared rooms
// value and resourcename. The object of an argument is read in object.go.
package functions
