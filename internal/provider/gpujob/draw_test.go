// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// drawModel draws a valid model.
func drawModel(t *rapid.T) Model {
	word := rapid.StringMatching(`[a-z]{1,8}`)
	stringsOf := func(name string) types.List {
		switch n := rapid.IntRange(-1, 3).Draw(t, name); {
		case n < 0:
			return types.ListNull(types.StringType)
		default:
			return value.ListOf(rapid.SliceOfN(rapid.String(), n, n).Draw(t, name))
		}
	}
	mapOf := func(name string) types.Map {
		if rapid.Bool().Draw(t, name+" null") {
			return types.MapNull(types.StringType)
		}
		return value.MapOf(rapid.MapOfN(word, rapid.SampledFrom([]string{"", "a", "b-c"}), 0, 4).Draw(t, name))
	}
	m := example()
	m.Image = types.StringValue(word.Draw(t, "image"))
	m.Command, m.Args, m.Env = stringsOf("command"), stringsOf("args"), mapOf("env")
	m.GPUType = types.StringValue(rapid.SampledFrom([]string{"nvidia-l4", "nvidia-rtx-pro-6000", "none", "later"}).Draw(t, "gpu"))
	m.GPUZonalRedundancy = types.BoolValue(m.GPUType.ValueString() != "none" && rapid.Bool().Draw(t, "redundancy"))
	m.CPU = value.NewQuantity(rapid.SampledFrom([]string{"1", "4", "4000m", "20", "0.5"}).Draw(t, "cpu"))
	m.Memory = value.NewQuantity(rapid.SampledFrom([]string{"512Mi", "16Gi", "16G", "17179869184", "80Gi"}).Draw(t, "memory"))
	m.TaskCount = value.NewWhole(rapid.Int64Range(1, 10_000).Draw(t, "tasks"))
	if rapid.Bool().Draw(t, "parallelism set") {
		m.Parallelism = value.NewWhole(rapid.Int64Range(1, m.TaskCount.ValueInt64()).Draw(t, "parallelism"))
	}
	m.TaskTimeout = value.NewDuration(rapid.SampledFrom([]string{"1h", "60m", "3600s", "12h", "3.5s", "3.500s", "168h"}).Draw(t, "timeout"))
	m.MaxRetries = value.NewWhole(rapid.Int64Range(0, 10).Draw(t, "retries"))
	if rapid.Bool().Draw(t, "named") {
		m.ServiceAccount, m.ServiceAccountID = types.StringValue("me@my-project.iam.gserviceaccount.com"), types.StringNull()
		m.ServiceAccountEmail, m.ServiceAccountUniqueID = m.ServiceAccount, types.StringNull()
	}
	m.Labels = mapOf("labels")
	all := value.Strings(m.Labels)
	all["default"] = "x"
	m.TerraformLabels = value.MapOf(all)
	m.EffectiveLabels = m.TerraformLabels
	if rapid.Bool().Draw(t, "stage set") {
		m.LaunchStage = types.StringValue(rapid.SampledFrom([]string{"GA", "BETA", "ALPHA"}).Draw(t, "stage"))
	}
	if rapid.Bool().Draw(t, "checkpoint set") {
		c := newCheckpoint()
		c.Bucket, c.MountPath = types.StringValue(word.Draw(t, "bucket")), types.StringValue("/"+word.Draw(t, "path"))
		if rapid.Bool().Draw(t, "prefix set") {
			c.Prefix = types.StringValue(word.Draw(t, "prefix"))
		}
		switch rapid.IntRange(0, 2).Draw(t, "options") {
		case 1:
			c.MountOptions = value.ListOf(nil)
		case 2:
			c.MountOptions = value.ListOf(rapid.SliceOfN(word, 1, 3).Draw(t, "option"))
		}
		c.Grant = rapid.SampledFrom([]types.Bool{types.BoolNull(), types.BoolValue(true), types.BoolValue(false)}).Draw(t, "grant")
		var diags diag.Diagnostics
		m.Checkpoint = c.object(t.Context(), &diags)
	}
	drawEnvironment(t, &m)
	drawVolumes(t, &m)
	drawNetwork(t, &m)
	if rapid.Bool().Draw(t, "working_dir set") {
		m.WorkingDir = types.StringValue("/" + word.Draw(t, "working_dir"))
	}
	m.Annotations = mapOf("annotations")
	if rapid.Bool().Draw(t, "key set") {
		m.EncryptionKey = types.StringValue("projects/p/locations/l/keyRings/r/cryptoKeys/" + word.Draw(t, "key"))
	}
	m.Exposure = m.exposure()
	return m
}

// optional draws null or a text.
func optional(t *rapid.T, name string, of *rapid.Generator[string]) types.String {
	if rapid.Bool().Draw(t, name+" null") {
		return types.StringNull()
	}
	return types.StringValue(of.Draw(t, name))
}

func drawGrant(t *rapid.T) types.Bool {
	return rapid.SampledFrom([]types.Bool{types.BoolNull(), types.BoolValue(true), types.BoolValue(false)}).Draw(t, "grant")
}

