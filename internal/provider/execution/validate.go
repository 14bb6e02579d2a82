// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"fmt"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

var isJob = value.IsJob()

var isEnvName = value.Parses("the name of an environment variable that is not reserved", "Invalid environment variable", resilience.CheckEnvName)

var isWait = value.Parses(`"created", "started" or "completed"`, "Invalid wait_for", func(s string) error {
	switch s {
	case waitCreated, waitStarted, waitCompleted:
		return nil
	}
	return fmt.Errorf("%q is nothing that create can wait for: write %q to wait for nothing, %q to wait until the first task runs, or %q to wait until the execution has ended",
		s, waitCreated, waitStarted, waitCompleted)
})

// taskCount refuses numbers of tasks that no execution can have. The platform's
// maximum is dated and can be made a warning: the plan checks it, and here only
// what the API cannot read is too many.
type taskCount struct{}

func (taskCount) Description(context.Context) string {
	return fmt.Sprintf("from 1 to %d", resilience.MaxTasks)
}

func (v taskCount) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (taskCount) ValidateInt64(_ context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	n := req.ConfigValue.ValueInt64()
	if n >= 1 && n <= math.MaxInt32 {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Number of tasks out of range", fmt.Sprintf(
		"%s is %d; an execution has from 1 to %d tasks. Write a number in this range, or leave %[1]s out to run as many tasks as the job says.", req.Path, n, resilience.MaxTasks))
}

// noNulls refuses elements that are null.
type noNulls struct{}

func (noNulls) Description(context.Context) string { return "no element is null" }

func (v noNulls) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (noNulls) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, e := range req.ConfigValue.Elements() {
		if e.IsNull() {
			p := req.Path.AtListIndex(i)
			resp.Diagnostics.AddAttributeError(p, "Element is null", fmt.Sprintf(
				"%s has the value null. Leave the element out, for example with compact(), or write \"\" for an empty text.", p))
		}
	}
}

func (noNulls) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	for _, e := range req.ConfigValue.Elements() {
		if e.IsNull() {
			resp.Diagnostics.AddAttributeError(req.Path, "Element is null", fmt.Sprintf("%s has an element that is null. Take it out, for example with compact().", req.Path))
		}
	}
}

func (noNulls) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for name, e := range req.ConfigValue.Elements() {
		if e.IsNull() {
			p := req.Path.AtMapKey(name)
			resp.Diagnostics.AddAttributeError(p, "Element is null", fmt.Sprintf(
				"%s has the value null. Leave the element out, or write \"\" for an empty text.", p))
		}
	}
}
