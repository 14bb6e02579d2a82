// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package provider is the Terraform side of the module, and this comment is the
// map of the tree below it:
//
//	provider.go       what the provider is made of
//	schema.go         the provider block, as users write it
//	config.go         HCL, then environment, then defaults: one plain Config (pure)
//	configure.go      from Config to clients and providerdata
//	gpujob/           resilientjob_gpu_job, resource and data source: account, grants and job as one thing
//	checkpointbucket/ resilientjob_checkpoint_bucket
//	checkpoints/      resilientjob_checkpoints
//	execution/        resilientjob_execution, resource and data source
//	interruptions/    resilientjob_interruptions
//	functions/        checkpoint_interval, required_retries, exposure
//	providerdata/     what the configured provider hands to all of them
//	resourcename/     Google's names: parsing, short forms, rules
//	placement/        name, project and location of a resource, and when it moves
//	labels/           labels, terraform_labels and effective_labels
//	managedmap/       maps of which only the configured keys are managed
//	timelimits/       the attribute timeouts
//	refusal/          what Google's refusals mean, and what to do about them
//	googlestate/      states of google's resources, for moved blocks
//	value/            durations, quantities, locations, whole numbers: values with several spellings, and conversions
//	diags/            an API's error as one diagnostic
//
// It may import the noun rooms, the small shared rooms and gcp. Its main rule:
// the provider knows nothing about any resource beyond its constructor.
package provider
