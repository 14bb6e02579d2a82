// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package providerdata

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// The values of plan_validation.
const (
	PlanValidationLocal = "local"
	PlanValidationWarn  = "warn"
)

// Data is the configured provider, as resources see it. It is never changed
// after Configure.
type Data struct {
	// Client calls Google Cloud. It is never nil; while Deferred, its calls fail.
	Client *gcp.Client
	// Project and Region are the defaults, "" where there is none.
	Project, Region string
	// DefaultLabels go on every resource that has labels, below its own.
	DefaultLabels map[string]string
	// PlanValidation is PlanValidationLocal or PlanValidationWarn.
	PlanValidation string
	// Emulator says that every call goes to the local emulator.
	Emulator bool
	// Clock is the only clock of the provider.
	Clock clockwork.Clock
	// Unknown names the provider's attributes that are not known before apply.
	Unknown []string
}

// Deferred reports whether the way to Google Cloud (credentials, endpoints) is
// not known yet. Plan and read then make no call.
func (d *Data) Deferred() bool {
	for _, name := range d.Unknown {
		switch name {
		case "project", "region", "default_labels", "plan_validation":
		default:
			return true
		}
	}
	return false
}

// Knows reports whether the provider's attribute is known; a default that is
// not known yet is planned as unknown.
func (d *Data) Knows(attribute string) bool {
	for _, name := range d.Unknown {
		if name == attribute {
			return false
		}
	}
	return true
}

// WarnOnly reports whether a refusal that comes from a dated table is to be a
// warning. While plan_validation is not known yet, it is.
func (d *Data) WarnOnly() bool {
	return d.PlanValidation == PlanValidationWarn || !d.Knows("plan_validation")
}

// Defaults returns project and region for the short forms of names.
func (d *Data) Defaults() resourcename.Defaults {
	return resourcename.Defaults{Project: d.Project, Location: d.Region}
}

// Job returns the job that an attribute job names, in any form. It adds an error
// there when that is none, or leaves open what the provider does not say.
func (d *Data) Job(name types.String, diagnostics *diag.Diagnostics) (resourcename.Job, bool) {
	job, err := resourcename.ParseJob(name.ValueString(), d.Defaults())
	if err != nil {
		diagnostics.AddAttributeError(path.Root("job"), "Invalid job", err.Error()+".")
	}
	return job, err == nil
}

// DefaultProject returns the provider's project for a resource that names
// none. Without one it adds an error at the resource's attribute p. An empty
// result without an error means that the project is not known yet.
func (d *Data) DefaultProject(diags *diag.Diagnostics, p path.Path) string {
	if d.Project == "" && d.Knows("project") {
		diags.AddAttributeError(p, "No project", "Neither this block nor the provider says in which Google Cloud project.\n\n"+
			"Set "+p.String()+" here, or project in the provider \"resilientjob\" block, or one of the environment variables GOOGLE_PROJECT, GOOGLE_CLOUD_PROJECT and CLOUDSDK_CORE_PROJECT.")
	}
	return d.Project
}

// DefaultLocation returns the provider's region for a resource that names no
// location. Without one it adds an error at the resource's attribute p. An
// empty result without an error means that the region is not known yet.
func (d *Data) DefaultLocation(diags *diag.Diagnostics, p path.Path) string {
	if d.Region == "" && d.Knows("region") {
		diags.AddAttributeError(p, "No location", "Neither this block nor the provider says in which location, such as \"us-central1\".\n\n"+
			"Set "+p.String()+" here, or region in the provider \"resilientjob\" block, or one of the environment variables GOOGLE_REGION and CLOUDSDK_COMPUTE_REGION.")
	}
	return d.Region
}

// Labels returns the default labels with own on top.
func (d *Data) Labels(own map[string]string) map[string]string {
	all := make(map[string]string, len(d.DefaultLabels)+len(own))
	maps.Copy(all, d.DefaultLabels)
	maps.Copy(all, own)
	return all
}

// CanRead reports whether a refresh may call Google Cloud. While the provider
// is Deferred it adds a warning, and the resource keeps the state that it has.
func (d *Data) CanRead(diags *diag.Diagnostics) bool {
	if !d.Deferred() {
		return true
	}
	diags.AddWarning("Resources not refreshed", fmt.Sprintf(
		"The provider's configuration is not known before apply (%s), so that nothing can be read from Google Cloud yet. The plan is made from the state.",
		strings.Join(d.Unknown, ", ")))
	return false
}

// CanAnswer reports whether a data source can be read. It has no state to keep:
// while the provider's configuration is not known well enough, an error says
// how to put the reading off until apply.
func (d *Data) CanAnswer(diags *diag.Diagnostics) bool {
	if !d.Deferred() && d.Knows("project") && d.Knows("region") {
		return true
	}
	diags.AddError("Provider configuration not known yet", fmt.Sprintf(
		"The provider's configuration is not known before apply (%s), so that this data source cannot be read in the plan.\n\n"+
			"Add depends_on with the resource that the provider's configuration comes from: Terraform then reads the data source during apply.",
		strings.Join(d.Unknown, ", ")))
	return false
}

// FromResource returns the data for a resource, or nil before the provider is
// configured.
func FromResource(req resource.ConfigureRequest, resp *resource.ConfigureResponse) *Data {
	return from(req.ProviderData, &resp.Diagnostics)
}

// FromDataSource returns the data for a data source, or nil before the
// provider is configured.
func FromDataSource(req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) *Data {
	return from(req.ProviderData, &resp.Diagnostics)
}

func from(data any, diags *diag.Diagnostics) *Data {
	if data == nil {
		return nil
	}
	d, ok := data.(*Data)
	if !ok {
		diags.AddError("Bug in the provider", fmt.Sprintf("The provider handed over %T instead of its configuration. Please report this to the developers of the provider.", data))
		return nil
	}
	return d
}
