// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"context"
	"fmt"
	"strings"
	"time"

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

const (
	defaultWindow = 7 * 24 * time.Hour
	defaultLimit  = 1000
	maxLimit      = 10_000
)

var (
	_ datasource.DataSourceWithConfigure      = (*DataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*DataSource)(nil)
)

// NewDataSource returns the data source resilientjob_interruptions.
func NewDataSource() datasource.DataSource { return &DataSource{} }

// DataSource finds the interruptions of a job in its logs.
type DataSource struct{ data *providerdata.Data }

// Model is the data source's configuration and state.
type Model struct {
	Job               types.String   `tfsdk:"job"`
	Execution         types.String   `tfsdk:"execution"`
	Window            value.Duration `tfsdk:"window"`
	StartTime         types.String   `tfsdk:"start_time"`
	EndTime           types.String   `tfsdk:"end_time"`
	Limit             value.Whole    `tfsdk:"limit"`
	Interruptions     []ItemModel    `tfsdk:"interruptions"`
	InterruptionCount types.Int64    `tfsdk:"interruption_count"`
	NewestTime        types.String   `tfsdk:"newest_time"`
	Truncated         types.Bool     `tfsdk:"truncated"`
	Filter            types.String   `tfsdk:"filter"`
}

// ItemModel is one interruption.
type ItemModel struct {
	Time        types.String `tfsdk:"time"`
	Execution   types.String `tfsdk:"execution"`
	TaskIndex   types.Int64  `tfsdk:"task_index"`
	TaskAttempt types.Int64  `tfsdk:"task_attempt"`
	Preempted   types.Bool   `tfsdk:"preempted"`
	ExitCode    types.Int64  `tfsdk:"exit_code"`
	Signal      types.Int64  `tfsdk:"signal"`
	Message     types.String `tfsdk:"message"`
	Meaning     types.String `tfsdk:"meaning"`
}

// Metadata sets the type name.
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_interruptions"
}

// Configure takes the provider's data.
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.data = providerdata.FromDataSource(req, resp)
}

// Schema describes the attributes.
func (d *DataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	count := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "When, and in which attempt of which task, a Cloud Run job was interrupted, read from its logs in Cloud Logging: by the platform's message that it preempts a task, and by programs that SIGTERM ended (exit code 143, or signal 15). " +
			"The entries of one attempt are one interruption. An attempt whose timeout was over, or whose execution was cancelled or deleted, gets SIGTERM as well and is left out, where the logs tell it.\n\n" +
			"Google does not document which log the platform's message is in, nor its exact form. It is looked for in every log but those of the program's own output, which may hold any text. A program that writes the platform's words to a log of its own by a client library is taken for the platform.\n\n" +
			"Cloud Logging keeps entries for 30 days, unless its bucket says otherwise; a longer window finds what is still there. A job that was deleted has its interruptions as long as its logs.",
		Attributes: map[string]schema.Attribute{
			"job": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Job: its name, with the provider's project and region, or its full name.",
				Validators:          []validator.String{value.IsJob()},
			},
			"execution": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Only interruptions of this execution: its name within the job, such as `train-x7k2p`. Default: all executions.",
				Validators:          []validator.String{value.IsExecutionName("for all executions")},
			},
			"window": schema.StringAttribute{
				Optional: true, CustomType: value.DurationType{},
				MarkdownDescription: "How far to look back from `end_time`, such as `24h`. Default: `168h`, a week. Not together with `start_time`.",
				Validators:          []validator.String{value.IsDuration()},
			},
			"start_time": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Beginning of the window, RFC 3339, such as `2026-11-01T00:00:00Z`; it is part of it. Default: `window` before the end.",
				Validators:          []validator.String{isTime},
			},
			"end_time": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "End of the window, RFC 3339; it is no longer part of it. Default: the time of reading.",
				Validators:          []validator.String{isTime},
			},
			"limit": schema.Int64Attribute{
				Optional: true, CustomType: value.WholeType{},
				MarkdownDescription: fmt.Sprintf("At most so many interruptions, the newest, from 1 to %d. Default: %d.", maxLimit, defaultLimit),
				Validators:          []validator.Int64{value.IsLimit(maxLimit, defaultLimit)},
			},
			"interruptions": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The interruptions, newest first.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"time":         text("When the platform announced it; when the program ended, where no announcement was found. RFC 3339."),
					"execution":    text("Name of the execution; null when the logs do not say."),
					"task_index":   count("Index of the task, from 0; null when the logs do not say."),
					"task_attempt": count("Number of the attempt, from 0: 1 is the first retry. Null when the logs do not say."),
					"preempted": schema.BoolAttribute{Computed: true, MarkdownDescription: "`true` when the platform said that it preempts the task. `false` when the program was ended by SIGTERM and the logs do not say why: " +
						"most likely by the platform, but a cancel that has not ended yet, or a program that ends itself in this way, look the same."},
					"exit_code": count("Exit code with which the program ended; null when it did not end by itself, or the logs do not say."),
					"signal":    count("Signal that ended the program: 15 when it did not handle SIGTERM, 9 when it was still running after the ten seconds of grace. Null when none did, or the logs do not say."),
					"message":   text("The platform's own words."),
					"meaning":   text("What happened, in a sentence."),
				}},
			},
			"interruption_count": count("Number of interruptions in the list."),
			"newest_time":        text("Time of the newest interruption, RFC 3339; null when there is none."),
			"truncated": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: fmt.Sprintf("`true` when there may be more: there are more than `limit`, or the log has more than %d entries on such things.", maxEntries),
			},
			"filter": text("The text in the Logging query language that finds the entries, for the Logs Explorer and `gcloud logging read`. It reaches a minute beyond the window, so that entries on one interruption are found together, and finds timeouts and cancels, too. " +
				"With a window that ends at the time of reading, it differs from reading to reading."),
		},
	}
}

