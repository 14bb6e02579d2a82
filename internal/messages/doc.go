// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package messages reads and writes the files in which the provider's refusals
// and warnings are written down, each with the configuration that causes it: a
// test holds the provider to them, and a page of the documentation is made of
// them.
//
// A file is plain text, so that it can be read and reviewed as it is. It begins
// with the title of its group and a paragraph, and goes on with cases:
//
//	==== what is wrong
//	do: import
//	environment: NAME=VALUE
//	---- before
//	the configuration that was applied before
//	---- wrong
//	the configuration that causes the message
//	---- right
//	the configuration without the mistake
//	---- says
//	error gpu_type
//	Summary
//	The detail.
//
// Only the title and the part "wrong" must be there.
//
// The package imports nothing of this project, and is imported by tests and by the
// generator of pages alone. Its main rule: what a file says is what the provider
// said when it was written by -update, word for word.
package messages
