// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package operations keeps the long-running operations of the emulator and
// serves them as Cloud Run does, below projects/*/locations/*/operations/*.
//
// It may import store and faults. Its main rule: the first answer of a call is
// never done, and what an operation does at its end happens once, whether or
// not anybody asks for the operation.
package operations
