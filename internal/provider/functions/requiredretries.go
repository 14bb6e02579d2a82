// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// retryKeys are the keys of the object, in the order of the documentation.
var retryKeys = []string{"work_time", "task_timeout", "interval", "write_time", "restore_time", "mean_time_between_interruptions", "probability"}

// RequiredRetries is the function required_retries.
type RequiredRetries struct{}

// NewRequiredRetries returns the function.
func NewRequiredRetries() function.Function { return RequiredRetries{} }

// Metadata names the function.
func (RequiredRetries) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "required_retries"
}

// Definition describes argument and result.
func (RequiredRetries) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "How many retries are enough for the work of a task",
		MarkdownDescription: "Returns a value for `max_retries` that is enough, with the stated probability, for a task to finish its work in one execution. An interruption uses one retry, and so does an attempt that ends by its timeout. " +
			"A plan of `resilientjob_gpu_job` warns by the same computation.\n\n" +
			"The number is a safe bound. With *W* the work and all writes, *L* = interval + write time + restore time what one interruption costs at most, τ the timeout, *M* the mean time between interruptions: " +
			"*j* is the smallest number with P(N ≤ j) ≥ probability for a Poisson distribution of mean (W + j·L)/M, and the retries are j + ⌈(W + j·L)/(τ − L)⌉ − 1. " +
			"The Poisson distribution is textbook; the bound is this project's own, and held in every case that was simulated (40,000 runs each).\n\n" +
			"The result can be 0 for an hour or two of work. Maintenance is weekly and not a matter of chance, and a run that it hits needs a retry: write `max(1, …)`.\n\n" + needs,
		Parameters: []function.Parameter{function.DynamicParameter{
			Name: "task",
			MarkdownDescription: "An object about one task, with these keys. Only `work_time` is required; a key that is left out, or `null`, has its default. Durations are texts such as `\"90m\"`.\n" +
				"   - `work_time`: how long the task works in all, without interruptions and checkpoints.\n" +
				fmt.Sprintf("   - `task_timeout`: the longest that one attempt runs. Default: `%q`, as for a job.\n", value.FormatDuration(resilience.DefaultTimeout)) +
				"   - `interval`: the work between two checkpoints. Default: the best one for `write_time`, by `checkpoint_interval` with the mean time or the timeout, whichever is shorter.\n" +
				"   - `write_time`: how long it takes to write a checkpoint. Default: `\"0s\"`. Without `interval` and `write_time`, an interruption is taken to lose no work.\n" +
				"   - `restore_time`: how long an attempt takes until it has read a checkpoint. Default: `\"0s\"`.\n" +
				fmt.Sprintf("   - `mean_time_between_interruptions`: default `%q`, the platform's weekly maintenance.\n", value.FormatDuration(resilience.MaintenanceInterval)) +
				fmt.Sprintf("   - `probability`: how sure the result shall be, between 0 and 1. Default: `%g`.\n\n", resilience.PlanProbability) +
				"   Refused are an attempt in which no progress would survive (`interval` + `write_time` + `restore_time` must be less than `task_timeout`), " +
				fmt.Sprintf("and work that needs more than %d retries, the most that Cloud Run gives.", resilience.MaxRetries),
			AllowUnknownValues: true,
		}},
		Return: function.Int64Return{},
	}
}

// Run computes the retries.
func (RequiredRetries) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var arg types.Dynamic
	resp.Error = req.Arguments.Get(ctx, &arg)
	if resp.Error != nil {
		return
	}
	o := readObject(arg, retryKeys, `{ work_time = "90h" }`)
	o.required("work_time", "90h")
	in := resilience.RetryInput{
		Work:                         o.duration("work_time", 0, positive),
		Timeout:                      o.duration("task_timeout", resilience.DefaultTimeout, positive),
		Interval:                     o.duration("interval", 0, positive),
		Write:                        o.duration("write_time", 0, notNegative),
		Restore:                      o.duration("restore_time", 0, notNegative),
		MeanTimeBetweenInterruptions: o.duration("mean_time_between_interruptions", resilience.MaintenanceInterval, positive),
		Probability:                  o.probability("probability", resilience.PlanProbability),
	}
	switch resp.Error = o.err(); {
	case resp.Error != nil:
		return
	case o.unknown:
		resp.Error = resp.Result.Set(ctx, types.Int64Unknown())
		return
	}
	need, err := resilience.RequiredRetries(in)
	switch {
	case err != nil:
		resp.Error = refuse(0, fmt.Errorf("no number of retries is enough: %w", err))
	case need > resilience.MaxRetries:
		resp.Error = refuse(0, tooMany(need, in))
	default:
		resp.Error = resp.Result.Set(ctx, int64(need))
	}
}

// tooMany says that a number of retries cannot be had, and what can.
func tooMany(need int, in resilience.RetryInput) error {
	detail := ""
	if most := resilience.MostWork(resilience.MaxRetries, in); most > 0 {
		detail = fmt.Sprintf("With %d retries, work_time can be up to %s: do the rest in a second execution, which continues from the checkpoint. Or write a longer task_timeout",
			resilience.MaxRetries, resilience.FormatDuration(most))
	} else {
		detail = "Write a longer task_timeout, or save more often"
	}
	return fmt.Errorf("%s of work (work_time) in attempts of %s (task_timeout) need %d retries, and Cloud Run gives at most %d by the table of %s. %s",
		resilience.FormatDuration(in.Work), resilience.FormatDuration(in.Timeout), need, resilience.MaxRetries, resilience.TableDate, detail)
}

// probability reads a key that holds a chance between 0 and 1.
func (o *object) probability(name string, standard float64) float64 {
	n, ok := o.number(name, strconv.FormatFloat(standard, 'g', -1, 64))
	if !ok {
		return standard
	}
	p, _ := n.Float64()
	switch {
	case p > 0 && p < 1:
		return p
	case p == 1:
		o.mistake("%s is 1: no number of retries is certain to be enough. Write a number below 1, such as 0.999", name)
	case p > 1 && p < 100:
		o.mistake("%s is %g: write a number between 0 and 1, here %g", name, p, p/100)
	default:
		o.mistake("%s is %s: write a number between 0 and 1, such as %g", name, n.Text('g', 6), standard)
	}
	return standard
}
