// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// exposureKeys are the keys of the object, in the order of the documentation.
var exposureKeys = []string{"gpu_type", "task_count", "task_timeout", "max_retries"}

// exposureTypes is the result, as a job's attribute of the same name has it.
var exposureTypes = map[string]attr.Type{"attempts": types.Int64Type, "gpu_hours": types.Float64Type, "task_hours": types.Float64Type}

// Exposure is the function exposure.
type Exposure struct{}

// NewExposure returns the function.
func NewExposure() function.Function { return Exposure{} }

// Metadata names the function.
func (Exposure) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "exposure"
}

// Definition describes argument and result.
func (Exposure) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The most that one execution can use",
		MarkdownDescription: "Returns the most that one execution of a job can use: every attempt of every task, each for the full timeout. " +
			"These are the numbers of the attribute `exposure` of `resilientjob_gpu_job`, for a budget or a `precondition` before there is a job.\n\n" +
			"- `attempts` = `task_count` × (`max_retries` + 1).\n" +
			"- `task_hours` = `attempts` × `task_timeout`, in hours.\n" +
			"- `gpu_hours` = `task_hours` with a GPU, else 0. A task has one GPU.\n\n" +
			"Source: Cloud Run applies the timeout to each attempt of a task, and bills each attempt. The real use is less as soon as a task ends before its timeout.\n\n" + needs,
		Parameters: []function.Parameter{function.DynamicParameter{
			Name: "job",
			MarkdownDescription: "An object with these keys of a job. A key that is left out, or `null`, has the job's default; `{}` is a job with nothing but defaults.\n" +
				fmt.Sprintf("   - `gpu_type`: default `%q`; `%q` is a job without a GPU.\n", resilience.DefaultGPU, resilience.NoGPU) +
				fmt.Sprintf("   - `task_count`: default `%d`.\n", resilience.DefaultTasks) +
				fmt.Sprintf("   - `task_timeout`: a duration such as `\"12h\"`. Default: `%q`.\n", value.FormatDuration(resilience.DefaultTimeout)) +
				fmt.Sprintf("   - `max_retries`: default `%d`.", resilience.DefaultRetries),
			AllowUnknownValues: true,
		}},
		Return: function.ObjectReturn{AttributeTypes: exposureTypes},
	}
}

// Run computes the exposure.
func (Exposure) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var arg types.Dynamic
	resp.Error = req.Arguments.Get(ctx, &arg)
	if resp.Error != nil {
		return
	}
	o := readObject(arg, exposureKeys, `{ task_timeout = "12h" }`)
	gpu := o.text("gpu_type", resilience.DefaultGPU)
	tasks := o.whole("task_count", resilience.DefaultTasks, 1)
	timeout := o.duration("task_timeout", resilience.DefaultTimeout, positive)
	retries := o.whole("max_retries", resilience.DefaultRetries, 0)
	// A type that the table does not know may be new. One in another spelling is
	// none, and "None" would count as a GPU.
	if _, known := resilience.LookupGPU(gpu); !known {
		if guess := resilience.GuessGPU(gpu); guess != "" || gpu == "" {
			if guess == "" {
				guess = resilience.NoGPU
			}
			o.mistake("gpu_type: %q is no GPU type: write %q", resourcename.Shorten(gpu), guess)
		}
	}
	switch resp.Error = o.err(); {
	case resp.Error != nil:
		return
	case o.unknown:
		resp.Error = resp.Result.Set(ctx, types.ObjectUnknown(exposureTypes))
		return
	}
	e, err := resilience.Expose(gpu, tasks, retries, timeout)
	if err != nil {
		resp.Error = refuse(0, fmt.Errorf("task_count is %d and max_retries %d: %w. Write smaller numbers", tasks, retries, err))
		return
	}
	resp.Error = resp.Result.Set(ctx, types.ObjectValueMust(exposureTypes, map[string]attr.Value{
		"attempts": types.Int64Value(e.Attempts), "gpu_hours": types.Float64Value(e.GPUHours), "task_hours": types.Float64Value(e.TaskHours),
	}))
}
