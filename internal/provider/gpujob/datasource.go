// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

var _ datasource.DataSourceWithConfigure = (*DataSource)(nil)

// NewDataSource returns the data source resilientjob_gpu_job.
func NewDataSource() datasource.DataSource { return &DataSource{} }

// DataSource reads a job that exists, whoever made it.
type DataSource struct{ data *providerdata.Data }

// Metadata sets the type name.
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_gpu_job"
}

// Configure takes the provider's data.
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.data = providerdata.FromDataSource(req, resp)
}

// Read asks for the job, one call.
func (d *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m DataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !d.data.CanAnswer(&resp.Diagnostics) {
		return
	}
	job, ok := d.data.Job(m.Job, &resp.Diagnostics)
	if !ok {
		return
	}
	switch live, err := d.data.Client.GetJob(ctx, job.String()); {
	case gcp.IsNotFound(err):
		diags.NoSuchJob(&resp.Diagnostics, err)
	case err != nil:
		diags.Error(&resp.Diagnostics, path.Root("job"), "Cannot read the job", err, "")
	case live.GetDeleteTime().IsValid():
		resp.Diagnostics.AddAttributeError(path.Root("job"), "Job does not exist", "Cloud Run is deleting the job "+job.String()+".\n\n"+diags.NameAJob)
	default:
		shown := flattenData(ctx, job, live, m.Job, &resp.Diagnostics)
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(resp.State.Set(ctx, &shown)...)
		}
	}
}
