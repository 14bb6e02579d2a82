// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// ModifyPlan decides what runs the job again, in one place, and warns of what
// the apply would refuse. It makes no call.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.data == nil {
		return // validation without a configured provider
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannerKey, []byte(claimsOf(r.data).planner))...)
	var state, plan Model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		warnRunning(&resp.Diagnostics, state, "destroy")
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkLimits(&resp.Diagnostics, r.data.WarnOnly(), state, plan)
	job, jobErr := r.plannedJob(&resp.Diagnostics, plan)
	if req.State.Raw.IsNull() || jobErr {
		return
	}

	again := changedRun(state, plan)
	if mark, d := req.Private.GetKey(ctx, importedKey); len(mark) > 0 {
		resp.Diagnostics.Append(d...)
		if len(again) > 0 {
			resp.Diagnostics.AddWarning("Imported execution is recorded, not run", fmt.Sprintf(
				"Execution %s was imported. This change of %s records what the configuration says and runs nothing; the next one runs the job again.",
				state.Name.ValueString(), names(again)))
		}
		again = nil
	}
	switch {
	case plan.Job.IsUnknown():
		again = append(again, path.Root("job"))
	case job == nil || plan.Job.Equal(state.Job):
	case sameJob(state, *job):
		// Another spelling of the same job is no change.
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("job"), state.Job)...)
	default:
		again = append(again, path.Root("job"))
	}
	if len(again) == 0 {
		return
	}
	resp.RequiresReplace = append(resp.RequiresReplace, again...)
	warnUnknown(ctx, &resp.Diagnostics, plan, again)
	warnRunning(&resp.Diagnostics, state, "replace")
}

// plannedJob resolves the job of a plan, nil where that is not known yet, and
// reports a name that cannot be resolved.
func (r *Resource) plannedJob(diagnostics *diag.Diagnostics, plan Model) (job *resourcename.Job, failed bool) {
	if plan.Job.IsUnknown() || !r.data.Knows("project") || !r.data.Knows("region") {
		return nil, false
	}
	name, err := resourcename.ParseJob(plan.Job.ValueString(), r.data.Defaults())
	if err != nil {
		diagnostics.AddAttributeError(path.Root("job"), "Invalid job", err.Error()+".")
		return nil, true
	}
	return &name, false
}

func sameJob(state Model, job resourcename.Job) bool {
	name, err := resourcename.ParseExecution(state.ID.ValueString(), resourcename.Defaults{})
	return err == nil && name.Job == job
}

// changedRun returns the attributes whose change makes another run. A value
// that is not known yet counts as changed: Terraform wants to know at plan
// whether it replaces. No map and an empty one are the same.
func changedRun(state, plan Model) path.Paths {
	var changed path.Paths
	for _, a := range []struct {
		name string
		same bool
	}{
		{"args", plan.Args.Equal(state.Args)},
		{"env", plan.Env.Equal(state.Env) || empty(plan.Env) && empty(state.Env)},
		{"task_count", plan.TaskCount.Equal(state.TaskCount)},
		{"task_timeout", plan.TaskTimeout.Equal(state.TaskTimeout)},
		{"triggers", plan.Triggers.Equal(state.Triggers) || empty(plan.Triggers) && empty(state.Triggers)},
	} {
		if !a.same {
			changed.Append(path.Root(a.name))
		}
	}
	return changed
}

func empty(m types.Map) bool { return !m.IsUnknown() && len(m.Elements()) == 0 }

// ValidateConfig refuses overrides beyond the platform's dated limits, so that
// "terraform validate" finds them. With plan_validation = "warn", or while that
// is not known, the plan warns instead. Nothing is said twice: Terraform plans no
// resource that validation refused.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() && r.early.Refuses() {
		checkLimits(&resp.Diagnostics, false, Model{}, config)
	}
}

// checkLimits holds the overrides against the platform's dated limits, on create
// and when they change.
func checkLimits(diagnostics *diag.Diagnostics, warnOnly bool, state, plan Model) {
	if n := plan.TaskCount; !n.IsNull() && !n.IsUnknown() && !n.Equal(state.TaskCount) && n.ValueInt64() <= math.MaxInt32 {
		report(diagnostics, warnOnly, path.Root("task_count"), resilience.CheckTasks(n.ValueInt64()))
	}
	if t := plan.TaskTimeout; !t.IsNull() && !t.IsUnknown() && !t.Equal(state.TaskTimeout) {
		// The GPU type is the job's, which a plan does not read: only the limit
		// of all jobs counts here.
		if d, err := t.Duration(); err == nil {
			report(diagnostics, warnOnly, path.Root("task_timeout"), resilience.CheckTimeout(resilience.NoGPU, d))
		}
	}
}

func report(diagnostics *diag.Diagnostics, warnOnly bool, p path.Path, findings []resilience.Finding) {
	for _, f := range findings {
		if f.Rule.Verdict == resilience.Warn || f.Rule.Dated && warnOnly {
			diagnostics.AddAttributeWarning(p, f.Rule.Summary, f.Detail)
			continue
		}
		diagnostics.AddAttributeError(p, f.Rule.Summary, f.Refusal())
	}
}

// warnUnknown says why a plan runs the job again although perhaps nothing
// changes.
func warnUnknown(ctx context.Context, diagnostics *diag.Diagnostics, plan Model, again path.Paths) {
	values := map[string]attr.Value{
		"job": plan.Job, "args": plan.Args, "env": plan.Env, "task_count": plan.TaskCount, "task_timeout": plan.TaskTimeout, "triggers": plan.Triggers,
	}
	for _, p := range again {
		v, err := values[p.String()].ToTerraformValue(ctx)
		if err == nil && !v.IsFullyKnown() {
			diagnostics.AddAttributeWarning(p, "Value that is not known at plan runs the job again", fmt.Sprintf(
				"%s holds a value that is known only after apply, so that Terraform has to replace this resource, which runs the job again even if the value turns out to be the same. Use values that are known at plan.", p))
		}
	}
}

// warnRunning says at plan what delete would refuse or cancel. A plan does not
// see whether the object is one that a create_before_destroy has left.
func warnRunning(diagnostics *diag.Diagnostics, state Model, verb string) {
	if state.finished() {
		return
	}
	name := state.Name.ValueString()
	if state.CancelOnDestroy.ValueBool() {
		diagnostics.AddWarning("Execution may be cancelled", fmt.Sprintf(
			"Execution %s was %s when it was last read, and cancel_on_destroy is true. If it has not ended by then, the apply cancels it and waits until it has ended. "+
				"Only where this resource is replaced with create_before_destroy, or the plan destroys a deposed object that such a replacement left, the execution is not cancelled and goes on.",
			name, state.State.ValueString()))
		return
	}
	diagnostics.AddWarning("Execution is still running", fmt.Sprintf(
		"Execution %s was %s when it was last read. If it has not ended by then, the apply refuses to %s this resource. "+
			"To end the execution, set cancel_on_destroy = true, apply that alone, and %s again.", name, state.State.ValueString(), verb, verb))
}

func names(paths path.Paths) string {
	var all []string
	for _, p := range paths {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}
