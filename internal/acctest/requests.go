// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// Methods that tests count, as the emulator records them.
const (
	CreateJob            = "google.cloud.run.v2.Jobs/CreateJob"
	GetJob               = "google.cloud.run.v2.Jobs/GetJob"
	UpdateJob            = "google.cloud.run.v2.Jobs/UpdateJob"
	DeleteJob            = "google.cloud.run.v2.Jobs/DeleteJob"
	RunJob               = "google.cloud.run.v2.Jobs/RunJob"
	GetExecution         = "google.cloud.run.v2.Executions/GetExecution"
	ListExecutions       = "google.cloud.run.v2.Executions/ListExecutions"
	CancelExecution      = "google.cloud.run.v2.Executions/CancelExecution"
	DeleteExecution      = "google.cloud.run.v2.Executions/DeleteExecution"
	CreateServiceAccount = "google.iam.admin.v1.IAM/CreateServiceAccount"
	GetServiceAccount    = "google.iam.admin.v1.IAM/GetServiceAccount"
	DeleteServiceAccount = "google.iam.admin.v1.IAM/DeleteServiceAccount"
	InsertBucket         = "storage.buckets.insert"
	GetBucket            = "storage.buckets.get"
	PatchBucket          = "storage.buckets.patch"
	DeleteBucket         = "storage.buckets.delete"
	GetBucketPolicy      = "storage.buckets.getIamPolicy"
	SetBucketPolicy      = "storage.buckets.setIamPolicy"
	DeleteObject         = "storage.objects.delete"
)

// Requests counts the calls that an emulator has recorded since a moment.
type Requests struct {
	script *faults.Script
	after  int
}

// Since starts a count at the calls that come from now on.
func Since(e *emulator.Emulator) *Requests {
	r := &Requests{script: e.Faults()}
	if all := r.script.Calls(); len(all) > 0 {
		r.after = all[len(all)-1].Seq
	}
	return r
}

// Find returns the calls of a method since the moment, oldest first. A method
// may hold * for any text; "" is every method.
func (r *Requests) Find(method string) []faults.Call {
	return slices.DeleteFunc(r.script.Find(method), func(c faults.Call) bool { return c.Seq <= r.after })
}

// Count returns how many calls of a method came since the moment.
func (r *Requests) Count(method string) int { return len(r.Find(method)) }

// Methods returns the methods of all calls since the moment, in their order.
func (r *Requests) Methods() []string { return methods(r.Find("")) }

// Writes returns the methods of the calls since the moment that were made to
// change something.
func (r *Requests) Writes() []string {
	return methods(slices.DeleteFunc(r.Find(""), func(c faults.Call) bool { return reads(c.Method) }))
}

func methods(calls []faults.Call) []string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Method
	}
	return names
}

// SortReads sorts reads that follow one another: what is read side by side comes in
// any order. method is that of a call.
func SortReads[T any](calls []T, method func(T) string, compare func(a, b T) int) {
	for from := 0; from < len(calls); from++ {
		to := from
		for to < len(calls) && reads(method(calls[to])) {
			to++
		}
		slices.SortFunc(calls[from:to], compare)
		from = to
	}
}

// reads reports whether a method changes nothing.
func reads(method string) bool {
	name := strings.ToLower(method[strings.LastIndexAny(method, "./")+1:])
	for _, verb := range []string{"get", "list", "wait", "testiampermissions"} {
		if strings.HasPrefix(name, verb) {
			return true
		}
	}
	return false
}
