// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"slices"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// overlayVolumes puts the configured volumes and their mounts into the task and
// takes the others out. The volume of the checkpoint, and volumes that the
// schema cannot hold, are left alone; live volumes keep their order.
func overlayVolumes(ctx context.Context, task *runpb.TaskTemplate, container *runpb.Container, prior, m *Model, checkpoint string, diags *diag.Diagnostics) {
	want := m.volumes(ctx, diags)
	var before map[string]*Volume
	if prior != nil {
		before = prior.volumes(ctx, diags)
	}
	for _, live := range slices.Clone(task.Volumes) {
		name := live.GetName()
		if _, wanted := want[name]; wanted || name == checkpoint {
			continue
		}
		if _, ours := before[name]; ours || heldBySchema(task, live) {
			dropVolume(task, name)
		}
	}
	for _, name := range sortedKeys(want) {
		i := slices.IndexFunc(task.Volumes, func(v *runpb.Volume) bool { return v.GetName() == name })
		if i < 0 {
			task.Volumes = append(task.Volumes, &runpb.Volume{Name: name})
			i = len(task.Volumes) - 1
		}
		overlayVolume(ctx, task.Volumes[i], want[name], diags)
		overlayMount(container, name, want[name])
	}
}

// dropVolume takes a volume and its mounts out of the task.
func dropVolume(task *runpb.TaskTemplate, name string) {
	task.Volumes = slices.DeleteFunc(task.Volumes, func(v *runpb.Volume) bool { return v.GetName() == name })
	for _, c := range task.Containers {
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m *runpb.VolumeMount) bool { return m.GetName() == name })
	}
}

func overlayMount(container *runpb.Container, name string, v *Volume) {
	mount := mountOf(container, name)
	if mount == nil {
		mount = &runpb.VolumeMount{Name: name}
		container.VolumeMounts = append(container.VolumeMounts, mount)
	}
	mount.MountPath, mount.SubPath = v.MountPath.ValueString(), v.SubPath.ValueString()
	if value.Known(v.CloudSQL) {
		mount.MountPath = cloudSQLPath
	}
}

// overlayVolume sets the source of a volume. A live source of the same kind
// keeps the fields that this version does not know.
func overlayVolume(ctx context.Context, live *runpb.Volume, v *Volume, diags *diag.Diagnostics) {
	if g := decode[GCSVolume](ctx, v.GCS, diags); g != nil {
		source := live.GetGcs()
		if source == nil {
			source = &runpb.GCSVolumeSource{}
			live.VolumeType = &runpb.Volume_Gcs{Gcs: source}
		}
		if bareName(source.GetBucket()) != g.Bucket.ValueString() {
			source.Bucket = g.Bucket.ValueString()
		}
		source.ReadOnly, source.MountOptions = v.ReadOnly.ValueBool(), value.Elements(g.MountOptions)
	}
	if n := decode[NFSVolume](ctx, v.NFS, diags); n != nil {
		source := live.GetNfs()
		if source == nil {
			source = &runpb.NFSVolumeSource{}
			live.VolumeType = &runpb.Volume_Nfs{Nfs: source}
		}
		source.Server, source.Path, source.ReadOnly = n.Server.ValueString(), n.Path.ValueString(), v.ReadOnly.ValueBool()
	}
	if e := decode[EmptyDirVolume](ctx, v.EmptyDir, diags); e != nil {
		source := live.GetEmptyDir()
		if source == nil {
			source = &runpb.EmptyDirVolumeSource{}
			live.VolumeType = &runpb.Volume_EmptyDir{EmptyDir: source}
		}
		source.Medium = media[e.Medium.ValueString()]
		if bytes, err := e.SizeLimit.MemoryBytes(); err != nil {
			source.SizeLimit = ""
		} else if have, err := value.ParseMemory(source.GetSizeLimit()); err != nil || have != bytes {
			source.SizeLimit = value.APIMemory(bytes)
		}
	}
	if s := decode[SecretVolume](ctx, v.Secret, diags); s != nil {
		overlaySecretVolume(ctx, live, s, diags)
	}
	if c := decode[CloudSQLVolume](ctx, v.CloudSQL, diags); c != nil {
		source := live.GetCloudSqlInstance()
		if source == nil {
			source = &runpb.CloudSqlInstance{}
			live.VolumeType = &runpb.Volume_CloudSqlInstance{CloudSqlInstance: source}
		}
		if names := value.Elements(c.Instances); !sameElements(names, source.GetInstances()) {
			source.Instances = names
		}
	}
}

var media = map[string]runpb.EmptyDirVolumeSource_Medium{
	mediumMemory: runpb.EmptyDirVolumeSource_MEMORY, mediumDisk: runpb.EmptyDirVolumeSource_DISK,
}

func overlaySecretVolume(ctx context.Context, live *runpb.Volume, s *SecretVolume, diags *diag.Diagnostics) {
	source := live.GetSecret()
	if source == nil {
		source = &runpb.SecretVolumeSource{}
		live.VolumeType = &runpb.Volume_Secret{Secret: source}
	}
	source.Secret, source.DefaultMode = s.Secret.ValueString(), s.DefaultMode.Bits()
	items := decodeMap[SecretItem](ctx, s.Items, diags)
	if value.Known(s.Version) {
		items = map[string]*SecretItem{bareName(s.Secret.ValueString()): {Version: s.Version}}
	}
	old := source.GetItems()
	source.Items = nil
	put := func(path string) {
		if item := items[path]; item != nil {
			source.Items = append(source.Items, &runpb.VersionToPath{Path: path, Version: item.Version.ValueString(), Mode: item.Mode.Bits()})
			delete(items, path)
		}
	}
	for _, item := range old { // a live order is kept
		put(item.GetPath())
	}
	for _, path := range sortedKeys(items) {
		put(path)
	}
}

func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
