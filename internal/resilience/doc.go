// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package resilience holds what is known about long jobs on Cloud Run without
// asking anybody: which sizes a GPU type needs and where it exists, how long a
// task may run, what one execution can cost at most, how often to save a
// checkpoint and how many retries a run needs.
//
// It is a leaf: it imports nothing that does I/O, no clock, no Terraform, no Google client.
// The rooms of the provider call it with plain values and put its findings at the path of
// an attribute.
//
// Its main rule: a limit that Google can change stands once, in a table with a
// date and a source ([Rules], [GPUTypes]), and says whether the plan refuses or
// warns. A limit that Google raises now and then warns; refused is only what can
// never work.
package resilience