// drawSecret draws the name of a secret, bare or in full.
func drawSecret(t *rapid.T) types.String {
	return types.StringValue(rapid.SampledFrom([]string{"", "projects/my-project/secrets/", "projects/other/secrets/"}).Draw(t, "project") +
		rapid.StringMatching(`[A-Za-z0-9_-]{1,6}`).Draw(t, "secret"))
}

func drawVersion(t *rapid.T) types.String {
	return types.StringValue(rapid.SampledFrom([]string{"latest", "1", "42", "prod"}).Draw(t, "version"))
}

// mapOrNull makes a map attribute; for an empty one null or an empty map.
func mapOrNull(t *rapid.T, name string, of map[string]attr.Type, elements map[string]attr.Value) types.Map {
	elementType := types.ObjectType{AttrTypes: of}
	if len(elements) == 0 && rapid.Bool().Draw(t, name+" null") {
		return types.MapNull(elementType)
	}
	return types.MapValueMust(elementType, elements)
}

func drawEnvironment(t *rapid.T, m *Model) {
	elements := map[string]attr.Value{}
	for name := range rapid.MapOfN(rapid.StringMatching(`[A-Z]{1,4}`), rapid.Bool(), 0, 3).Draw(t, "secret_env") {
		elements[name] = object(secretEnvTypes, &SecretEnv{Secret: drawSecret(t), Version: drawVersion(t), Grant: drawGrant(t)})
	}
	m.SecretEnv = mapOrNull(t, "secret_env", secretEnvTypes, elements)
}

func drawVolumes(t *rapid.T, m *Model) {
	elements := map[string]attr.Value{}
	n := rapid.IntRange(0, 4).Draw(t, "volumes")
	for i := range n {
		elements[fmt.Sprintf("v%d-%s", i, rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "volume"))] = object(volumeTypes, drawVolume(t, fmt.Sprintf("/v/%d", i)))
	}
	m.Volumes = mapOrNull(t, "volumes", volumeTypes, elements)
}

func drawVolume(t *rapid.T, mountPath string) *Volume {
	word := rapid.StringMatching(`[a-z]{1,8}`)
	v := blankVolume()
	v.MountPath = types.StringValue(mountPath)
	kind := rapid.SampledFrom(volumeKinds).Draw(t, "kind")
	if kind == "gcs" || kind == "nfs" {
		v.ReadOnly = drawGrant(t)
	}
	if kind != "secret" && kind != "cloud_sql" {
		v.SubPath = optional(t, "sub_path", word)
	}
	switch kind {
	case "gcs":
		options := types.ListNull(types.StringType)
		if rapid.Bool().Draw(t, "options set") {
			options = value.ListOf(rapid.SliceOfN(rapid.SampledFrom([]string{"implicit-dirs", "only-dir=a/b", "uid=1"}), 0, 3).Draw(t, "options"))
		}
		v.GCS = object(gcsTypes, &GCSVolume{Bucket: types.StringValue(word.Draw(t, "bucket")), MountOptions: options, Grant: drawGrant(t)})
	case "nfs":
		v.NFS = object(nfsTypes, &NFSVolume{Server: types.StringValue("10.0.0.2"), Path: types.StringValue("/" + word.Draw(t, "path"))})
	case "empty_dir":
		v.EmptyDir = object(emptyDirTypes, &EmptyDirVolume{
			Medium:    optional(t, "medium", rapid.SampledFrom([]string{mediumMemory, mediumDisk})),
			SizeLimit: value.Quantity{StringValue: optional(t, "size", rapid.SampledFrom([]string{"1Gi", "1024Mi", "2G"}))},
		})
	case "secret":
		v.Secret = object(secretTypes, drawSecretVolume(t))
	case "cloud_sql":
		v.MountPath = types.StringNull()
		v.CloudSQL = object(cloudSQLTypes, &CloudSQLVolume{Instances: setOf(rapid.SliceOfN(rapid.StringMatching(`p:r:[a-c]`), 1, 3).Draw(t, "instances"))})
	}
	return v
}