var isTime = value.Parses("a time such as \"2026-11-01T00:00:00Z\"", "Invalid time", func(s string) error {
	_, err := parseTime(s)
	return err
})

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q is not a time: write date, time and offset from UTC (RFC 3339), such as \"2026-11-01T00:00:00Z\" or \"2026-11-01T01:00:00+01:00\"", resourcename.Shorten(s))
	}
	return t, nil
}

// ValidateConfig refuses a window that has two beginnings, or that holds nothing.
func (d *DataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.StartTime.IsUnknown() && !m.EndTime.IsUnknown() && !m.Window.IsUnknown() {
		window(&resp.Diagnostics, m, time.Time{})
	}
}

// clockBehind is how far this machine's clock may be behind Google's. A start_time
// of Google's, such as the create_time of an execution that has just begun, then
// lies in the future.
const clockBehind = 10 * time.Minute

// window returns the two ends of the window; a zero end is now, and a zero now is
// not known. A misspelt value is an error of its validator.
func window(diagnostics *diag.Diagnostics, m Model, now time.Time) (start, end time.Time, ok bool) {
	if !m.StartTime.IsNull() && !m.Window.IsNull() {
		diagnostics.AddAttributeError(path.Root("window"), "Two beginnings of the window",
			"Both start_time and window say when the window begins: the one at a time, the other so long before its end. Remove one of the two.")
		return start, end, false
	}
	var err error
	if s := m.EndTime; !s.IsNull() {
		if end, err = parseTime(s.ValueString()); err != nil {
			return start, end, false
		}
	}
	last := end
	if end.IsZero() {
		last = now
	}
	if s := m.StartTime; !s.IsNull() {
		if start, err = parseTime(s.ValueString()); err != nil {
			return start, end, false
		}
		if last.IsZero() || start.Before(last) || end.IsZero() && start.Before(now.Add(clockBehind)) {
			return start, end, true
		}
		if end.IsZero() {
			diagnostics.AddAttributeError(path.Root("start_time"), "Empty window", fmt.Sprintf(
				"The window begins in the future: start_time is %s, and it is %s now. Write an earlier start_time, or leave it out for the last week.", m.StartTime.ValueString(), now.UTC().Format(time.RFC3339)))
		} else {
			diagnostics.AddAttributeError(path.Root("end_time"), "Empty window",
				"The end of the window, end_time, is not later than its beginning, start_time: it holds nothing. Write a later end_time, or leave it out for now.")
		}
		return start, end, false
	}
	length := defaultWindow
	if !m.Window.IsNull() {
		if length, err = m.Window.Duration(); err != nil {
			return start, end, false
		}
	}
	return last.Add(-length), end, true
}

