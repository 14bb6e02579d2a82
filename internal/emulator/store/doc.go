// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package store keeps what the emulator's rooms know: bytes under a key, in
// memory or written through to a folder, so that an emulator that is started
// again finds its jobs, accounts and buckets.
//
// It imports nothing of the emulator and knows nothing of what is stored. Its
// main rule: a record on disk is whole or absent, never half written. A folder
// says in its file "format" which form it has; older forms are read, newer ones
// refused.
package store
