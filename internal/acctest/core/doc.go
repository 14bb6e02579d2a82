// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package core is Terraform's core in process, with our provider alone: it
// carries out configurations in milliseconds, so that a whole life of a resource
// can be gone through once for every call and every fault.
//
// It follows the rules of Terraform 1.11, read in its source and checked against
// the installed command line by this package's test: what a plan proposes, when
// it is valid, when an apply is consistent; that a failed create is tainted, that
// a tainted object is planned as if there were none, and destroyed with the
// private data of that plan; that a failed update keeps what the response says;
// that an object whose provider was killed in an update keeps its value and
// loses its private data, and one whose provider was killed in a create is not
// recorded at all; that every plan is made once more in the process that
// applies; that a destroy is preceded by a whole plan.
//
// What differs: resources are gone through one after the other, in the order of
// the file where references leave it open, so that calls have the same order in
// every run. Of the language it knows resource blocks with expressions over
// other resources, lifecycle.create_before_destroy and the provider block.
//
// The package may import acctest and the emulator, and only tests may import it.
// Its main rule: nothing here is kinder than Terraform.
package core
