// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Place is what says which thing a resource is.
type Place struct {
	Name, Project types.String
	Location      value.Location
}

// Known reports whether every part is known.
func (p Place) Known() bool {
	return value.Known(p.Name) && value.Known(p.Project) && value.Known(p.Location)
}

// Plan fills project and location where the configuration leaves them out: from the provider, else from the state. state is nil for a new
// resource. planned is what Terraform proposes, and holds what is configured.
func Plan(data *providerdata.Data, config, planned Place, state *Place, diags *diag.Diagnostics) Place {
	if config.Project.IsNull() {
		switch {
		case data.Project != "":
			planned.Project = types.StringValue(data.Project)
		case state != nil:
			planned.Project = state.Project
		default:
			data.DefaultProject(diags, path.Root("project"))
			planned.Project = types.StringUnknown()
		}
	}
	if config.Location.IsNull() {
		switch {
		case state != nil && (data.Region == "" || state.Location.Canonical() == value.CanonicalLocation(data.Region)):
			planned.Location = state.Location
		case data.Region != "":
			planned.Location = value.NewLocation(data.Region)
		default:
			data.DefaultLocation(diags, path.Root("location"))
			planned.Location = value.NewLocationUnknown()
		}
	}
	return planned
}

// Replaces returns the attributes, beside the name, whose change makes a new thing. The name's plan modifier speaks for itself. A project
// that the state does not know, as after an import that did not name it, may be learned.
func (p Place) Replaces(state *Place) path.Paths {
	var out path.Paths
	if state == nil {
		return out
	}
	if value.Known(state.Project) && !p.Project.Equal(state.Project) {
		out.Append(path.Root("project"))
	}
	if p.Location.IsUnknown() || p.Location.Canonical() != state.Location.Canonical() {
		out.Append(path.Root("location"))
	}
	return out
}

// Stays reports whether p, which is planned, is the thing of the state, and not a new one.
func (p Place) Stays(state *Place) bool {
	return state != nil && p.Name.Equal(state.Name) && len(p.Replaces(state)) == 0
}
