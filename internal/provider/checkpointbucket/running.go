// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
)

// maxNamed is how many running executions a message names.
const maxNamed = 10

// unused makes sure that no execution runs that saves to the bucket, before anything is deleted. Terraform destroys the bucket of a
// replacement before the job that is to mount the other one refuses its change. It looks where jobs that mount the bucket should be: in
// the bucket's region, and in the provider's.
func (r *Resource) unused(ctx context.Context, state *Model, diagnostics *diag.Diagnostics) bool {
	name := state.Name.ValueString()
	var running []*runpb.Execution
	for _, location := range regions(state.Location.ValueString(), r.data.Region) {
		found, err := r.data.Client.ExecutionsMounting(ctx, "projects/"+state.Project.ValueString()+"/locations/"+location, name)
		switch {
		case err == nil:
			running = append(running, found...)
		case gcp.IsNotFound(err) || gcp.IsInvalid(err) || noCloudRun(err):
			// No jobs can be there.
		case gcp.IsPermissionDenied(err):
			diags.Warning(diagnostics, path.Root("name"), "Running executions not looked for", err,
				"Whether executions are running that save to the bucket "+name+" cannot be told. It is deleted all the same.")
			return true
		default:
			diags.Error(diagnostics, path.Root("name"), "Cannot tell whether executions are running", err, "Nothing was deleted. Destroy again.")
			return false
		}
	}
	if len(running) == 0 {
		return true
	}
	diagnostics.AddAttributeError(path.Root("name"), "Executions save to the bucket", inUse(name, running))
	return false
}

// regions are the places of jobs that may mount a bucket. A multi-region, such as "US", has no jobs.
func regions(bucket, provider string) []string {
	var out []string
	for _, l := range []string{strings.ToLower(bucket), provider} {
		if strings.Contains(l, "-") && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// noCloudRun recognises a project in which the API was never enabled.
func noCloudRun(err error) bool {
	e, ok := gcp.AsError(err)
	return ok && e.Reason == "SERVICE_DISABLED"
}

// inUse says which executions would lose their checkpoints, and what to do.
func inUse(bucket string, running []*runpb.Execution) string {
	var names, cancel strings.Builder
	for i, e := range running {
		if i == maxNamed {
			fmt.Fprintf(&names, "\n  … and %d more", len(running)-maxNamed)
			break
		}
		parts := strings.Split(e.GetName(), "/") // projects/P/locations/L/jobs/J/executions/E
		if len(parts) != 8 {
			continue
		}
		fmt.Fprintf(&names, "\n  %s of job %s", parts[7], parts[5])
		fmt.Fprintf(&cancel, "\n  gcloud run jobs executions cancel %s --region=%s --project=%s", parts[7], parts[3], parts[1])
	}
	return fmt.Sprintf("Destroying the bucket %s would take away the checkpoints of executions that are running, and the place where they save. Nothing was deleted:%s\n\n"+
		"Wait until they have finished, or cancel them:\n%s\n\n"+
		"A job that is destroyed together with the bucket goes first, and cancels its own executions where cancel_running_executions is true in the state, "+
		"if it names the bucket by reference: bucket = resilientjob_checkpoint_bucket.NAME.name.", bucket, names.String(), cancel.String())
}
