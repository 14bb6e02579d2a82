// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Name is the attribute name of a kind of thing ("job"), with the rule for its names.
func Name(kind, description string, check func(string) error) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description + " " + renews(kind),
		Required:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{value.Parses("a "+kind+" name", "Invalid "+kind+" name", check)},
	}
}

// Project is the attribute project of a kind of thing.
func Project(kind string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: "Google Cloud project. Default: the provider's `project`. " + renews(kind),
		Optional:            true, Computed: true,
		Validators: []validator.String{value.Parses("a project id", "Invalid project", resourcename.CheckProject)},
	}
}

// Location is the attribute location of a kind of thing.
func Location(kind, description string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description + " Default: the provider's `region`. " + renews(kind),
		CustomType:          value.LocationType{},
		Optional:            true, Computed: true,
		PlanModifiers: []planmodifier.String{value.KeepEqual()},
		Validators:    []validator.String{value.IsLocation()},
	}
}

func renews(kind string) string { return "Changing it makes a new " + kind + "." }
