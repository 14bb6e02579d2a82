// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// cloudSQLPath is where Cloud Run mounts Cloud SQL instances, whatever a
// request says.
const cloudSQLPath = "/cloudsql"

// The media of an empty folder, as the configuration writes them.
const (
	mediumMemory = "memory"
	mediumDisk   = "disk"
)

// Volume is one element of the attribute volumes.
type Volume struct {
	MountPath types.String `tfsdk:"mount_path"`
	ReadOnly  types.Bool   `tfsdk:"read_only"`
	SubPath   types.String `tfsdk:"sub_path"`
	GCS       types.Object `tfsdk:"gcs"`
	NFS       types.Object `tfsdk:"nfs"`
	EmptyDir  types.Object `tfsdk:"empty_dir"`
	Secret    types.Object `tfsdk:"secret"`
	CloudSQL  types.Object `tfsdk:"cloud_sql"`
}

// GCSVolume is the attribute gcs of a volume.
type GCSVolume struct {
	Bucket       types.String `tfsdk:"bucket"`
	MountOptions types.List   `tfsdk:"mount_options"`
	Grant        types.Bool   `tfsdk:"grant"`
}

// NFSVolume is the attribute nfs of a volume.
type NFSVolume struct {
	Server types.String `tfsdk:"server"`
	Path   types.String `tfsdk:"path"`
}

// EmptyDirVolume is the attribute empty_dir of a volume.
type EmptyDirVolume struct {
	Medium    types.String   `tfsdk:"medium"`
	SizeLimit value.Quantity `tfsdk:"size_limit"`
}

// SecretVolume is the attribute secret of a volume.
type SecretVolume struct {
	Secret      types.String   `tfsdk:"secret"`
	Version     types.String   `tfsdk:"version"`
	Items       types.Map      `tfsdk:"items"`
	DefaultMode value.FileMode `tfsdk:"default_mode"`
	Grant       types.Bool     `tfsdk:"grant"`
}

// SecretItem is one element of the attribute items of a secret volume.
type SecretItem struct {
	Version types.String   `tfsdk:"version"`
	Mode    value.FileMode `tfsdk:"mode"`
}

// CloudSQLVolume is the attribute cloud_sql of a volume.
type CloudSQLVolume struct {
	Instances types.Set `tfsdk:"instances"`
}

var (
	gcsTypes = map[string]attr.Type{
		"bucket": types.StringType, "mount_options": types.ListType{ElemType: types.StringType}, "grant": types.BoolType,
	}
	nfsTypes        = map[string]attr.Type{"server": types.StringType, "path": types.StringType}
	emptyDirTypes   = map[string]attr.Type{"medium": types.StringType, "size_limit": value.QuantityType{}}
	secretItemTypes = map[string]attr.Type{"version": types.StringType, "mode": value.FileModeType{}}
	secretTypes     = map[string]attr.Type{
		"secret": types.StringType, "version": types.StringType, "items": types.MapType{ElemType: types.ObjectType{AttrTypes: secretItemTypes}},
		"default_mode": value.FileModeType{}, "grant": types.BoolType,
	}
	cloudSQLTypes = map[string]attr.Type{"instances": types.SetType{ElemType: types.StringType}}
	volumeTypes   = map[string]attr.Type{
		"mount_path": types.StringType, "read_only": types.BoolType, "sub_path": types.StringType,
		"gcs": types.ObjectType{AttrTypes: gcsTypes}, "nfs": types.ObjectType{AttrTypes: nfsTypes}, "empty_dir": types.ObjectType{AttrTypes: emptyDirTypes},
		"secret": types.ObjectType{AttrTypes: secretTypes}, "cloud_sql": types.ObjectType{AttrTypes: cloudSQLTypes},
	}
	volumeType = types.ObjectType{AttrTypes: volumeTypes}
)

func volumesAttribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		MarkdownDescription: "Further volumes, by name: lower-case letters, digits and hyphens. Each has exactly one of `gcs`, `nfs`, `empty_dir`, `secret` and `cloud_sql`. " +
			"The name `checkpoint` belongs to the attribute `checkpoint`. Default: none.",
		Optional:   true,
		Validators: []validator.Map{volumeNames{}},
		NestedObject: schema.NestedAttributeObject{
			Validators: []validator.Object{oneKind{}},
			Attributes: map[string]schema.Attribute{
				"mount_path": schema.StringAttribute{
					MarkdownDescription: "Absolute path under which each task sees the volume. No path lies below that of another volume. Required, but for `cloud_sql`. Default: for `cloud_sql`, and always, `" + cloudSQLPath + "`.",
					Optional:            true,
					Validators:          []validator.String{value.Parses("a mount path", "Invalid mount path", checkMountPath)},
				},
				"read_only": schema.BoolAttribute{
					MarkdownDescription: "Whether tasks can only read it; for `gcs` and `nfs`. Default: `false`.",
					Optional:            true,
				},
				"sub_path": schema.StringAttribute{
					MarkdownDescription: "Folder of the volume to mount instead of the whole volume, without a slash first. Not for `secret` and `cloud_sql`. Default: the whole volume.",
					Optional:            true,
					Validators:          []validator.String{value.Parses("a folder of the volume", "Invalid sub path", checkSubPath)},
				},
				"gcs":       gcsAttribute(),
				"nfs":       nfsAttribute(),
				"empty_dir": emptyDirAttribute(),
				"secret":    secretVolumeAttribute(),
				"cloud_sql": cloudSQLAttribute(),
			},
		},
	}
}

func gcsAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "A Cloud Storage bucket, such as one with training data. Default: none.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"bucket": schema.StringAttribute{
				MarkdownDescription: "Name of the bucket, without `gs://`. It must exist before the job.",
				Required:            true,
				Validators:          []validator.String{value.Parses("the name of a bucket", "Invalid bucket name", resourcename.CheckBucket)},
			},
			"mount_options": schema.ListAttribute{
				MarkdownDescription: "Options of gcsfuse, without leading hyphens, such as `\"only-dir=data\"`. Default: none.",
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.List{noNulls{}, mountOptions{}},
			},
			"grant": schema.BoolAttribute{
				MarkdownDescription: "Whether to grant the account `" + viewerRole + "` on the bucket when `read_only` is true, else `" + defaultRole + "`. " +
					"Default: `true` for the account that the provider makes, `false` for a named `service_account`.",
				Optional: true,
			},
		},
	}
}

func nfsAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "A folder of an NFS server, such as Filestore. The job needs `network` to reach it. Default: none.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"server": schema.StringAttribute{
				MarkdownDescription: "Host name or IP address of the server.",
				Required:            true,
				Validators:          []validator.String{value.Parses("a host name or an IP address", "Invalid NFS server", checkServer)},
			},
			"path": schema.StringAttribute{
				MarkdownDescription: "Absolute path that the server exports.",
				Required:            true,
				Validators:          []validator.String{value.Parses("an exported path", "Invalid NFS path", checkExport)},
			},
		},
	}
}

func emptyDirAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "A folder that is empty when a task starts and gone when it ends. Nothing in it survives an interruption. `{}` is enough. Default: none.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"medium": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("Where its files are: `%q`, as part of the task's `memory`, or `%q` (preview). Default: Cloud Run decides; today that is memory.", mediumMemory, mediumDisk),
				Optional:            true,
				Validators:          []validator.String{value.Parses("a medium", "Invalid medium", checkMedium)},
			},
			"size_limit": schema.StringAttribute{
				MarkdownDescription: "The most that its files may take: bytes, or with a unit such as `Mi` or `Gi`, as in `\"2Gi\"`. Default: no limit of its own.",
				CustomType:          value.QuantityType{},
				Optional:            true,
				PlanModifiers:       []planmodifier.String{value.KeepEqual()},
				Validators:          []validator.String{value.IsMemory()},
			},
		},
	}
}

func secretVolumeAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Versions of a secret as files. They are read when a task starts. Default: none.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"secret": secretAttribute(),
			"version": schema.StringAttribute{
				MarkdownDescription: "Version that the only file holds, which has the secret's name: a number, an alias or `\"latest\"`. Excludes `items`. Default: without `items` the newest version.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("a version of a secret", "Invalid secret version", checkVersion)},
			},
			"items": schema.MapNestedAttribute{
				MarkdownDescription: "The files, by their path below the mount path, without a slash first. Default: one file with the secret's name.",
				Optional:            true,
				Validators:          []validator.Map{filePaths{}},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"version": versionAttribute(),
					"mode":    fileModeAttribute("Mode bits of this file in octal, such as `\"0400\"`. Cloud Run takes the write bits away. Default: `default_mode`."),
				}},
			},
			"default_mode": fileModeAttribute("Mode bits of the files in octal, as chmod writes them, such as `\"0440\"`. Cloud Run takes the write bits away. Default: Cloud Run's, `0444`."),
			"grant":        secretGrantAttribute(),
		},
	}
}

func fileModeAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description, CustomType: value.FileModeType{}, Optional: true,
		PlanModifiers: []planmodifier.String{value.KeepEqual()},
		Validators:    []validator.String{value.IsFileMode()},
	}
}

func cloudSQLAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Cloud SQL instances, as sockets below `" + cloudSQLPath + "`. The account needs `roles/cloudsql.client`, which this resource does not grant. Default: none.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"instances": schema.SetAttribute{
				MarkdownDescription: "Connection names, `PROJECT:REGION:INSTANCE`, at least one.",
				ElementType:         types.StringType, Required: true,
				Validators: []validator.Set{instances{}},
			},
		},
	}
}
