// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package acctest is what acceptance tests stand on: the target (an emulator of
// their own, or Google Cloud), the provider bound to it, and the real command
// line, which a test can interrupt, and whose provider it can kill.
//
// A package with acceptance tests hands its TestMain over:
//
//	func TestMain(m *testing.M) { acctest.Main(m) }
//
// and its tests choose. A test that runs on either target starts with
//
//	e := acctest.Target(t) // nil on Google Cloud
//
// and one that needs the emulator (faults, request counts, a scripted task)
// with acctest.Emulator(t), which says so, and skips, on Google Cloud.
// RESILIENTJOB_ACC_TARGET=gcp chooses Google Cloud, with the project, region
// and credentials of the environment; unset or "emulator" is the emulator.
//
// Then the command line, when the test is about Terraform itself:
//
//	tf := acctest.CLI(t, e)
//	tf.Write(acctest.ProviderConfig(e) + `resource ...`)
//	tf.Apply().Succeeds()
//
// Its provider is in the test's own process, one for each connection that
// terraform makes where it would start a process: starting one costs more than
// everything else that a command does. A test that is about processes, because it
// kills one or reads what it logs, says tf.Processes().
//
// What is about the provider alone needs no command line: a core.Folder has the
// same commands and answers in milliseconds.
//
// A state that resources of Google's provider stand in is written by tf.WriteState.
//
// Without TF_ACC these tests are skipped; with TF_ACC=1 a missing terraform is
// a failure, never a skip.
//
// The package may import everything; tests that use it live in external test
// packages (package gpujob_test), because it imports the provider, which
// imports all resources. Its main rule: nothing here is global to a process, so
// that tests run in parallel.
package acctest
