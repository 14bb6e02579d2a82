// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package managedmap holds maps of strings of which only some keys are managed: labels and annotations, which other people and Google's own
// tools write, too.
//
// It may import value. Its main rule: a key that is not configured, and was not configured before, is never written and never taken away.
package managedmap
