// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Model is the data source's configuration and state.
type Model struct {
	Bucket          types.String      `tfsdk:"bucket"`
	Prefix          types.String      `tfsdk:"prefix"`
	Pattern         types.String      `tfsdk:"pattern"`
	Marker          types.String      `tfsdk:"marker"`
	Ignore          types.Set         `tfsdk:"ignore"`
	NewestTime      types.String      `tfsdk:"newest_time"`
	NewestName      types.String      `tfsdk:"newest_name"`
	NewestSize      types.Int64       `tfsdk:"newest_size"`
	CheckpointCount types.Int64       `tfsdk:"checkpoint_count"`
	TotalSize       types.Int64       `tfsdk:"total_size"`
	UnfinishedCount types.Int64       `tfsdk:"unfinished_count"`
	Checkpoints     []CheckpointModel `tfsdk:"checkpoints"`
}

// CheckpointModel is the newest checkpoint of one task in one folder.
type CheckpointModel struct {
	Prefix      types.String `tfsdk:"prefix"`
	TaskIndex   types.Int64  `tfsdk:"task_index"`
	Name        types.String `tfsdk:"name"`
	Time        types.String `tfsdk:"time"`
	Size        types.Int64  `tfsdk:"size"`
	ObjectCount types.Int64  `tfsdk:"object_count"`
	Count       types.Int64  `tfsdk:"count"`
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
		MarkdownDescription: "The newest checkpoint of each task, as the objects of a bucket show it, so that a `check` block can say that checkpoints went stale. " +
			"What is not certainly whole is no checkpoint: an object under a temporary name, or a folder without its `marker`. " +
			"The list is read in pages of 1000 objects, and only as far as `prefix` and the beginning of `pattern` leave it open: a bucket of 1,000,000 objects takes 1000 requests, and minutes.",
		Attributes: map[string]schema.Attribute{
			"bucket": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Bucket: its name, or `gs://NAME`.",
				Validators:          []validator.String{value.Parses("the name of a bucket", "Invalid bucket name", checkBucket)},
			},
			"prefix": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Folder of the bucket to look into, such as `\"runs/42\"`; a slash at its end makes no difference. With the job's own `checkpoint.prefix` here, names are as the program sees them below the mount path. Default: the whole bucket.",
				Validators:          []validator.String{value.Parses("a folder of the bucket", "Invalid prefix", checkPath)},
			},
			"pattern": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How the names of checkpoints are made, below `prefix`, such as `\"task-{task}/step-*.ckpt\"`. Names that do not fit are no checkpoints. Default: every object is a checkpoint.\n\n" +
					"  - `{task}` stands for the index of a task, in digits. Nothing is guessed: without it `task_index` is null.\n" +
					"  - `{step}` stands for what differs from one checkpoint of a task to the next, such as the number of the step. It is needed only where a folder differs, as in `\"step-{step}/rank-{task}.pt\"`: without it each folder would have a newest checkpoint of its own.\n" +
					"  - `*` stands for any text within one part of a name, `**/` for any folders, also none, and `**` at the end for any rest.\n" +
					"  - A slash at the end says that each checkpoint is a folder, such as `\"task-{task}/step-*/\"`: everything in it counts as one checkpoint, as new as its newest object.",
				Validators: []validator.String{value.Parses("a pattern of names", "Invalid pattern", func(s string) error {
					_, err := ParsePattern(s)
					return err
				})},
			},
			"marker": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Name of the object that a program writes last into the folder of a checkpoint, such as `\".metadata\"` or `\"DONE\"`: a folder without it is not whole, and does not count. " +
					"On a mounted bucket a file exists for others once it is closed, so that a marker which is written after that proves the rest. Only for a `pattern` with a slash at its end. Default: every folder counts.",
				Validators: []validator.String{value.Parses("the name of an object within a folder", "Invalid marker", checkMarker)},
			},
			"ignore": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of what is still being written. Each is compared with every part of a name below `prefix`, so that what lies in a temporary folder is left out, too; `*` stands for any text. It replaces the default; `[]` leaves nothing out. Default: `" +
					strings.Join(defaultIgnore, "`, `") + "`.",
				Validators: []validator.Set{ignorePatterns{}},
			},
			"newest_time":      text("When the newest checkpoint of all was written, RFC 3339. Null when there is none."),
			"newest_name":      text("Name of that checkpoint in the bucket. The name of a folder ends in a slash. Null when there is none."),
			"newest_size":      count("Size of that checkpoint in bytes. Null when there is none."),
			"checkpoint_count": count("Number of checkpoints. 0 also when the bucket is empty."),
			"total_size":       count("Size of all checkpoints together, in bytes."),
			"unfinished_count": count("Number of objects below `prefix` that fit the pattern and do not count, because of `ignore` or for want of the `marker`."),
			"checkpoints": schema.ListNestedAttribute{
				Computed: true,
				MarkdownDescription: fmt.Sprintf("The newest checkpoint of each task in each folder, by folder and task. At most %d. Of two of the same moment, the one whose name is last by the alphabet is the newest.",
					maxSeries),
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"prefix":     text("Folder of the bucket in which the checkpoints follow each other, without a slash at its end: the one before the first part of the pattern with `{step}`, else the one that holds the checkpoint. Empty for the bucket itself."),
					"task_index": count("Index of the task, by `{task}` in the pattern. Null without it."),
					"name":       text("Name of the checkpoint in the bucket. The name of a folder ends in a slash."),
					"time": text("When it was written, RFC 3339: when this generation of the object was created in the bucket, which is when the file was closed. A later change of the object's metadata or storage class does not count. " +
						"Where a rename keeps that time, it is the time of the writing."),
					"size":         count("Size in bytes; of a folder, that of everything in it."),
					"object_count": count("Number of objects of which it consists: 1, or those in the folder."),
					"count":        count("Number of checkpoints of this task in this folder, older ones included."),
				}},
			},
		},
	}
}

