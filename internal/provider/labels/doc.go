// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package labels holds the three attributes that every resource with labels has: labels as the block writes them, terraform_labels with the
// provider's default_labels, and effective_labels with those of everybody else.
//
// It may import managedmap, value and providerdata. Its main rule: what the plan can know it says; only effective_labels may be open, and
// only while something managed changes.
package labels
