// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

var (
	_ datasource.DataSourceWithConfigure      = (*DataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*DataSource)(nil)
)

// NewDataSource returns the data source resilientjob_checkpoints.
func NewDataSource() datasource.DataSource { return &DataSource{} }

// DataSource looks for the newest checkpoints in a bucket.
type DataSource struct{ data *providerdata.Data }

// Metadata sets the type name.
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_checkpoints"
}

// Configure takes the provider's data.
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.data = providerdata.FromDataSource(req, resp)
}

// ValidateConfig refuses a marker where there is no folder that it could be in.
func (d *DataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !value.Known(m.Marker) || m.Pattern.IsUnknown() || strings.HasSuffix(m.Pattern.ValueString(), "/") {
		return
	}
	resp.Diagnostics.AddAttributeError(path.Root("marker"), "Marker without folders", fmt.Sprintf(
		"marker = %q completes the folder of a checkpoint, and pattern does not say that checkpoints are folders. Write pattern with a slash at its end, such as pattern = \"task-{task}/step-*/\", or leave marker out.",
		resourcename.Shorten(m.Marker.ValueString())))
}

// Read goes through the list of objects, one call for each 1000 of them.
func (d *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !d.data.CanAnswer(&resp.Diagnostics) {
		return
	}
	bucket, err := resourcename.ParseBucket(m.Bucket.ValueString())
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("bucket"), "Invalid bucket name", err.Error()+".")
		return
	}
	pattern, ignore, ok := m.rules(&resp.Diagnostics)
	if !ok {
		return
	}
	folder := ""
	if p := strings.TrimRight(m.Prefix.ValueString(), "/"); p != "" {
		folder = p + "/"
	}
	c := NewCollector(pattern, ignore, m.Marker.ValueString())
	series, unfinished, err := collect(c, folder, d.data.Client.Objects(ctx, bucket.Name, folder+pattern.Literal()))
	switch {
	case gcp.IsNotFound(err):
		diags.Error(&resp.Diagnostics, path.Root("bucket"), "Bucket does not exist", err, "Write the name of a bucket that exists. Where this configuration makes the bucket, add depends_on with its resource to the data source: it is then read after that.")
	case errors.Is(err, errTooManySeries):
		resp.Diagnostics.AddAttributeError(path.Root("pattern"), "Too many checkpoints to tell apart", fmt.Sprintf(
			"There are more than %d folders or tasks with checkpoints of their own below gs://%s/%s, and each would be an element of checkpoints. Narrow prefix or pattern; "+
				"where each checkpoint has a folder of its own, write pattern with {step} in the name of that folder, such as \"task-{task}/step-{step}/model.pt\", or with a slash at its end.",
			maxSeries, bucket.Name, folder))
	case err != nil:
		diags.Error(&resp.Diagnostics, path.Root("bucket"), "Cannot list the checkpoints", err, "")
	default:
		m.show(folder, series, unfinished)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// rules reads pattern and ignore.
func (m *Model) rules(diagnostics *diag.Diagnostics) (*Pattern, *Ignore, bool) {
	text := everything
	if !m.Pattern.IsNull() {
		text = m.Pattern.ValueString()
	}
	pattern, err := ParsePattern(text)
	if err != nil {
		diagnostics.AddAttributeError(path.Root("pattern"), "Invalid pattern", err.Error()+".")
		return nil, nil, false
	}
	ignored := defaultIgnore
	if !m.Ignore.IsNull() {
		ignored = value.Elements(m.Ignore)
	}
	return pattern, newIgnore(ignored), true
}

// collect hands a list of objects below a folder to a collector.
func collect(c *Collector, folder string, objects iter.Seq2[*storage.Object, error]) ([]Series, int64, error) {
	for o, err := range objects {
		if err != nil {
			return nil, 0, err
		}
		created, err := time.Parse(time.RFC3339, o.TimeCreated)
		if err != nil {
			return nil, 0, fmt.Errorf("the time of object %s cannot be read: %w", o.Name, err)
		}
		if err := c.Add(Object{Name: strings.TrimPrefix(o.Name, folder), Size: int64(o.Size), Created: created}); err != nil {
			return nil, 0, err
		}
	}
	return c.Finish()
}

// show sets the computed attributes.
func (m *Model) show(folder string, series []Series, unfinished int64) {
	m.NewestTime, m.NewestName, m.NewestSize = types.StringNull(), types.StringNull(), types.Int64Null()
	m.Checkpoints = make([]CheckpointModel, 0, len(series))
	var count, size int64
	var newest *Checkpoint
	for i := range series {
		s := &series[i]
		count += s.Count
		size += s.Size
		if newest == nil || newer(s.Newest, *newest) {
			newest = &s.Newest
		}
		task := types.Int64Null()
		if s.Task >= 0 {
			task = types.Int64Value(s.Task)
		}
		m.Checkpoints = append(m.Checkpoints, CheckpointModel{
			Prefix: types.StringValue(strings.TrimSuffix(folder+s.Folder, "/")), TaskIndex: task,
			Name: types.StringValue(folder + s.Newest.Name), Time: moment(s.Newest.Time), Size: types.Int64Value(s.Newest.Size),
			ObjectCount: types.Int64Value(s.Newest.Objects), Count: types.Int64Value(s.Count),
		})
	}
	m.CheckpointCount, m.TotalSize, m.UnfinishedCount = types.Int64Value(count), types.Int64Value(size), types.Int64Value(unfinished)
	if newest != nil {
		m.NewestTime, m.NewestName, m.NewestSize = moment(newest.Time), types.StringValue(folder+newest.Name), types.Int64Value(newest.Size)
	}
}

func moment(t time.Time) types.String { return types.StringValue(t.UTC().Format(time.RFC3339Nano)) }
