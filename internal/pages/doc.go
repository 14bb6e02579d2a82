// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command pages writes the pages of the documentation that are made from the
// code's own tables, as templates for the documentation's generator.
//
// It may import the rooms whose tables it prints. Its main rule: a number on such
// a page comes from the table that the provider itself uses.
package main
