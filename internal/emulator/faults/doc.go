// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package faults records every call that the emulator gets and makes chosen
// ones go wrong: refused, cut before they have an effect, done and their answer
// lost, held up, or their operation ended otherwise than it would have been.
//
// It imports nothing of the emulator. Its main rule: a call is recorded before
// anything happens to it, so that a test can assert what was sent and what was
// not.
package faults
