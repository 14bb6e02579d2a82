// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

var _ datasource.DataSourceWithConfigure = (*DataSource)(nil)

// NewDataSource returns the data source resilientjob_execution.
func NewDataSource() datasource.DataSource { return &DataSource{} }

// DataSource reads one execution of a job, the newest when no name is given.
type DataSource struct{ data *providerdata.Data }

// DataModel is the data source's configuration and state.
type DataModel struct {
	Job types.String `tfsdk:"job"`
	Overview
	Tasks []TaskModel `tfsdk:"tasks"`
}

// TaskModel is one task of the data source.
type TaskModel struct {
	Index          types.Int64  `tfsdk:"index"`
	State          types.String `tfsdk:"state"`
	AttemptsUsed   types.Int64  `tfsdk:"attempts_used"`
	AttemptsLeft   types.Int64  `tfsdk:"attempts_left"`
	ExitCode       types.Int64  `tfsdk:"exit_code"`
	Signal         types.Int64  `tfsdk:"signal"`
	Cause          types.String `tfsdk:"cause"`
	Message        types.String `tfsdk:"message"`
	Meaning        types.String `tfsdk:"meaning"`
	StartTime      types.String `tfsdk:"start_time"`
	CompletionTime types.String `tfsdk:"completion_time"`
	LogURI         types.String `tfsdk:"log_uri"`
}

// Metadata sets the type name.
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_execution"
}

// Configure takes the provider's data.
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.data = providerdata.FromDataSource(req, resp)
}

// Schema describes the attributes.
func (d *DataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := overviewAttributes()
	attributes["job"] = schema.StringAttribute{
		Required:            true,
		MarkdownDescription: "Job: its name, with the provider's project and region, or its full name.",
		Validators:          []validator.String{isJob},
	}
	attributes["name"] = schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: "Name of the execution within the job, such as `train-x7k2p`. The newest execution when it is left out.",
		Validators:          []validator.String{value.IsExecutionName("for the newest")},
	}
	attributes["tasks"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "The tasks, by index.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"index":           count("Index of the task, from 0."),
			"state":           said("`pending`, `running`, `succeeded`, `failed` or `cancelled`."),
			"attempts_used":   count("Number of attempts begun. The one that runs now counts."),
			"attempts_left":   count("Number of attempts that the retry budget still holds."),
			"exit_code":       count("Exit code of the last finished attempt; null when there is none or the program did not end by itself."),
			"signal":          count("Signal that ended the last finished attempt; null when none did."),
			"cause":           said("What ended the last finished attempt, in one word: `success`, `program` (it failed by itself), `interrupted` (SIGTERM), `killed` (SIGKILL), `memory`, `timeout`, `platform`, `cancelled`, `not_started` (image or mount) or `unknown`. Null before an attempt has finished."),
			"message":         said("Cloud Run's own words on the last finished attempt."),
			"meaning":         said("What the exit code, the signal or the status of the last finished attempt means: 143 is an interruption that asked for a retry, 137 a kill, status 13 the platform's own fault. Null before an attempt has finished."),
			"start_time":      said("When the task started, RFC 3339; null before."),
			"completion_time": said("When the task ended, RFC 3339; null before."),
			"log_uri":         said("Link to the logs of the task."),
		}},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What one execution of a Cloud Run job did or does: the newest one, or the one with a name, whether Terraform started it or not. A failed task is explained: its exit code or signal, what that means, and how much of the retry budget is used and left.",
		Attributes:          attributes,
	}
}

// Read asks for the execution, one call, and for its tasks, one call a page.
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
	e := d.find(ctx, &resp.Diagnostics, job, m.Name.ValueString())
	if e == nil {
		return
	}
	name := resourcename.Execution{Job: job, Name: lastSegment(e.GetName())}
	var tasks []*runpb.Task
	for t, err := range d.data.Client.Tasks(ctx, name.String()) {
		if err != nil {
			diags.Error(&resp.Diagnostics, path.Empty(), "Cannot read the tasks of the execution", err, "")
			return
		}
		tasks = append(tasks, t)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, DataModel{Job: m.Job, Overview: overview(name, e), Tasks: flattenTasks(tasks)})...)
}

// find returns the execution with a name, or the newest. Nil comes with an
// error that tells the cases apart: no such job, no executions yet, forgotten.
func (d *DataSource) find(ctx context.Context, diagnostics *diag.Diagnostics, job resourcename.Job, name string) *runpb.Execution {
	var found *runpb.Execution
	var err error
	if name != "" {
		found, err = d.data.Client.GetExecution(ctx, resourcename.Execution{Job: job, Name: name}.String())
	} else {
		found, err = d.data.Client.NewestExecution(ctx, job.String())
	}
	if err == nil && found != nil {
		return found
	}
	if err != nil && !gcp.IsNotFound(err) {
		diags.Error(diagnostics, path.Empty(), "Cannot read the execution", err, "")
		return nil
	}
	if !jobExists(ctx, d.data.Client, diagnostics, job) {
		return nil
	}
	if name == "" {
		diagnostics.AddAttributeError(path.Root("job"), "Job has no executions", fmt.Sprintf(
			"Job %s has not been run yet, or Cloud Run has forgotten its executions. Run it, for example with a resilientjob_execution resource on which this data source depends.", job.Name))
		return nil
	}
	diags.Error(diagnostics, path.Root("name"), "Execution does not exist", err, fmt.Sprintf(
		"Job %s has no execution %s, or Cloud Run has forgotten it: it keeps the newest 1000 executions of a job and those of the last seven days. Leave name out for the newest execution.", job.Name, name))
	return nil
}

// jobExists tells a job without executions from one that is not there, for
// which it adds the error. The list of executions may be empty for both.
func jobExists(ctx context.Context, client *gcp.Client, diagnostics *diag.Diagnostics, job resourcename.Job) bool {
	switch _, err := client.GetJob(ctx, job.String()); {
	case gcp.IsNotFound(err):
		diags.NoSuchJob(diagnostics, err)
		return false
	case err != nil:
		diags.Error(diagnostics, path.Empty(), "Cannot read the job", err, "")
		return false
	}
	return true
}

func flattenTasks(tasks []*runpb.Task) []TaskModel {
	out := make([]TaskModel, 0, len(tasks))
	slices.SortFunc(tasks, func(a, b *runpb.Task) int { return cmp.Compare(a.GetIndex(), b.GetIndex()) })
	for _, t := range tasks {
		outcome := Explain(t)
		used, left := attempts(t)
		out = append(out, TaskModel{
			Index:          types.Int64Value(int64(t.GetIndex())),
			State:          types.StringValue(string(taskState(t))),
			AttemptsUsed:   types.Int64Value(int64(used)),
			AttemptsLeft:   types.Int64Value(int64(left)),
			ExitCode:       number(outcome.ExitCode),
			Signal:         number(outcome.Signal),
			Cause:          text(string(outcome.Cause)),
			Message:        text(outcome.Message),
			Meaning:        text(outcome.Meaning),
			StartTime:      moment(t.GetStartTime()),
			CompletionTime: moment(t.GetCompletionTime()),
			LogURI:         text(t.GetLogUri()),
		})
	}
	return out
}
