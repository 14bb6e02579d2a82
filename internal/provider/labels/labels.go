// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package labels

import (
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/managedmap"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Attribute is the attribute labels of something ("the job and its executions").
func Attribute(of string) schema.MapAttribute {
	return schema.MapAttribute{
		MarkdownDescription: "Labels of " + of + ". Only the keys that are written here, and the provider's `default_labels`, are managed; labels that others add stay. An import takes every label that is there, but Google's own, for managed. " +
			"Keys and values have at most 63 lower-case letters, digits, `_` and `-`; keys begin with a letter. Default: none.",
		ElementType: types.StringType, Optional: true,
		Validators: []validator.Map{value.IsLabels()},
	}
}

// TerraformAttribute is the attribute terraform_labels.
func TerraformAttribute() schema.MapAttribute {
	return schema.MapAttribute{
		MarkdownDescription: "The labels that Terraform manages: the provider's `default_labels` with `labels` on top.",
		ElementType:         types.StringType, Computed: true,
	}
}

// EffectiveAttribute is the attribute effective_labels of a kind of thing ("job").
func EffectiveAttribute(kind string) schema.MapAttribute {
	return schema.MapAttribute{
		MarkdownDescription: "All labels of the " + kind + ", also those that others added.",
		ElementType:         types.StringType, Computed: true,
	}
}

// PlanTerraform plans terraform_labels: the provider's labels with the planned ones of the block on top. It is unknown while one of the two
// is.
func PlanTerraform(data *providerdata.Data, own types.Map) types.Map {
	if own.IsUnknown() || !data.Knows("default_labels") {
		return types.MapUnknown(types.StringType)
	}
	elements := make(map[string]attr.Value, len(data.DefaultLabels))
	for k, v := range data.DefaultLabels {
		elements[k] = types.StringValue(v)
	}
	maps.Copy(elements, own.Elements())
	return types.MapValueMust(types.StringType, elements)
}

// PlanEffective plans effective_labels: those of the state while terraform_labels do not change, else unknown, because others may write
// meanwhile. For a new thing had and effective are null.
func PlanEffective(planned, had, effective types.Map) types.Map {
	if value.Known(effective) && planned.Equal(had) {
		return effective
	}
	return types.MapUnknown(types.StringType)
}

// Import returns labels and terraform_labels of an imported resource: every live label but those that the provider adds anyway, those that
// Google's own tools keep (goog-...), and those in Google's namespaces.
func Import(data *providerdata.Data, live map[string]string) (own, terraform types.Map) {
	own = managedmap.Import(live, func(k, v string) bool {
		byDefault, ok := data.DefaultLabels[k]
		return ok && byDefault == v || strings.HasPrefix(k, "goog-") || value.SystemNamespace(k) != ""
	})
	return own, value.MapOf(data.Labels(value.Strings(own)))
}
