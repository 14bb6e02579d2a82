// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package refusal says in words why Google refused something: which kind of
// refusal it is, which resource, region, role or quota it is about, and what to
// do next, with Google's own text beneath.
//
// It knows texts, not calls: rules.go lists what is recognised, one rule for a
// kind of text. A text is recognised only as far as it was seen; one that is
// not known is passed on with its status and nothing is guessed about it.
//
// The package may import the framework, gcp and diags. Its main rule: a rule
// needs nothing but the text and the [Subject], makes no call, and never fails.
package refusal
