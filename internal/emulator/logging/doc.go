// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package logging is the emulator's Cloud Logging: entries are written, listed
// in order and page by page, and filtered by a real subset of the query
// language.
//
// It may import store. Its main rule: a filter that it does not understand is an
// error, never an empty or a full answer.
package logging
