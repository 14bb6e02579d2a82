// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package build says which version and commit a program was built from, for
// the flag --version of both commands and for the provider's user agent.
//
// A release hands both over by the linker, as the variables version and commit of
// the command's package main; any other build says what the go command noted.
//
// The package imports the standard library alone. Its main rule: both commands and
// the user agent say the same.
package build
