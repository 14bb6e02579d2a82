// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package clock is the emulator's time: a clock that goes with another one and
// jumps ahead when it is told to. Every room of the emulator reads this one.
//
// It imports nothing of the emulator. Its main rule: a jump fires what falls due
// in the order in which it would have, and returns when the functions among it
// have returned.
package clock
