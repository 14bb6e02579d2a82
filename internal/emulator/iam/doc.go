// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package iam is the emulator's Identity and Access Management: service
// accounts with their life cycle, and the delay with which the rest of Google
// Cloud gets to know of them.
//
// It may import store. Its main rule: who asks decides what is there: a read of
// the account, a policy write and Cloud Run each have their own view.
package iam
