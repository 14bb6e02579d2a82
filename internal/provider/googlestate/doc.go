// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package googlestate reads what Google's own provider keeps in its state: a google_cloud_run_v2_job becomes the job that the Cloud Run API
// would answer, a google_storage_bucket the bucket of the Cloud Storage API. So moving in takes the same way as an import, without a call.
//
// It may import the framework, value and resourcename, and Google's message types. It knows nothing of the resources that use it.
//
// Its main rule: it accepts any JSON. What a state lacks is left out; what has another type than the schema says, or is not known here and
// would be lost, is a problem that names the attribute and never its value.
//
// # Versions
//
// The schema of google_cloud_run_v2_job has always had version 0, although it grew: env was a list and is a set, which JSON does not tell
// apart; liveness_probe and startup_probe came, went and came back; terraform_labels and effective_labels are of 2023. Before them, labels
// were all labels of the job.
//
// The schema of google_storage_bucket has had the versions 0 to 4:
//
//	version | what changed
//	--------+-------------------------------------------------------------------------------------------------
//	0       | labels are all labels of the bucket; at first bucket_policy_only for uniform_bucket_level_access, and
//	        |   is_live for with_state in the conditions of lifecycle rules
//	1       | effective_labels and terraform_labels; no_age in conditions
//	2       | send_age_if_zero in conditions, true by default
//	3       | send_age_if_zero is false by default; no_age is gone
//	4       | retention_period is a string and was a number
package googlestate
