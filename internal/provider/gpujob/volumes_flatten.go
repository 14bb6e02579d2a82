// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// flattenVolumes reads every volume but the checkpoint's, by name: their order
// means nothing. A volume that the schema cannot hold, and that prior does not
// have, is somebody else's and not shown.
func flattenVolumes(ctx context.Context, task *runpb.TaskTemplate, container *runpb.Container, prior *Model, checkpoint string, diags *diag.Diagnostics) types.Map {
	before := prior.volumes(ctx, diags)
	out := map[string]*Volume{}
	for _, live := range task.GetVolumes() {
		name := live.GetName()
		_, ours := before[name]
		if name == checkpoint || name == checkpointVolume || !ours && !heldBySchema(task, live) {
			continue
		}
		if v := flattenVolume(ctx, live, mountOf(container, name), before[name], prior, diags); v != nil {
			out[name] = v
		}
	}
	return encodeMap(ctx, volumeTypes, out, prior.Volumes, diags)
}

// heldBySchema tells whether the attribute volumes can hold a live volume.
func heldBySchema(task *runpb.TaskTemplate, v *runpb.Volume) bool { return whyNotHeld(task, v) == "" }

// whyNotHeld says why the attribute volumes cannot hold a live volume; it is
// empty when it can.
func whyNotHeld(task *runpb.TaskTemplate, v *runpb.Volume) string {
	var mounts []*runpb.VolumeMount
	for _, c := range task.GetContainers() {
		for _, m := range c.GetVolumeMounts() {
			if m.GetName() == v.GetName() {
				mounts = append(mounts, m)
			}
		}
	}
	_, sql := v.GetVolumeType().(*runpb.Volume_CloudSqlInstance)
	switch {
	case len(mounts) == 0:
		return "is not mounted"
	case len(mounts) > 1:
		return fmt.Sprintf("is mounted %d times", len(mounts))
	case v.GetName() == checkpointVolume && v.GetGcs() == nil:
		return "has the name of the attribute checkpoint and is no bucket"
	case sql && mounts[0].GetSubPath() != "":
		return "is a Cloud SQL volume with a sub path"
	}
	switch source := v.GetVolumeType().(type) {
	case *runpb.Volume_Gcs, *runpb.Volume_Nfs, *runpb.Volume_EmptyDir, *runpb.Volume_CloudSqlInstance:
	case *runpb.Volume_Secret:
		paths := map[string]bool{}
		for _, item := range source.Secret.GetItems() {
			if paths[item.GetPath()] {
				return fmt.Sprintf("has two files at %q", item.GetPath())
			}
			paths[item.GetPath()] = true
		}
	default:
		return "is of a kind that this version does not know"
	}
	return ""
}

func flattenVolume(ctx context.Context, live *runpb.Volume, mount *runpb.VolumeMount, before *Volume, prior *Model, diags *diag.Diagnostics) *Volume {
	if before == nil {
		before = blankVolume()
	}
	v := blankVolume()
	v.MountPath, v.SubPath = text(mount.GetMountPath()), text(mount.GetSubPath())
	readOnly := false
	switch source := live.GetVolumeType().(type) {
	case *runpb.Volume_Gcs:
		old := decode[GCSVolume](ctx, before.GCS, diags)
		if old == nil {
			old = &GCSVolume{MountOptions: types.ListNull(types.StringType), Grant: types.BoolNull()}
		}
		readOnly = source.Gcs.GetReadOnly()
		v.GCS = encode(ctx, gcsTypes, &GCSVolume{
			Bucket: types.StringValue(bareName(source.Gcs.GetBucket())), MountOptions: flattenList(source.Gcs.GetMountOptions(), old.MountOptions), Grant: old.Grant,
		}, diags)
	case *runpb.Volume_Nfs:
		readOnly = source.Nfs.GetReadOnly()
		v.NFS = encode(ctx, nfsTypes, &NFSVolume{Server: types.StringValue(source.Nfs.GetServer()), Path: types.StringValue(source.Nfs.GetPath())}, diags)
	case *runpb.Volume_EmptyDir:
		v.EmptyDir = flattenEmptyDir(ctx, source.EmptyDir, decode[EmptyDirVolume](ctx, before.EmptyDir, diags), diags)
	case *runpb.Volume_Secret:
		v.Secret = flattenSecretVolume(ctx, source.Secret, decode[SecretVolume](ctx, before.Secret, diags), prior, diags)
	case *runpb.Volume_CloudSqlInstance:
		v.MountPath = types.StringNull()
		v.CloudSQL = encode(ctx, cloudSQLTypes, &CloudSQLVolume{Instances: setOf(source.CloudSqlInstance.GetInstances())}, diags)
	default:
		return nil
	}
	v.ReadOnly = types.BoolNull()
	if readOnly || value.Known(before.ReadOnly) {
		v.ReadOnly = types.BoolValue(readOnly)
	}
	return v
}

