// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// The documented defaults. Import writes them, because the framework applies none there.
const (
	defaultStorageClass = "STANDARD"
	defaultSoftDelete   = "0s"
	defaultAbortDays    = 1

	// Cloud Storage's own bounds of a soft delete retention that is not off.
	minSoftDelete = 7 * 24 * time.Hour
	maxSoftDelete = 90 * 24 * time.Hour

	enforced = "enforced"
)

// Schema describes the attributes.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A Cloud Storage bucket whose defaults fit checkpoints: a hierarchical namespace, so that renaming a folder on the mount is atomic; no soft delete, " +
			"because every overwritten checkpoint would be kept and billed; interrupted uploads removed after a day; uniform access and public access prevention always on.\n\n" +
			"Destroying a bucket that holds objects is refused, unless `force_destroy` is set and applied before.",
		Attributes: map[string]schema.Attribute{
			"name":     placement.Name("bucket", "Name of the bucket, unique in the world: 3 to 63 lower-case letters, digits, `-`, `_` and `.`.", resourcename.CheckBucket),
			"project":  placement.Project("bucket"),
			"location": placement.Location("bucket", "Location of the bucket, best the region of the jobs that use it. Upper and lower case are the same."),
			"storage_class": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("Storage class of new objects. The colder classes bill a minimum time for each object, also for one that is overwritten. Default: `%q`.", defaultStorageClass),
				Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultStorageClass),
				Validators: []validator.String{value.Parses("a storage class such as \"STANDARD\"", "Invalid storage class", checkStorageClass)},
			},
			"hierarchical_namespace": schema.BoolAttribute{
				MarkdownDescription: "Whether the bucket has real folders, so that renaming one is atomic. It is decided when a bucket is made. Default: `true` for a new bucket; one that exists keeps what it has, and asking for the other value is refused.",
				Optional:            true, Computed: true,
			},
			"versioning": schema.BoolAttribute{
				MarkdownDescription: "Whether overwritten objects are kept as older versions. Not together with a hierarchical namespace. Default: `false`.",
				Optional:            true, Computed: true, Default: booldefault.StaticBool(false),
			},
			"soft_delete_retention": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("How long deleted and overwritten objects can be restored: `\"0s\"` for not at all, or 7 to 90 days, such as `\"168h\"`. Each overwritten checkpoint is billed for this long. Default: `%q`.", defaultSoftDelete),
				CustomType:          value.DurationType{},
				Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultSoftDelete),
				PlanModifiers: []planmodifier.String{value.KeepEqual()},
				Validators:    []validator.String{value.Parses("0 or 7 to 90 days", "Invalid soft delete retention", checkSoftDelete)},
			},
			"expire_after_days": schema.Int64Attribute{
				MarkdownDescription: "Delete objects below `expire_prefixes` this many days after they were written. The platform does it within about a day of that.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1), int64validator.AlsoRequires(path.MatchRoot("expire_prefixes"))},
			},
			"expire_prefixes": schema.SetAttribute{
				MarkdownDescription: "Beginnings of the names of objects that expire, such as `scratch/`. Required with `expire_after_days`: without a prefix the newest checkpoint would expire, too.",
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.Set{
					setvalidator.SizeAtLeast(1),
					setvalidator.AlsoRequires(path.MatchRoot("expire_after_days")),
					setvalidator.ValueStringsAre(value.Parses("a prefix", "Invalid prefix", checkPrefix)),
				},
			},
			"abort_incomplete_upload_days": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Remove the parts of interrupted multipart uploads after this many days, so that they are not billed for ever. `0` keeps them. Default: `%d`.", defaultAbortDays),
				Optional:            true, Computed: true, Default: int64default.StaticInt64(defaultAbortDays),
				Validators: []validator.Int64{int64validator.AtLeast(0)},
			},
			"labels":           labels.Attribute("the bucket"),
			"terraform_labels": labels.TerraformAttribute(),
			"effective_labels": labels.EffectiveAttribute("bucket"),
			"uniform_bucket_level_access": schema.BoolAttribute{
				MarkdownDescription: "Always `true`. Shown as it is, so that a plan switches it on again when somebody switched it off.",
				Computed:            true,
			},
			"public_access_prevention": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("Always `%q`. Shown as it is, so that a plan enforces it again when somebody lifted it.", enforced),
				Computed:            true,
			},
			"force_destroy": schema.BoolAttribute{
				MarkdownDescription: "Whether a destroy deletes the objects of the bucket, every version, and its folders. It counts once it has been applied. With `soft_delete_retention = \"0s\"` nothing of that can be recovered. Default: `false`.",
				Optional:            true, Computed: true, Default: booldefault.StaticBool(false),
			},
			"id": schema.StringAttribute{
				MarkdownDescription: "Name of the bucket.",
				Computed:            true,
			},
			"url": schema.StringAttribute{
				MarkdownDescription: "`gs://` and the name.",
				Computed:            true,
			},
			"time_created": schema.StringAttribute{
				MarkdownDescription: "When the bucket was made, in RFC 3339.",
				Computed:            true,
			},
			"timeouts": timelimits.Attribute(ctx, "emptying a bucket of many objects needs more"),
		},
	}
}

func checkStorageClass(s string) error {
	switch upper := strings.ToUpper(strings.TrimSpace(s)); {
	case s == "":
		return errors.New("the class is empty: write \"STANDARD\"")
	case s != upper:
		return fmt.Errorf("%q is not how Google writes it: write %q", s, upper)
	}
	return nil
}

func checkSoftDelete(s string) error {
	d, err := value.ParseDuration(s)
	switch {
	case err != nil:
		return err
	case d != 0 && (d < minSoftDelete || d > maxSoftDelete):
		return fmt.Errorf("%q is not possible: write \"0s\" for no soft delete, or 7 to 90 days (%q to %q)", s,
			value.FormatDuration(minSoftDelete), value.FormatDuration(maxSoftDelete))
	case d%time.Second != 0:
		return fmt.Errorf("%q is not in whole seconds", s)
	}
	return nil
}

func checkPrefix(s string) error {
	switch {
	case s == "":
		return errors.New("\"\" is the beginning of every name, so that all checkpoints would expire: write a folder such as \"scratch/\"")
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "gs://"):
		return fmt.Errorf("%q is not how names of objects begin: write it without the bucket and without a leading slash", s)
	}
	return nil
}