// Read searches the log: one call for each 1000 entries, and at most one more to
// look up exit codes. Where it finds nothing, it asks whether the job exists.
func (d *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !d.data.CanAnswer(&resp.Diagnostics) {
		return
	}
	job, ok := d.data.Job(m.Job, &resp.Diagnostics)
	if !ok {
		return
	}
	q := Query{Job: job, Execution: m.Execution.ValueString()}
	if q.Start, q.End, ok = window(&resp.Diagnostics, m, d.data.Clock.Now().Truncate(time.Second)); !ok {
		return
	}
	limit := defaultLimit
	if !m.Limit.IsNull() {
		limit = int(m.Limit.ValueInt64())
	}
	found, err := search(ctx, d.data.Client.LogEntries, q, limit, maxEntries)
	if err != nil {
		diags.Error(&resp.Diagnostics, path.Empty(), "Cannot read the logs", err, hint(err))
		return
	}
	if !found.any && !d.exists(ctx, &resp.Diagnostics, q) {
		return
	}
	m.Interruptions = flatten(found.interruptions)
	m.InterruptionCount = types.Int64Value(int64(len(m.Interruptions)))
	m.NewestTime = types.StringNull()
	if len(m.Interruptions) > 0 {
		m.NewestTime = m.Interruptions[0].Time
	}
	m.Truncated, m.Filter = types.BoolValue(found.truncated), types.StringValue(Filter(q))
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

const permission = "logging.logEntries.list"

// hint says what to do about a refusal that Google words without the permission:
// "Permission denied for all log views".
func hint(err error) string {
	e, ok := gcp.AsError(err)
	if !ok || !gcp.IsPermissionDenied(err) || e.Reason == "SERVICE_DISABLED" || strings.Contains(e.Message, permission) {
		return ""
	}
	return "The account that Terraform runs as lacks the permission " + permission + ", which the role " + diags.RoleWith(permission) +
		" has. Give it that role on the project, or a custom one with the permission, and apply again."
}

// exists reports whether a job of which the logs hold nothing is there. An
// execution that is not may be an old one, which Cloud Run has forgotten.
func (d *DataSource) exists(ctx context.Context, diagnostics *diag.Diagnostics, q Query) bool {
	var forgotten error
	if q.Execution != "" {
		_, err := d.data.Client.GetExecution(ctx, resourcename.Execution{Job: q.Job, Name: q.Execution}.String())
		if !gcp.IsNotFound(err) {
			return checked(diagnostics, "execution", err)
		}
		forgotten = err
	}
	if _, err := d.data.Client.GetJob(ctx, q.Job.String()); gcp.IsNotFound(err) {
		diags.NoSuchJob(diagnostics, err)
		return false
	} else if !checked(diagnostics, "job", err) {
		return false
	}
	if forgotten != nil {
		diags.Warning(diagnostics, path.Root("execution"), "Execution is not known", forgotten, fmt.Sprintf(
			"The logs tell of no interruption of %s in this window. Check its name: either job %s has no such execution, or Cloud Run has forgotten it.", q.Execution, q.Job.Name))
	}
	return true
}

// checked reports whether a look at what is named went well. Whoever may read the
// logs alone gets a warning: that there is nothing in them may be because of a
// name that is misspelt.
func checked(diagnostics *diag.Diagnostics, what string, err error) bool {
	switch {
	case err == nil:
		return true
	case gcp.IsPermissionDenied(err):
		diags.Warning(diagnostics, path.Root(what), "Cannot check that the "+what+" exists", err, "")
		return true
	}
	diags.Error(diagnostics, path.Empty(), "Cannot read the "+what, err, "")
	return false
}

func flatten(all []interruption) []ItemModel {
	out := make([]ItemModel, 0, len(all))
	for _, i := range all {
		item := ItemModel{
			Time:        moment(i.at),
			Execution:   types.StringNull(),
			TaskIndex:   types.Int64PointerValue(number(i.attempt.task)),
			TaskAttempt: types.Int64PointerValue(number(i.attempt.number)),
			Preempted:   types.BoolValue(i.preempted),
			ExitCode:    types.Int64PointerValue(i.exitCode),
			Signal:      types.Int64PointerValue(i.signal),
			Message:     types.StringValue(i.message),
			Meaning:     types.StringValue(i.meaning()),
		}
		if i.attempt.execution != "" {
			item.Execution = types.StringValue(i.attempt.execution)
		}
		out = append(out, item)
	}
	return out
}

func moment(t time.Time) types.String {
	return types.StringValue(t.UTC().Format(time.RFC3339Nano))
}
