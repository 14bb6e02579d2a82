// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// NewResource returns the managed resource resilientjob_execution.
func NewResource() resource.Resource { return &Resource{} }

// Resource is one run of a job.
type Resource struct{}

// Metadata sets the type name.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_execution"
}

// Schema describes the attributes.
func (r *Resource) Schema(context.Context, resource.SchemaRequest, *resource.SchemaResponse) {}

// Create starts the run.
func (r *Resource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}

// Read refreshes the state of an unfinished run.
func (r *Resource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update records settings.
func (r *Resource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

// Delete forgets the run.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
