// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package sweep goes through whole lives of the resources, and lets every call of
// them go wrong in every way. It has tests only.
//
// A life is a sequence of configurations: create, each kind of update, a run, and
// at the end the destroy. It is gone through once without a fault; then again for
// each call and each fault, with what must hold after each command: the state
// knows everything that there is and that nobody else made; nothing is there
// twice; a configuration has run once; what others have put there is untouched;
// an error says what, where and what to do; and the same apply once more
// converges. testdata/matrix.txt keeps how each ended, so that a change of
// behaviour is a difference in a review.
//
// Its tests may import everything. Its main rule: a point that fails is mended in
// the provider, never taken out of the sweep.
package sweep
