// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

const (
	defaultListed = 100
	// maxListed is how many executions Cloud Run remembers in any case; those of
	// the last seven days come on top.
	maxListed = 1000
)

var _ datasource.DataSourceWithConfigure = (*ListDataSource)(nil)

// NewListDataSource returns the data source resilientjob_executions.
func NewListDataSource() datasource.DataSource { return &ListDataSource{} }

// ListDataSource lists the executions of a job.
type ListDataSource struct{ data *providerdata.Data }

// ListModel is the list's configuration and state.
type ListModel struct {
	Job        types.String `tfsdk:"job"`
	States     types.Set    `tfsdk:"states"`
	Limit      value.Whole  `tfsdk:"limit"`
	Executions []Overview   `tfsdk:"executions"`
	Truncated  types.Bool   `tfsdk:"truncated"`
}

// Metadata sets the type name.
func (d *ListDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_executions"
}

// Configure takes the provider's data.
func (d *ListDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.data = providerdata.FromDataSource(req, resp)
}

// Schema describes the attributes.
func (d *ListDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The executions of a Cloud Run job, newest first, whether Terraform started them or not. A job that has not been run yet has an empty list. Cloud Run remembers the newest 1000 executions of a job and those of the last seven days. For the tasks of one execution see `resilientjob_execution`.",
		Attributes: map[string]schema.Attribute{
			"job": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Job: its name, with the provider's project and region, or its full name.",
				Validators:          []validator.String{isJob},
			},
			"states": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Only executions in one of these states: `pending`, `running`, `succeeded`, `failed`, `cancelled`. Default: all.",
				Validators:          []validator.Set{noNulls{}, setvalidator.ValueStringsAre(isState)},
			},
			"limit": schema.Int64Attribute{
				Optional: true, CustomType: value.WholeType{},
				MarkdownDescription: fmt.Sprintf("At most so many executions, the newest, from 1 to %d. Default: %d.", maxListed, defaultListed),
				Validators:          []validator.Int64{value.IsLimit(maxListed, defaultListed)},
			},
			"executions": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The executions, newest first.",
				NestedObject:        schema.NestedAttributeObject{Attributes: overviewAttributes()},
			},
			"truncated": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "`true` when there are more executions than `limit`.",
			},
		},
	}
}

var isState = value.Parses("the state of an execution", "Invalid state of an execution", func(s string) error {
	if slices.Contains([]State{Pending, Running, Succeeded, Failed, Cancelled}, State(s)) {
		return nil
	}
	return fmt.Errorf("%q is not the state of an execution: write %q, %q, %q, %q or %q", resourcename.Shorten(s), Pending, Running, Succeeded, Failed, Cancelled)
})

// Read lists until there are enough. Each page of 100 is one call; an empty list
// takes one more, which tells whether the job exists.
func (d *ListDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m ListModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	var states []State
	if !m.States.IsNull() {
		resp.Diagnostics.Append(m.States.ElementsAs(ctx, &states, false)...)
	}
	if resp.Diagnostics.HasError() || !d.data.CanAnswer(&resp.Diagnostics) {
		return
	}
	job, ok := d.data.Job(m.Job, &resp.Diagnostics)
	if !ok {
		return
	}
	limit := defaultListed
	if !m.Limit.IsNull() {
		limit = int(m.Limit.ValueInt64())
	}
	m.Executions, m.Truncated = []Overview{}, types.BoolValue(false)
	seen := false
	for e, err := range d.data.Client.Executions(ctx, job.String()) {
		if gcp.IsNotFound(err) {
			break
		}
		if err != nil {
			diags.Error(&resp.Diagnostics, path.Empty(), "Cannot read the executions", err, "")
			return
		}
		seen = true
		if len(states) > 0 && !slices.Contains(states, StateOf(e)) {
			continue
		}
		if len(m.Executions) == limit {
			m.Truncated = types.BoolValue(true)
			break
		}
		m.Executions = append(m.Executions, overview(resourcename.Execution{Job: job, Name: lastSegment(e.GetName())}, e))
	}
	if !seen && !jobExists(ctx, d.data.Client, &resp.Diagnostics, job) {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}
