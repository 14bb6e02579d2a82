// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package placement says where a resource is: its name, its project and its location, as attributes and in a plan.
//
// It may import value, resourcename and providerdata. Its main rule: a resource that exists stays where it is while neither its block nor
// the provider names another place; a change of place is always a replacement.
package placement
