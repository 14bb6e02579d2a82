// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command pages writes the pages of the documentation that are made from the
// code's own tables and from the messages that the tests hold the provider to, as
// templates for the documentation's generator.
//
// It may import the rooms whose tables it prints, and messages. Its main rule: a
// number or a text on such a page comes from where the provider itself has it, or
// from a file that a test compares with it.
package main
