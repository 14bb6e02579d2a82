// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// needs is what every description says of the versions.
const needs = "Provider functions need Terraform 1.8 or OpenTofu 1.7."

// CheckpointInterval is the function checkpoint_interval.
type CheckpointInterval struct{}

// NewCheckpointInterval returns the function.
func NewCheckpointInterval() function.Function { return CheckpointInterval{} }

// Metadata names the function.
func (CheckpointInterval) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "checkpoint_interval"
}

// Definition describes arguments and result.
func (CheckpointInterval) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "How much work to do between two checkpoints",
		MarkdownDescription: "Returns the useful work between two checkpoints that costs the least time in all: saving more often costs more writing, saving less often loses more work at each interruption. " +
			"The result is a duration in whole seconds, such as `\"2h21m19s\"`, for `checkpoint.interval` of a job and for the program that saves.\n\n" +
			"With `write_time` *d* and `mean_time_between_interruptions` *M*, it is √(2dM) · (1 + ⅓·√(d/2M) + ⅑·d/2M) − d. " +
			"Source: J. T. Daly, *A higher order estimate of the optimum checkpoint interval for restart dumps*, Future Generation Computer Systems 22(3), 2006. " +
			"Interruptions are taken to come by chance (exponentially distributed). The time to restore does not move the optimum, and half or twice the interval costs little more.\n\n" +
			"An attempt ends after `task_timeout` at the latest, and then loses what is not saved. Where the timeout is shorter than the mean time, give the timeout as `mean_time_between_interruptions`. " +
			"The guide *Choosing timeout, retries and interval* has tables and a plot.\n\n" + needs,
		Parameters: []function.Parameter{
			function.StringParameter{
				Name:                "write_time",
				MarkdownDescription: "How long the program takes to write a checkpoint: a duration such as `\"60s\"`, more than zero and less than twice the mean time between interruptions.",
				AllowUnknownValues:  true,
			},
			function.StringParameter{
				Name: "mean_time_between_interruptions",
				MarkdownDescription: fmt.Sprintf("How long a task runs on average until it is interrupted: a duration such as `\"24h\"`. `null` stands for `%q`, the platform's weekly maintenance; OpenTofu, as of 1.12, passes no null to functions of providers: write the duration there.",
					value.FormatDuration(resilience.MaintenanceInterval)),
				AllowUnknownValues: true, AllowNullValue: true,
			},
		},
		Return: function.StringReturn{},
	}
}

// Run computes the interval.
func (CheckpointInterval) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var writeTime, meanTime types.String
	resp.Error = req.Arguments.Get(ctx, &writeTime, &meanTime)
	if resp.Error != nil {
		return
	}
	mean := resilience.MaintenanceInterval
	var write time.Duration
	var err error
	if value.Known(writeTime) {
		if write, err = readDuration(writeTime.ValueString(), positive); err != nil {
			resp.Error = refuse(0, err)
			return
		}
	}
	if value.Known(meanTime) {
		if mean, err = readDuration(meanTime.ValueString(), positive); err != nil {
			resp.Error = refuse(1, err)
			return
		}
	}
	if writeTime.IsUnknown() || meanTime.IsUnknown() {
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
		return
	}
	if write.Seconds() >= 2*mean.Seconds() {
		resp.Error = refuse(0, fmt.Errorf(
			"writing a checkpoint takes %s, and interruptions come every %s on average (mean_time_between_interruptions): with twice that time or more, Daly's formula has no best interval and hardly a checkpoint is ever finished. Make checkpoints smaller or faster to write",
			resilience.FormatDuration(write), resilience.FormatDuration(mean)))
		return
	}
	interval, err := resilience.DalyInterval(write, mean)
	if err != nil {
		resp.Error = refuse(1, err)
		return
	}
	// Finer than a second nobody saves, and no interval is no time.
	interval = max(interval.Round(time.Second), time.Second)
	resp.Error = resp.Result.Set(ctx, resilience.FormatDuration(interval))
}