func drawSecretVolume(t *rapid.T) *SecretVolume {
	mode := rapid.SampledFrom([]string{"0440", "440", "0444", "0777"})
	s := &SecretVolume{
		Secret: drawSecret(t), Version: types.StringNull(), Items: types.MapNull(types.ObjectType{AttrTypes: secretItemTypes}),
		DefaultMode: value.FileMode{StringValue: optional(t, "default_mode", mode)}, Grant: drawGrant(t),
	}
	switch rapid.IntRange(0, 2).Draw(t, "files") {
	case 1:
		s.Version = drawVersion(t)
	case 2:
		elements := map[string]attr.Value{}
		for path := range rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}(/[a-z]{1,3})?`), rapid.Bool(), 1, 3).Draw(t, "items") {
			elements[path] = object(secretItemTypes, &SecretItem{Version: drawVersion(t), Mode: value.FileMode{StringValue: optional(t, "mode", mode)}})
		}
		s.Items = types.MapValueMust(types.ObjectType{AttrTypes: secretItemTypes}, elements)
	}
	return s
}

func drawNetwork(t *rapid.T, m *Model) {
	n := &Network{
		Network: types.StringNull(), Subnetwork: types.StringNull(), Tags: types.SetNull(types.StringType), Connector: types.StringNull(),
		Egress: types.StringValue(rapid.SampledFrom([]string{"ALL_TRAFFIC", defaultEgress}).Draw(t, "egress")),
	}
	name := rapid.SampledFrom([]string{"a", "b", "projects/p/global/networks/a"})
	switch rapid.IntRange(0, 3).Draw(t, "network") {
	case 0:
	case 1:
		n.Connector = types.StringValue("projects/p/locations/l/connectors/c")
		m.Network = object(networkTypes, n)
	default:
		n.Network = types.StringValue(name.Draw(t, "network name"))
		n.Subnetwork = optional(t, "subnetwork", rapid.SampledFrom([]string{"a", "s", "projects/p/regions/r/subnetworks/s"}))
		if tags := rapid.SliceOfN(rapid.StringMatching(`[a-z]`), 0, 3).Draw(t, "tags"); len(tags) > 0 {
			n.Tags = setOf(tags)
		}
		m.Network = object(networkTypes, n)
	}
	switch rapid.IntRange(0, 2).Draw(t, "binary_authorization") {
	case 1:
		m.BinaryAuthorization = object(binaryAuthorizationTypes, &BinaryAuthorization{UseDefault: types.BoolValue(true), BreakglassJustification: optional(t, "reason", rapid.Just("an incident"))})
	case 2:
		m.BinaryAuthorization = object(binaryAuthorizationTypes, &BinaryAuthorization{Policy: types.StringValue("projects/p/platforms/cloudRun/policies/x")})
	}
}

// object makes an object attribute of a struct.
func object[T any](of map[string]attr.Type, v *T) types.Object {
	var diags diag.Diagnostics
	o := encode(context.Background(), of, v, &diags)
	if diags.HasError() {
		panic(diags)
	}
	return o
}

// everyKind is a model with a volume of every kind, and everything else that the
// schema has.
func everyKind() Model {
	return with(func(m *Model) {
		volume := func(change func(*Volume)) attr.Value {
			v := blankVolume()
			change(v)
			return object(volumeTypes, v)
		}
		m.Checkpoint = checkpointOf(nil)
		m.WorkingDir, m.Env = types.StringValue("/app"), value.MapOf(map[string]string{"A": "1"})
		m.SecretEnv = types.MapValueMust(secretEnvType, map[string]attr.Value{"TOKEN": object(secretEnvTypes, &SecretEnv{Secret: types.StringValue("token"), Version: types.StringValue("latest")})})
		m.Annotations = value.MapOf(map[string]string{"example.com/owner": "ml"})
		m.EncryptionKey = types.StringValue("projects/p/locations/l/keyRings/r/cryptoKeys/k")
		m.BinaryAuthorization = object(binaryAuthorizationTypes, &BinaryAuthorization{UseDefault: types.BoolValue(true)})
		m.Network = object(networkTypes, &Network{Network: types.StringValue("default"), Egress: types.StringValue(defaultEgress), Tags: value.SetOf([]string{"gpu"})})
		m.Volumes = types.MapValueMust(volumeType, map[string]attr.Value{
			"data": volume(func(v *Volume) {
				v.MountPath, v.ReadOnly = types.StringValue("/data"), types.BoolValue(true)
				v.GCS = object(gcsTypes, &GCSVolume{Bucket: types.StringValue("my-data"), MountOptions: types.ListNull(types.StringType)})
			}),
			"share": volume(func(v *Volume) {
				v.MountPath, v.SubPath = types.StringValue("/share"), types.StringValue("team")
				v.NFS = object(nfsTypes, &NFSVolume{Server: types.StringValue("10.0.0.2"), Path: types.StringValue("/vol")})
			}),
			"scratch": volume(func(v *Volume) {
				v.MountPath = types.StringValue("/scratch")
				v.EmptyDir = object(emptyDirTypes, &EmptyDirVolume{Medium: types.StringValue(mediumDisk), SizeLimit: value.NewQuantity("10Gi")})
			}),
			"keys": volume(func(v *Volume) {
				v.MountPath = types.StringValue("/keys")
				v.Secret = object(secretTypes, &SecretVolume{Secret: types.StringValue("key"), DefaultMode: value.NewFileMode("0400"),
					Items: types.MapValueMust(types.ObjectType{AttrTypes: secretItemTypes}, map[string]attr.Value{
						"a/key.pem": object(secretItemTypes, &SecretItem{Version: types.StringValue("2"), Mode: value.NewFileMode("0440")}),
					})})
			}),
			"sql": volume(func(v *Volume) {
				v.CloudSQL = object(cloudSQLTypes, &CloudSQLVolume{Instances: value.SetOf([]string{"p:r:i"})})
			}),
		})
	})
}
