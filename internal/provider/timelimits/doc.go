// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package timelimits holds the attribute timeouts of the resources that are made, read, changed and deleted in the usual time.
//
// It may import the framework's timeouts module. Its main rule: every verb has the same default, which the descriptions state.
package timelimits
