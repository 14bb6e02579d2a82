// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package providerdata holds what the configured provider hands to its
// resources and data sources.
//
// The package may import the framework, the other small rooms and gcp. Its
// main rule: a resource gets everything about the provider from here, and
// reads neither the environment nor the provider's schema.
//
// At plan the provider's configuration may hold values that are not known yet
// (a project that the same apply creates). [Data.Deferred] then says so: plan
// and read make no call and keep what they have, and no error is raised.
package providerdata
