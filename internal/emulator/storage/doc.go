// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package storage is the emulator's Cloud Storage.
package storage
