// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package diags turns the errors of Google's APIs into diagnostics.
//
// Its main rule: one failure is one diagnostic of one form: what was attempted on
// which resource, Google's own text and status beneath, and what to do next. The
// text of Google is never paraphrased, because it is what people search for.
//
// The package may import the framework and gcp.
package diags
