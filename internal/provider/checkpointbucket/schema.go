// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"fmt"
	"time"

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

	// maxObjectName is the most bytes that the name of an object has.
	maxObjectName = 1024

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
			"location": placement.Location("bucket", "Location of the bucket, such as `us-central1` or `EU`; best the region of the jobs that use it. Upper and lower case are the same."),
			"storage_class": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("Storage class of new objects, such as `STANDARD` or `NEARLINE`. The colder classes bill a minimum time for each object, also for one that is overwritten. Default: `%q`.", defaultStorageClass),
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
				MarkdownDescription: "Delete objects below `expire_prefixes` this many days after they were written, 1 or more. The platform does it within about a day of that. Only together with `expire_prefixes`. Default: objects do not expire.",
				CustomType:          value.WholeType{},
				Optional:            true,
				Validators:          []validator.Int64{days{least: 1, why: "Write 1 or more, or take expire_after_days and expire_prefixes out for no expiry."}},
			},
			"expire_prefixes": schema.SetAttribute{
				MarkdownDescription: "Beginnings of the names of objects that expire, such as `scratch/`, at least one. Only together with `expire_after_days`: without a prefix the newest checkpoint would expire, too. Default: none.",
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.Set{each{
					description: "beginnings of names of objects", summary: "Invalid prefix", check: checkPrefix,
					least: 1, empty: "no prefix is given, so that nothing would expire: write one such as \"scratch/\", or take expire_after_days and expire_prefixes out",
				}},
			},
			"abort_incomplete_upload_days": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Remove the parts of interrupted multipart uploads after this many days, so that they are not billed for ever. `0` keeps them. Default: `%d`.", defaultAbortDays),
				CustomType:          value.WholeType{},
				Optional:            true, Computed: true, Default: int64default.StaticInt64(defaultAbortDays),
				Validators: []validator.Int64{days{least: 0, why: "Write 0 to keep the parts of interrupted uploads."}},
			},
			"kms_key_name": schema.StringAttribute{
				MarkdownDescription: "Cloud KMS key that encrypts new objects, `projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY`. Its location is the bucket's, and the Cloud Storage service agent " +
					"of the bucket's project (`service-PROJECT_NUMBER@gs-project-accounts.iam.gserviceaccount.com`) needs `roles/cloudkms.cryptoKeyEncrypterDecrypter` on it. Objects that exist keep the key that they were written with. Default: Google's own keys.",
				Optional:   true,
				Validators: []validator.String{value.Parses("the full name of a Cloud KMS key", "Invalid key", resourcename.CheckKey)},
			},
			"readers":          membersAttribute("Members that may list and read the objects", shares[0]),
			"writers":          membersAttribute("Members that may read, write and delete the objects and folders", shares[1]),
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
				MarkdownDescription: "Whether a destroy deletes the objects of the bucket, every version, and its folders. It counts once it has been applied. With `soft_delete_retention = \"0s\"` nothing of that can be recovered. While executions run that mount the bucket, a destroy is refused in any case. Default: `false`.",
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

// membersAttribute is an attribute that grants a role. Grants on a bucket go away with it.
func membersAttribute(who string, s share) schema.SetAttribute {
	return schema.SetAttribute{
		MarkdownDescription: who + ": each is granted `" + s.role + "` on the bucket. Written with their type, such as `user:ann@example.com`, `group:ml@example.com`, `domain:example.com` or " +
			"`serviceAccount:trainer@my-project.iam.gserviceaccount.com`; upper and lower case are the same. Public members (`allUsers`, `allAuthenticatedUsers`) are refused. " +
			"Other grants on the bucket stay as they are, and an import takes none of them over. A member that had the role before is not granted it again, and keeps it when it is taken out here. " +
			"A member may stand in `readers` and in `writers`. A job's own account needs no entry: `resilientjob_gpu_job` grants what it needs. Default: none.",
		ElementType: types.StringType, Optional: true,
		Validators: []validator.Set{each{description: "members of an IAM policy", summary: "Invalid member", check: checkMember}},
	}
}
