// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Model is the resource's configuration, plan or state.
type Model struct {
	ID                        types.String   `tfsdk:"id"`
	Name                      types.String   `tfsdk:"name"`
	Project                   types.String   `tfsdk:"project"`
	Location                  value.Location `tfsdk:"location"`
	StorageClass              types.String   `tfsdk:"storage_class"`
	HierarchicalNamespace     types.Bool     `tfsdk:"hierarchical_namespace"`
	Versioning                types.Bool     `tfsdk:"versioning"`
	SoftDeleteRetention       value.Duration `tfsdk:"soft_delete_retention"`
	ExpireAfterDays           value.Whole    `tfsdk:"expire_after_days"`
	ExpirePrefixes            types.Set      `tfsdk:"expire_prefixes"`
	AbortIncompleteUploadDays value.Whole    `tfsdk:"abort_incomplete_upload_days"`
	KMSKeyName                types.String   `tfsdk:"kms_key_name"`
	Readers                   types.Set      `tfsdk:"readers"`
	Writers                   types.Set      `tfsdk:"writers"`
	Labels                    types.Map      `tfsdk:"labels"`
	TerraformLabels           types.Map      `tfsdk:"terraform_labels"`
	EffectiveLabels           types.Map      `tfsdk:"effective_labels"`
	UniformBucketLevelAccess  types.Bool     `tfsdk:"uniform_bucket_level_access"`
	PublicAccessPrevention    types.String   `tfsdk:"public_access_prevention"`
	ForceDestroy              types.Bool     `tfsdk:"force_destroy"`
	URL                       types.String   `tfsdk:"url"`
	TimeCreated               types.String   `tfsdk:"time_created"`
	Timeouts                  timeouts.Value `tfsdk:"timeouts"`
}

// blank is a model in which everything is null but the name.
func blank(ctx context.Context, name string) Model {
	return Model{
		ID: types.StringNull(), Name: types.StringValue(name), Project: types.StringNull(), Location: value.NewLocationNull(),
		StorageClass: types.StringNull(), HierarchicalNamespace: types.BoolNull(), Versioning: types.BoolNull(),
		SoftDeleteRetention: value.NewDurationNull(), ExpireAfterDays: value.NewWholeNull(), ExpirePrefixes: types.SetNull(types.StringType),
		AbortIncompleteUploadDays: value.NewWholeNull(), KMSKeyName: types.StringNull(), Readers: types.SetNull(types.StringType), Writers: types.SetNull(types.StringType),
		Labels: types.MapNull(types.StringType), TerraformLabels: types.MapNull(types.StringType),
		EffectiveLabels: types.MapNull(types.StringType), UniformBucketLevelAccess: types.BoolNull(), PublicAccessPrevention: types.StringNull(),
		ForceDestroy: types.BoolNull(), URL: types.StringNull(), TimeCreated: types.StringNull(),
		Timeouts: timelimits.Null(ctx),
	}
}

// complete fills what the plan left open from what was read. Everything that the plan knew stays as planned.
func complete(plan, read Model) Model {
	m := plan
	m.ID = value.Filled(plan.ID, read.ID)
	m.Project = value.Filled(plan.Project, read.Project)
	m.Location = value.Filled(plan.Location, read.Location)
	m.HierarchicalNamespace = value.Filled(plan.HierarchicalNamespace, read.HierarchicalNamespace)
	m.TerraformLabels = value.Filled(plan.TerraformLabels, read.TerraformLabels)
	m.EffectiveLabels = value.Filled(plan.EffectiveLabels, read.EffectiveLabels)
	m.URL = value.Filled(plan.URL, read.URL)
	m.TimeCreated = value.Filled(plan.TimeCreated, read.TimeCreated)
	return m
}

// place returns where the bucket is.
func (m *Model) place() placement.Place {
	return placement.Place{Name: m.Name, Project: m.Project, Location: m.Location}
}

// identify sets what follows from the name.
func (m *Model) identify() {
	m.ID, m.URL = types.StringUnknown(), types.StringUnknown()
	if value.Known(m.Name) {
		m.ID, m.URL = m.Name, types.StringValue("gs://"+m.Name.ValueString())
	}
}

// spelledLocation writes a location of the API, which answers in capitals, as users write it: regions in lower case, multi-regions in
// capitals.
func spelledLocation(location, kind string) string {
	if kind == "region" || strings.Contains(location, "-") {
		return strings.ToLower(location)
	}
	return location
}
