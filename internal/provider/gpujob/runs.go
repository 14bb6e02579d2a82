// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// unfinished returns the executions of a job that have not ended, newest first.
// A job that does not exist has none.
func (r *Resource) unfinished(ctx context.Context, job resourcename.Job) ([]*runpb.Execution, error) {
	var out []*runpb.Execution
	for e, err := range r.data.Client.Executions(ctx, job.String()) {
		if gcp.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !gcp.ExecutionEnded(e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// describeRuns lists executions for a message, a few by name.
func describeRuns(executions []*runpb.Execution) string {
	const most = 10
	var b strings.Builder
	for i, e := range executions {
		if i == most {
			fmt.Fprintf(&b, "\n  … and %d more", len(executions)-most)
			break
		}
		name := e.GetName()
		fmt.Fprintf(&b, "\n  %s", name[strings.LastIndex(name, "/")+1:])
		if t := e.GetStartTime(); t.IsValid() {
			fmt.Fprintf(&b, " (since %s)", t.AsTime().UTC().Format(time.RFC3339))
		}
	}
	return b.String()
}

// cancelLine is the command that cancels an execution.
func cancelLine(job resourcename.Job, e *runpb.Execution) string {
	name := e.GetName()
	return fmt.Sprintf("gcloud run jobs executions cancel %s --region=%s --project=%s", name[strings.LastIndex(name, "/")+1:], job.Location, job.Project)
}

// warnRunning warns at plan of executions that the apply would meet. It says
// nothing when it cannot look.
func (r *Resource) warnRunning(ctx context.Context, state *Model, what string, diags *diag.Diagnostics) {
	if r.data == nil || r.data.Deferred() || state.UID.IsNull() || gcp.EmulatorUID(state.UID.ValueString()) != r.data.Emulator {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	running, err := r.unfinished(ctx, state.job())
	if err != nil || len(running) == 0 {
		return
	}
	if state.CancelRunningExecutions.ValueBool() {
		diags.AddWarning("Running executions will be cancelled", fmt.Sprintf(
			"%s of job %s cancels its running executions, because cancel_running_executions is true:%s\n\nSet it to false and apply that first, to have this refused while any runs.", what, state.Name.ValueString(), describeRuns(running)))
		return
	}
	diags.AddWarning("Executions are running", fmt.Sprintf(
		"%s of job %s is refused if these executions still run by then:%s\n\nA resilientjob_execution with cancel_on_destroy = true in the state cancels its own first, when it is destroyed, too. Otherwise:\n\n%s", what, state.Name.ValueString(), describeRuns(running), twoSteps(state.job(), running)))
}

func twoSteps(job resourcename.Job, running []*runpb.Execution) string {
	return "Wait until they have finished, or cancel them:\n\n  " + cancelLine(job, running[0]) +
		"\n\nOr let Terraform cancel them, in two steps: first set cancel_running_executions = true and apply (that changes nothing else), then do this again."
}

// clearRuns makes sure that nothing runs before something is taken away: it
// refuses by name, or cancels and waits where the state says so.
func (w *work) clearRuns(ctx context.Context, what string) bool {
	running, err := w.r.unfinished(ctx, w.state.job())
	if err != nil {
		w.fail("", "Cannot tell whether executions are running", err, "Nothing was changed. Mend the cause and apply again.")
		return false
	}
	if len(running) == 0 {
		return true
	}
	if !w.cancel {
		w.report("", "Executions are running", fmt.Sprintf(
			"%s would end or break running executions of job %s, with all work since their last checkpoint. Nothing was changed:%s\n\n%s",
			what, w.state.Name.ValueString(), describeRuns(running), twoSteps(w.state.job(), running)))
		return false
	}
	for _, e := range running {
		if _, err := w.r.data.Client.CancelExecution(ctx, e.GetName()); err != nil && !over(err) {
			w.fail("", "Cannot cancel a running execution", err, "Cancel it by hand and apply again:\n\n  "+cancelLine(w.state.job(), e))
			return false
		}
	}
	pauses := gcp.Backoff{Initial: 500 * time.Millisecond, Max: 10 * time.Second, Clock: w.r.data.Clock}.Start()
	for _, e := range running {
		for {
			live, err := w.r.data.Client.GetExecution(ctx, e.GetName())
			if gcp.IsNotFound(err) || err == nil && gcp.ExecutionEnded(live) {
				break
			}
			if err == nil && !pauses.Wait(ctx, 0) {
				err = stopped(ctx)
			}
			if err != nil {
				w.fail("", "A cancelled execution has not ended yet", err, "The execution was asked to stop, and nothing else was changed. Apply again when it has ended:\n\n  "+
					strings.Replace(cancelLine(w.state.job(), e), " cancel ", " describe ", 1))
				return false
			}
		}
	}
	return true
}

// over recognises the refusal to cancel what has ended already.
func over(err error) bool {
	e, ok := gcp.AsError(err)
	return ok && (e.Code == codes.FailedPrecondition || e.Code == codes.NotFound)
}
