// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Read refreshes an execution that had not ended when it was last seen. What
// has ended does not change, and what the platform has forgotten keeps its last
// known state: neither is ever dropped, because that would run the job again.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name, ok := stateName(&resp.Diagnostics, state)
	if !ok {
		return
	}
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, name)...)
	if state.finished() || !r.data.CanRead(&resp.Diagnostics) || !r.sameWorld(&resp.Diagnostics, state) {
		return
	}

	e, err := r.data.Client.GetExecution(ctx, name.String())
	switch {
	case gcp.IsNotFound(err) && state.State.IsNull():
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot import an execution that does not exist", err,
			"Cloud Run keeps the newest 1000 executions of a job and those of the last seven days. \"gcloud run jobs executions list\" shows them.")
		return
	case gcp.IsNotFound(err):
		resp.Diagnostics.AddWarning("Execution is forgotten", fmt.Sprintf(
			"Cloud Run does not know execution %s of job %s any more: it or its job was deleted, or it is too old. Its last known state, %q, is kept. Nothing is run again.",
			name.Name, name.Job.Name, state.State.ValueString()))
		return
	case err != nil:
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot read the execution", err, "")
		return
	}
	failed, err := failedTasks(ctx, r.data.Client, name, e)
	if err != nil {
		// Without them the state would be final and incomplete: the next read tries again.
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot read the tasks of the execution", err, "")
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, flatten(name, e, failed, state))...)
}

// failedTasks returns the failed tasks of an execution, at most maxFailedTasks,
// by index. It makes no call when there are none, and reads no more pages of
// tasks than it needs to find them.
func failedTasks(ctx context.Context, client api, name resourcename.Execution, e *runpb.Execution) ([]*runpb.Task, error) {
	if e.GetFailedCount() == 0 && StateOf(e) != Failed {
		return nil, nil
	}
	want := maxFailedTasks
	if n := int(e.GetFailedCount()); n > 0 {
		want = min(n, want)
	}
	var failed []*runpb.Task
	for t, err := range client.Tasks(ctx, name.String()) {
		if err != nil {
			return nil, err
		}
		if taskState(t) == Failed {
			failed = append(failed, t)
		}
		if len(failed) == want {
			break
		}
	}
	slices.SortFunc(failed, func(a, b *runpb.Task) int { return cmp.Compare(a.GetIndex(), b.GetIndex()) })
	return failed, nil
}
