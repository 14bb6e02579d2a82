// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package secretmanager is the emulator's Secret Manager: secrets, their
// versions and payloads, and their IAM policies. Regional secrets are not there.
//
// It may import store; accounts come to it as an interface. Its main rule: a
// payload leaves it by AccessSecretVersion and Access only. No error and no log
// line holds one.
//
// Where to find what: secrets.go and versions.go are the API, expiry.go lets time
// end secrets and versions, policy.go, members.go, roles.go and allowed.go say
// who may do what, records.go is what is kept, filter.go and page.go serve lists.
package secretmanager
