// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
)

// NewResource returns the managed resource resilientjob_gpu_job. early is what
// validation knows of the provider block.
func NewResource(early *providerdata.Early) resource.Resource { return &Resource{early: early} }

// Resource is a Cloud Run job with the account and the grants that it needs.
type Resource struct {
	data  *providerdata.Data
	early *providerdata.Early
}

// Metadata sets the type name.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_gpu_job"
}

// Configure takes over the configured provider.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = providerdata.FromResource(req, resp)
}

// plannerKey names, in the private state of a plan, the configured provider that
// made it: see provenOnly. No resource keeps it.
const plannerKey = "planner"

// planners hold a random name for each configured provider. Terraform makes a new
// Resource for every call, so that it cannot hold it.
var planners sync.Map

func (r *Resource) planner() []byte {
	name, _ := planners.LoadOrStore(r.data, strconv.Quote(rand.Text()))
	return []byte(name.(string)) //nolint:forcetypeassert // nothing else is stored
}

// world names where the provider works.
func (r *Resource) world() string {
	if r.data.Emulator {
		return "emulator"
	}
	return "google cloud"
}

// sameWorld refuses to go on with a resource of the other world: what was made
// on the emulator is not looked for on Google Cloud, nor the other way round. A
// variable left in a shell must not make Terraform forget, or change, real
// resources.
func (r *Resource) sameWorld(m *Model, n note, diags *diag.Diagnostics) bool {
	ids := []string{m.UID.ValueString(), m.ServiceAccountUniqueID.ValueString()}
	for _, a := range n.Accounts {
		ids = append(ids, a.UniqueID)
	}
	foreign := n.World != "" && n.World != r.world()
	which := ""
	for _, id := range ids {
		if id != "" && gcp.EmulatorUID(id) != r.data.Emulator {
			foreign, which = true, " (id "+id+")"
			break
		}
	}
	if foreign {
		there, here, remedy := "on Google Cloud", "the emulator", "Unset RESILIENTJOB_EMULATOR_HOST to work with it."
		if !r.data.Emulator {
			there, here = "on the emulator", "Google Cloud"
			remedy = "Set RESILIENTJOB_EMULATOR_HOST to work with it, or remove it from the state with \"terraform state rm\" if that emulator is gone."
		}
		diags.AddAttributeError(path.Root("uid"), "Emulator and Google Cloud mixed up",
			"The state's job "+m.job().String()+" was made "+there+which+", and the provider is configured for "+here+". Nothing was changed. "+remedy)
		return false
	}
	return true
}