func blankVolume() *Volume {
	return &Volume{
		MountPath: types.StringNull(), ReadOnly: types.BoolNull(), SubPath: types.StringNull(),
		GCS: types.ObjectNull(gcsTypes), NFS: types.ObjectNull(nfsTypes), EmptyDir: types.ObjectNull(emptyDirTypes),
		Secret: types.ObjectNull(secretTypes), CloudSQL: types.ObjectNull(cloudSQLTypes),
	}
}

// flattenEmptyDir reads an empty folder. Memory is what a server writes where
// nothing was asked for.
func flattenEmptyDir(ctx context.Context, live *runpb.EmptyDirVolumeSource, before *EmptyDirVolume, diags *diag.Diagnostics) types.Object {
	e := &EmptyDirVolume{Medium: types.StringNull(), SizeLimit: value.NewQuantityNull()}
	if before == nil {
		before = &EmptyDirVolume{Medium: types.StringNull(), SizeLimit: value.NewQuantityNull()}
	}
	for name, medium := range media {
		if live.GetMedium() == medium && (medium != runpb.EmptyDirVolumeSource_MEMORY || value.Known(before.Medium)) {
			e.Medium = types.StringValue(name)
		}
	}
	if live.GetMedium() == runpb.EmptyDirVolumeSource_MEDIUM_UNSPECIFIED && before.Medium.ValueString() == mediumMemory {
		e.Medium = before.Medium
	}
	e.SizeLimit = flattenQuantity(live.GetSizeLimit(), before.SizeLimit, value.ParseMemory, value.FormatMemory)
	return encode(ctx, emptyDirTypes, e, diags)
}

func flattenSecretVolume(ctx context.Context, live *runpb.SecretVolumeSource, before *SecretVolume, prior *Model, diags *diag.Diagnostics) types.Object {
	itemType := types.ObjectType{AttrTypes: secretItemTypes}
	s := &SecretVolume{
		Secret: types.StringValue(live.GetSecret()), Version: types.StringNull(), Items: types.MapNull(itemType),
		DefaultMode: value.NewFileModeNull(), Grant: types.BoolNull(),
	}
	if before == nil {
		before = &SecretVolume{Secret: types.StringNull(), Version: types.StringNull(), Items: types.MapNull(itemType), DefaultMode: value.NewFileModeNull()}
	} else {
		s.Secret, s.Grant = prior.sameSecret(live.GetSecret(), before.Secret), before.Grant
	}
	s.DefaultMode = flattenMode(live.GetDefaultMode(), before.DefaultMode, serverFileMode)
	// A single file with the secret's own name is what version means.
	if items := live.GetItems(); len(items) == 1 && items[0].GetPath() == bareName(live.GetSecret()) && items[0].GetMode() == 0 && before.Items.IsNull() {
		s.Version = types.StringValue(versionOf(items[0].GetVersion()))
		if items[0].GetVersion() == defaultVersion && before.Version.IsNull() {
			s.Version = types.StringNull()
		}
		return encode(ctx, secretTypes, s, diags)
	} else if len(items) == 0 && before.Version.ValueString() == defaultVersion {
		s.Version = before.Version
	}
	old := decodeMap[SecretItem](ctx, before.Items, diags)
	items := map[string]*SecretItem{}
	for _, item := range live.GetItems() {
		mode := value.NewFileModeNull()
		if o := old[item.GetPath()]; o != nil {
			mode = o.Mode
		}
		items[item.GetPath()] = &SecretItem{Version: types.StringValue(versionOf(item.GetVersion())), Mode: flattenMode(item.GetMode(), mode, 0)}
	}
	s.Items = encodeMap(ctx, secretItemTypes, items, before.Items, diags)
	return encode(ctx, secretTypes, s, diags)
}

// serverFileMode is the mode of the files of a secret where none is asked for.
const serverFileMode = 0o444

// flattenMode keeps prior's spelling of the same bits, and stores nothing where
// nothing was asked for and the server has its default.
func flattenMode(live int32, prior value.FileMode, byDefault int32) value.FileMode {
	switch {
	case live == prior.Bits() || live == 0 && prior.Bits() == byDefault:
		return prior
	case live == 0 || live == byDefault && prior.IsNull():
		return value.NewFileModeNull()
	}
	return value.FileModeOf(live)
}

// flattenSet keeps null and empty apart as prior does.
func flattenSet(live []string, prior types.Set) types.Set {
	if len(live) == 0 {
		if value.Known(prior) && len(prior.Elements()) == 0 {
			return prior
		}
		return types.SetNull(types.StringType)
	}
	return setOf(live)
}

// setOf makes a set attribute of what a server may repeat.
func setOf(live []string) types.Set {
	return value.SetOf(slices.Compact(slices.Sorted(slices.Values(live))))
}
