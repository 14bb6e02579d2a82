// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// ModifyPlan computes what the plan can know, decides about replacement, and says what cannot work. No planned value depends on an answer
// of the API.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.data == nil || req.Plan.Raw.IsNull() {
		return
	}
	var state *Model
	if !req.State.Raw.IsNull() {
		state = &Model{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	var config, plan Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	p := planner{data: r.data, config: &config, state: state, plan: &plan}
	p.compute(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.RequiresReplace.Append(p.plan.place().Replaces(p.was())...)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// planner computes planned values from configuration, state and provider.
type planner struct {
	data                *providerdata.Data
	config, state, plan *Model
}

func (p *planner) compute(diagnostics *diag.Diagnostics) {
	place := placement.Plan(p.data, p.config.place(), p.plan.place(), p.was(), diagnostics)
	p.plan.Project, p.plan.Location = place.Project, place.Location
	if diagnostics.HasError() {
		return
	}
	p.plan.identify()
	p.plan.UniformBucketLevelAccess = types.BoolValue(true)
	p.plan.PublicAccessPrevention = types.StringValue(enforced)
	p.namespace(diagnostics)
	p.key(diagnostics)
	p.labels()
	p.plan.TimeCreated = types.StringUnknown()
	if p.stays() && value.Known(p.state.TimeCreated) {
		p.plan.TimeCreated = p.state.TimeCreated
	}
	if p.stays() {
		keepSpelling(p.plan, p.state)
	}
}

// stays reports whether the plan is about the bucket of the state, and not about a new one.
func (p *planner) stays() bool { return p.plan.place().Stays(p.was()) }

// was is the place of the state, nil where there is none.
func (p *planner) was() *placement.Place {
	if p.state == nil {
		return nil
	}
	place := p.state.place()
	return &place
}

// namespace decides about the hierarchical namespace: true for a new bucket, and for one that exists what it has.
func (p *planner) namespace(diagnostics *diag.Diagnostics) {
	stays := p.stays()
	if p.config.HierarchicalNamespace.IsNull() {
		p.plan.HierarchicalNamespace = types.BoolValue(true)
		if stays {
			p.plan.HierarchicalNamespace = p.state.HierarchicalNamespace
		}
	}
	namespace := p.plan.HierarchicalNamespace
	if stays && value.Known(namespace) && !namespace.Equal(p.state.HierarchicalNamespace) {
		has, remedy := "has no hierarchical namespace", "false"
		if p.state.HierarchicalNamespace.ValueBool() {
			has, remedy = "has a hierarchical namespace", "true"
		}
		diagnostics.AddAttributeError(path.Root("hierarchical_namespace"), "Hierarchical namespace of an existing bucket",
			"The bucket "+p.plan.Name.ValueString()+" "+has+", and Cloud Storage decides that when a bucket is made.\n\n"+
				"Write hierarchical_namespace = "+remedy+", or leave it out. For the other kind make a bucket of another name, and copy the checkpoints.")
		return
	}
	if !p.plan.Versioning.ValueBool() || !namespace.ValueBool() {
		return
	}
	if stays {
		refuseVersioning(diagnostics, "The bucket "+p.plan.Name.ValueString()+" has a hierarchical namespace, and Cloud Storage keeps no versions in such a bucket. Set versioning = false, or leave it out.")
		return
	}
	refuseVersioning(diagnostics, "Cloud Storage keeps no versions in a bucket with a hierarchical namespace, which a new bucket has unless the configuration says otherwise. "+
		"Write hierarchical_namespace = false, or versioning = false.")
}

// region is a location that is one region, and not several.
var region = lazyregexp.New(`^[a-z]+-[a-z]+[0-9]+$`)

// key refuses a key whose location cannot serve the bucket. That is certain for the location global, and for a bucket of one region (Cloud
// Storage answers "Cloud KMS region 'us' not available for use with GCS region 'ASIA_SOUTH1'"); which keys serve the others is left to it.
func (p *planner) key(diagnostics *diag.Diagnostics) {
	at, bucket := resourcename.KeyLocation(p.plan.KMSKeyName.ValueString()), p.plan.Location.Canonical()
	if at == "" || at == bucket || at != "global" && !region.MatchString(bucket) {
		return
	}
	where, remedy := "", "the bucket's location"
	if value.Known(p.plan.Location) {
		where = ", and the bucket is in " + p.plan.Location.ValueString()
	}
	if region.MatchString(bucket) {
		remedy = bucket
	}
	diagnostics.AddAttributeError(path.Root("kms_key_name"), "Key in another location",
		"The key is in the location "+at+where+". Cloud Storage encrypts with keys of the bucket's own location only.\n\nWrite in kms_key_name a key whose key ring is in "+remedy+".")
}

// labels adds the provider's labels to the configured ones.
func (p *planner) labels() {
	p.plan.TerraformLabels = labels.PlanTerraform(p.data, p.plan.Labels)
	p.plan.EffectiveLabels = types.MapUnknown(types.StringType)
	if p.stays() {
		p.plan.EffectiveLabels = labels.PlanEffective(p.plan.TerraformLabels, p.state.TerraformLabels, p.state.EffectiveLabels)
	}
}