// checkBucket accepts what is written elsewhere for a bucket, and takes apart
// what has a folder behind it.
func checkBucket(s string) error {
	_, err := resourcename.ParseBucket(s)
	rest, isURL := strings.CutPrefix(s, "gs://")
	bucket, folder, _ := strings.Cut(rest, "/")
	if folder = strings.Trim(folder, "/"); err != nil && isURL && folder != "" {
		if _, bucketErr := resourcename.ParseBucket(bucket); bucketErr == nil {
			return fmt.Errorf("%q has a folder behind the bucket: write bucket = %q and prefix = %q", resourcename.Shorten(s), bucket, resourcename.Shorten(folder))
		}
	}
	return err
}

func checkMarker(s string) error {
	if s == "" || strings.HasSuffix(s, "/") {
		return fmt.Errorf("%q is no name of an object: write one such as \"DONE\"", resourcename.Shorten(s))
	}
	if strings.ContainsAny(s, "*{}") {
		return fmt.Errorf("%q has a wildcard in it: write the one name that the program writes last, such as \"DONE\"", resourcename.Shorten(s))
	}
	return checkPath(s)
}

// ignorePatterns checks the elements of the attribute ignore.
type ignorePatterns struct{}

func (ignorePatterns) Description(context.Context) string { return "patterns of parts of names" }

func (v ignorePatterns) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (ignorePatterns) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	for _, element := range req.ConfigValue.Elements() {
		s, ok := element.(types.String)
		if !ok || s.IsUnknown() {
			continue
		}
		err := errors.New("an element is null: take it out, or write a value")
		if !s.IsNull() {
			err = checkIgnore(s.ValueString())
		}
		if err != nil {
			resp.Diagnostics.AddAttributeError(req.Path, "Invalid ignore pattern", fmt.Sprintf("%s: %s.", req.Path, err))
		}
	}
}
