// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package conformance holds the emulator against clients that nobody here wrote:
// Google's Go REST clients, its discovery-based Go clients, its Node.js packages
// and gcloud. Provider and emulator are one house and could be wrong together;
// these judges know neither.
//
// The package has tests only, and may import the emulator and any client of
// Google's. Its main rule: no client of this project takes part, and where a judge
// and the emulator differ, the emulator is wrong.
package conformance
