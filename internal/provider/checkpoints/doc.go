// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package checkpoints holds the data source resilientjob_checkpoints: the newest
// checkpoint of each task, as the objects of a bucket show it.
//
// Its main rule: what is not certainly whole is no checkpoint. An object under a
// temporary name, a folder marker and a folder without its marker file do not
// count, and nothing is guessed from names: what says which task wrote an object
// is the configuration's pattern.
//
// The files follow one direction each: pattern.go is the pure language of name
// patterns; collect.go goes through a list of objects once and keeps the newest
// of each series, in memory that does not grow with the bucket; schema.go and
// datasource.go are Terraform's side.
//
// The package may import the small shared rooms of the provider, resilience and
// gcp, and reads Google's message types through gcp's return values.
package checkpoints
