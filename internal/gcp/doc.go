// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package gcp is the provider's client of Google Cloud: Cloud Run jobs, IAM service accounts, Cloud Storage buckets with their policies,
// the policies of secrets, never a secret's payload, and log entries. It knows nothing of Terraform. Beside the emulator it is the only place that imports Google's client libraries; callers see
// the API's own messages (runpb, adminpb, storage/v1, secretmanagerpb, loggingpb), never a client.
//
// Its main rules:
//
//   - Every error that reaches a caller is an [*Error]: Google's text, code and reason, and whether the call may have taken effect.
//   - There is one retry policy (retry.go). A call is sent again only when that is harmless, or when the answer proves that nothing was
//     accepted. What was refused for its content, or for want of quota, is never sent again.
//   - Reads of many things at once are answered together (gathering.go), by data that is never older than the question, and need no
//     permission that single reads do not need.
//   - Policies are changed by read, merge and write with the policy's etag; entries of others survive.
//   - A token is sent over TLS only. Plain http reaches this machine, and never carries a token.
package gcp
