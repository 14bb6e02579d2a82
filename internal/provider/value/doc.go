// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package value holds the attribute values that can be written in more than
// one way: durations ("12h" and "720m"), quantities of CPU and memory ("8" and
// "8000m", "32Gi" and "34359738368") and locations ("US-CENTRAL1" and
// "us-central1").
//
// Each is a custom string type with semantic equality. Terraform plugin
// framework compares semantically only after create, read and update, so that
// a schema needs a second thing: [KeepEqual], the plan modifier that keeps the
// state's spelling where the configuration says the same in other words. It
// stands before RequiresReplace in the list of plan modifiers, because a
// modifier sees what the ones before it have planned. An attribute that uses
// one of the types therefore always has three parts:
//
//	schema.StringAttribute{
//		CustomType:    value.DurationType{},
//		PlanModifiers: []planmodifier.String{value.KeepEqual()},
//		Validators:    []validator.String{value.DurationBetween(time.Second, 168*time.Hour)},
//	}
//
// One mistake gives one message: every validator here checks the spelling
// itself, so that an attribute has exactly one of them.
//
// The package may import the framework, parsers and resourcename. Its main rule: what is shown to a user is the spelling that the user chose,
// or else the shortest one; what is sent to Google is one canonical spelling.
package value
