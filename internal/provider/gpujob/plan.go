// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// ModifyPlan computes what the plan can know (account, labels, grants, exposure,
// CPU and memory), decides about replacement, and says what cannot work. No
// planned value depends on an answer of the API; those only cause warnings.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.data == nil {
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannerKey, r.planner())...)
	var state *Model
	if !req.State.Raw.IsNull() {
		state = &Model{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	if req.Plan.Raw.IsNull() {
		if state != nil && !resp.Diagnostics.HasError() {
			r.warnRunning(ctx, state, "The destroy", &resp.Diagnostics)
		}
		return
	}
	var config, plan Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	n := readNote(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}

	p := planner{data: r.data, config: &config, state: state, plan: &plan, note: n}
	p.compute(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	replaced := p.replacement()
	resp.RequiresReplace.Append(replaced...)

	r.checkPlan(ctx, &config, state, &plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case state == nil:
	case len(replaced) > 0 || !plan.Name.Equal(state.Name):
		r.warnRunning(ctx, state, "The replacement", &resp.Diagnostics)
	case len(n.leftovers(&plan)) > 0 || r.revokes(ctx, state, &plan, &resp.Diagnostics):
		r.warnRunning(ctx, state, "The update", &resp.Diagnostics)
	}
}

// planner computes planned values from configuration, state and provider.
type planner struct {
	data                *providerdata.Data
	config, state, plan *Model
	note                note
}

func (p *planner) compute(ctx context.Context, diags *diag.Diagnostics) {
	place := placement.Plan(p.data, p.config.place(), p.plan.place(), p.was(), diags)
	if diags.HasError() {
		return
	}
	p.plan.Project, p.plan.Location = place.Project, place.Location
	p.plan.ID, p.plan.ConsoleURL = types.StringUnknown(), types.StringUnknown()
	p.plan.identify()
	p.resources()
	p.account(diags)
	p.plan.TerraformLabels = labels.PlanTerraform(p.data, p.plan.Labels)
	p.plan.UID = p.kept(func(m *Model) types.String { return m.UID })
	p.plan.EffectiveLabels = types.MapUnknown(types.StringType)
	if p.state != nil && !p.plan.UID.IsUnknown() && !p.note.Unready && len(p.note.leftovers(p.plan)) == 0 {
		// Whatever is to be sent is seen elsewhere. A job that could not be set
		// up is sent again, and an account that a failed change left is deleted:
		// this attribute is where the plan shows both.
		p.plan.EffectiveLabels = labels.PlanEffective(p.plan.TerraformLabels, p.state.TerraformLabels, p.state.EffectiveLabels)
	}
	p.grants(ctx, diags)
	p.plan.Exposure = p.plan.exposure()
}

// kept returns the state's value of an id that the API gives out, or unknown
// where there is none: the thing is missing and will be made.
func (p *planner) kept(of func(*Model) types.String) types.String {
	if p.state != nil && value.Known(of(p.state)) {
		return of(p.state)
	}
	return types.StringUnknown()
}

// was returns where the resource of the state is; nil for a new one.
func (p *planner) was() *placement.Place {
	if p.state == nil {
		return nil
	}
	was := p.state.place()
	return &was
}

// replacement returns the attributes whose change makes a new job. The name is
// the schema's.
func (p *planner) replacement() path.Paths { return p.plan.place().Replaces(p.was()) }

// moved tells whether the plan names another job than the state.
func (p *planner) moved() bool { return p.state != nil && !p.plan.place().Stays(p.was()) }

// resources fills CPU and memory from the row of the planned GPU type. A type
// that the table does not know gets what the server fills in.
func (p *planner) resources() {
	if p.plan.GPUType.IsUnknown() {
		if p.config.CPU.IsNull() {
			p.plan.CPU = value.NewQuantityUnknown()
		}
		if p.config.Memory.IsNull() {
			p.plan.Memory = value.NewQuantityUnknown()
		}
		return
	}
	row, ok := resilience.LookupGPU(p.plan.GPUType.ValueString())
	same := p.state != nil && p.plan.GPUType.Equal(p.state.GPUType)
	choose := func(byTable string, state value.Quantity) value.Quantity {
		switch {
		case ok && value.Known(state) && equalQuantity(state, byTable):
			return state
		case ok:
			return value.NewQuantity(byTable)
		case same && value.Known(state):
			return state
		}
		return value.NewQuantityUnknown()
	}
	var cpu, memory value.Quantity
	if p.state != nil {
		cpu, memory = p.state.CPU, p.state.Memory
	}
	if p.config.CPU.IsNull() {
		p.plan.CPU = choose(row.DefaultCPU, cpu)
	}
	if p.config.Memory.IsNull() {
		p.plan.Memory = choose(row.DefaultMemory, memory)
	}
}

func equalQuantity(q value.Quantity, s string) bool {
	a, err := q.Quantity()
	b, errB := value.ParseQuantity(s)
	return err == nil && errB == nil && a.Cmp(b) == 0
}

// account plans who the job runs as.
func (p *planner) account(diags *diag.Diagnostics) {
	m := p.plan
	switch {
	case m.ServiceAccount.IsUnknown():
		m.ServiceAccountID, m.ServiceAccountEmail, m.ServiceAccountUniqueID = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
		return
	case !m.owned():
		if p.isOwn(m.ServiceAccount.ValueString()) {
			diags.AddAttributeError(path.Root("service_account"), "Service account is the job's own", fmt.Sprintf(
				"This resource made %s, and deletes it when the job names an account instead: the job would run as an account that is gone. "+
					"Leave service_account out, and the job goes on to run as it; or name an account that was made elsewhere.", m.ServiceAccount.ValueString()))
		}
		m.ServiceAccountID, m.ServiceAccountEmail, m.ServiceAccountUniqueID = types.StringNull(), m.ServiceAccount, types.StringNull()
		return
	}
	if p.config.ServiceAccountID.IsNull() {
		switch {
		case p.state != nil && !p.moved() && value.Known(p.state.ServiceAccountID):
			// The id of an account that is there already stays.
			m.ServiceAccountID = p.state.ServiceAccountID
		case m.place().Known():
			m.ServiceAccountID = types.StringValue(resourcename.ServiceAccountID(m.Project.ValueString(), m.Location.Canonical(), m.Name.ValueString()))
		default:
			m.ServiceAccountID = types.StringUnknown()
		}
	}
	m.ServiceAccountEmail, m.ServiceAccountUniqueID = types.StringUnknown(), types.StringUnknown()
	if value.Known(m.ServiceAccountID) && value.Known(m.Project) {
		m.ServiceAccountEmail = types.StringValue(m.ownedEmail())
	}
	if p.state != nil && !p.moved() && m.ServiceAccountID.Equal(p.state.ServiceAccountID) && value.Known(p.state.ServiceAccountUniqueID) {
		m.ServiceAccountUniqueID = p.state.ServiceAccountUniqueID
	}
}

// isOwn tells whether an account is one that this resource made, and would remove.
func (p *planner) isOwn(email string) bool {
	if p.state == nil {
		return false
	}
	var ids []string
	if value.Known(p.state.ServiceAccountID) && value.Known(p.state.ServiceAccountUniqueID) {
		ids = append(ids, p.state.ServiceAccountID.ValueString())
	}
	for _, a := range p.note.Accounts {
		ids = append(ids, a.ID)
	}
	return slices.ContainsFunc(ids, func(id string) bool {
		return strings.EqualFold(email, resourcename.ServiceAccountEmail(p.state.Project.ValueString(), id))
	})
}

// grants plans what the resource will hold: what the configuration asks for. A
// named account may have the role already, in which case nothing is recorded;
// that cannot be known before it is looked at.
func (p *planner) grants(ctx context.Context, diags *diag.Diagnostics) {
	desired, ok := p.plan.desiredGrants(ctx, diags)
	if !ok {
		p.plan.Grants = types.SetUnknown(grantType)
		return
	}
	var held []gcp.Grant
	if p.state != nil {
		held = p.state.grants(ctx, diags)
	}
	var planned []gcp.Grant
	for _, g := range desired {
		switch {
		case p.plan.owned() || gcp.ContainsGrant(held, g):
			planned = append(planned, g)
		case gcp.ContainsGrant(p.note.Present, g):
		default:
			p.plan.Grants = types.SetUnknown(grantType)
			return
		}
	}
	p.plan.Grants = grantSet(planned)
}
