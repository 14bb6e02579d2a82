// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

// volumeRows are the rows of the volumes: each kind in place of another under the same name, and back (cases 116, 121).
func volumeRows() map[string]row {
	const source, mount = "task.volumes[0].", "container.volumeMounts[0]."
	one := func(v attrs) attrs { return only("volumes", attrs{"v": v}) }
	at := func(kind string, v attrs) attrs { return attrs{"mount_path": "/v", kind: v} }
	data := at("gcs", attrs{"bucket": "data-one"})
	share := at("nfs", attrs{"server": "10.0.0.2", "path": "/share"})
	scratch := at("empty_dir", attrs{})
	keys := at("secret", attrs{"secret": "key"})
	sql := attrs{"cloud_sql": attrs{"instances": []string{"p:us-central1:a"}}}
	// inside are the steps of one attribute of a kind.
	inside := func(kind string, v attrs, name string, one2, other any, sentOne, sentOther, sentNone []string) row {
		path := "volumes.v." + kind + "." + name
		return row{base: one(at(kind, v)), steps: []step{
			{set: one(at(kind, with(v, name, one2))), plan: path, sent: sentOne},
			{set: one(at(kind, with(v, name, other))), plan: path, sent: sentOther},
			{plan: path, sent: sentNone}}}
	}
	rows := map[string]row{
		"volumes": {steps: []step{
			{set: one(scratch), plan: "volumes", sent: []string{source + "name=v", source + "emptyDir={}", mount + "name=v", mount + "mountPath=/v"}},
			{set: only("volumes", attrs{"v": scratch, "w": with(share, "mount_path", "/w")}), plan: "volumes.w", sent: []string{"task.volumes[1].name=w", "task.volumes[1].nfs.server=10.0.0.2", "task.volumes[1].nfs.path=/share",
				"container.volumeMounts[1].name=w", "container.volumeMounts[1].mountPath=/w"}},
			{set: one(scratch), plan: "volumes.w", sent: []string{"-task.volumes[1].name", "-task.volumes[1].nfs.server", "-task.volumes[1].nfs.path", "-container.volumeMounts[1].name", "-container.volumeMounts[1].mountPath"}},
			{set: only("volumes", attrs{}), plan: "volumes.v", sent: []string{"-" + source + "name", "-" + source + "emptyDir", "-" + mount + "name", "-" + mount + "mountPath"}},
			{plan: "volumes"}}},
		"volumes.*.mount_path": {base: one(sql), steps: []step{ // null only where Cloud Run chooses it
			{set: one(scratch), plan: "volumes.v.cloud_sql volumes.v.empty_dir volumes.v.mount_path", sent: []string{source + "emptyDir={}", "-" + source + "cloudSqlInstance.instances[0]", mount + "mountPath=/v"}},
			{set: one(with(scratch, "mount_path", "/w/x")), plan: "volumes.v.mount_path", sent: []string{mount + "mountPath=/w/x"}},
			{plan: "volumes.v.cloud_sql volumes.v.empty_dir volumes.v.mount_path", sent: []string{"-" + source + "emptyDir", source + "cloudSqlInstance.instances[0]=p:us-central1:a", mount + "mountPath=/cloudsql"}}}},
		"volumes.*.read_only": {base: one(data), steps: []step{
			{set: one(with(data, "read_only", true)), plan: "volumes.v.read_only grants", sent: []string{source + "gcs.readOnly=true"}, writes: "setIamPolicy UpdateJob setIamPolicy"},
			{set: one(with(data, "read_only", false)), plan: "volumes.v.read_only grants", sent: []string{"-" + source + "gcs.readOnly"}, writes: "setIamPolicy UpdateJob setIamPolicy"},
			{plan: "volumes.v.read_only"}}},
		"volumes.*.sub_path": {base: one(share), steps: []step{
			{set: one(with(share, "sub_path", "a")), plan: "volumes.v.sub_path", sent: []string{mount + "subPath=a"}},
			{set: one(with(share, "sub_path", "b/c")), plan: "volumes.v.sub_path", sent: []string{mount + "subPath=b/c"}},
			{plan: "volumes.v.sub_path", sent: []string{"-" + mount + "subPath"}}}},
		"volumes.*.gcs": {base: one(share), steps: []step{
			{set: one(data), plan: "volumes.v.gcs volumes.v.nfs grants", sent: []string{source + "gcs.bucket=data-one", "-" + source + "nfs.server", "-" + source + "nfs.path"}, writes: "setIamPolicy UpdateJob"},
			{set: one(at("gcs", attrs{"bucket": "data-two"})), plan: "volumes.v.gcs.bucket grants", sent: []string{source + "gcs.bucket=data-two"}, writes: "setIamPolicy UpdateJob setIamPolicy"},
			{plan: "volumes.v.gcs volumes.v.nfs grants", sent: []string{"-" + source + "gcs.bucket", source + "nfs.server=10.0.0.2", source + "nfs.path=/share"}, writes: "UpdateJob setIamPolicy"}}},
		"volumes.*.gcs.bucket": {base: one(data), steps: []step{
			{set: one(at("gcs", attrs{"bucket": "data-two"})), plan: "volumes.v.gcs.bucket grants", sent: []string{source + "gcs.bucket=data-two"}, writes: "setIamPolicy UpdateJob setIamPolicy"},
			{set: one(at("gcs", attrs{"bucket": "ckpt-one"})), plan: "volumes.v.gcs.bucket grants", sent: []string{source + "gcs.bucket=ckpt-one"}, writes: "setIamPolicy UpdateJob setIamPolicy"}}},
		"volumes.*.gcs.mount_options": {base: one(data), steps: []step{
			{set: one(at("gcs", attrs{"bucket": "data-one", "mount_options": []string{"only-dir=a", "implicit-dirs"}})), plan: "volumes.v.gcs.mount_options",
				sent: []string{source + "gcs.mountOptions[0]=only-dir=a", source + "gcs.mountOptions[1]=implicit-dirs"}},
			{set: one(at("gcs", attrs{"bucket": "data-one", "mount_options": []string{"uid=1"}})), plan: "volumes.v.gcs.mount_options", sent: []string{source + "gcs.mountOptions[0]=uid=1", "-" + source + "gcs.mountOptions[1]"}},
			{set: one(at("gcs", attrs{"bucket": "data-one", "mount_options": []string{}})), plan: "volumes.v.gcs.mount_options", sent: []string{"-" + source + "gcs.mountOptions[0]"}},
			{plan: "volumes.v.gcs.mount_options"}}},
		"volumes.*.gcs.grant": {base: one(data), steps: []step{
			{set: one(at("gcs", attrs{"bucket": "data-one", "grant": false})), plan: "volumes.v.gcs.grant grants", writes: "setIamPolicy"},
			{set: one(at("gcs", attrs{"bucket": "data-one", "grant": true})), plan: "volumes.v.gcs.grant grants", writes: "setIamPolicy"},
			{plan: "volumes.v.gcs.grant"}}},
		"volumes.*.nfs": {base: one(scratch), steps: []step{
			{set: one(share), plan: "volumes.v.empty_dir volumes.v.nfs", sent: []string{"-" + source + "emptyDir", source + "nfs.server=10.0.0.2", source + "nfs.path=/share"}},
			{set: one(at("nfs", attrs{"server": "nfs.example.com", "path": "/"})), plan: "volumes.v.nfs.path volumes.v.nfs.server", sent: []string{source + "nfs.server=nfs.example.com", source + "nfs.path=/"}},
			{plan: "volumes.v.empty_dir volumes.v.nfs", sent: []string{source + "emptyDir={}", "-" + source + "nfs.server", "-" + source + "nfs.path"}}}},
		"volumes.*.nfs.server": {base: one(share), steps: []step{
			{set: one(at("nfs", attrs{"server": "10.0.0.3", "path": "/share"})), plan: "volumes.v.nfs.server", sent: []string{source + "nfs.server=10.0.0.3"}},
			{set: one(at("nfs", attrs{"server": "10.0.0.4", "path": "/share"})), plan: "volumes.v.nfs.server", sent: []string{source + "nfs.server=10.0.0.4"}}}},
		"volumes.*.nfs.path": {base: one(share), steps: []step{
			{set: one(at("nfs", attrs{"server": "10.0.0.2", "path": "/a"})), plan: "volumes.v.nfs.path", sent: []string{source + "nfs.path=/a"}},
			{set: one(at("nfs", attrs{"server": "10.0.0.2", "path": "/b"})), plan: "volumes.v.nfs.path", sent: []string{source + "nfs.path=/b"}}}},
		"volumes.*.empty_dir": {base: one(keys), steps: []step{ // an empty object is whole (case 118)
			{set: one(scratch), plan: "volumes.v.empty_dir volumes.v.secret grants", sent: []string{source + "emptyDir={}", "-" + source + "secret.secret"}, writes: "UpdateJob SetIamPolicy"},
			{set: one(at("empty_dir", attrs{"medium": "memory", "size_limit": "1Gi"})), plan: "volumes.v.empty_dir.medium volumes.v.empty_dir.size_limit",
				sent: []string{source + "emptyDir.medium=MEMORY", source + "emptyDir.sizeLimit=1Gi", "-" + source + "emptyDir"}},
			{plan: "volumes.v.empty_dir volumes.v.secret grants", sent: []string{"-" + source + "emptyDir.medium", "-" + source + "emptyDir.sizeLimit", source + "secret.secret=key"}, writes: "SetIamPolicy UpdateJob"}}},
		"volumes.*.empty_dir.medium": inside("empty_dir", attrs{"size_limit": "1Gi"}, "medium", "memory", "disk", []string{source + "emptyDir.medium=MEMORY"},
			[]string{"launchStage=BETA", source + "emptyDir.medium=DISK"}, []string{"-" + source + "emptyDir.medium"}),
		"volumes.*.empty_dir.size_limit": inside("empty_dir", attrs{"medium": "memory"}, "size_limit", "2Gi", "512Mi", []string{source + "emptyDir.sizeLimit=2Gi"}, []string{source + "emptyDir.sizeLimit=512Mi"},
			[]string{"-" + source + "emptyDir.sizeLimit"}),
		"volumes.*.cloud_sql": {base: one(scratch), steps: []step{
			{set: one(sql), plan: "volumes.v.cloud_sql volumes.v.empty_dir volumes.v.mount_path", sent: []string{"-" + source + "emptyDir", source + "cloudSqlInstance.instances[0]=p:us-central1:a", mount + "mountPath=/cloudsql"}},
			{set: one(attrs{"cloud_sql": attrs{"instances": []string{"p:us-central1:b"}}}), plan: "volumes.v.cloud_sql.instances", sent: []string{source + "cloudSqlInstance.instances[0]=p:us-central1:b"}},
			{plan: "volumes.v.cloud_sql volumes.v.empty_dir volumes.v.mount_path", sent: []string{source + "emptyDir={}", "-" + source + "cloudSqlInstance.instances[0]", mount + "mountPath=/v"}}}},
		"volumes.*.cloud_sql.instances": {base: one(sql), steps: []step{
			{set: one(attrs{"cloud_sql": attrs{"instances": []string{"p:us-central1:a", "p:us-central1:b"}}}), plan: "volumes.v.cloud_sql.instances", sent: []string{source + "cloudSqlInstance.instances[1]=p:us-central1:b"}},
			{set: one(attrs{"cloud_sql": attrs{"instances": []string{"p:us-central1:c"}}}), plan: "volumes.v.cloud_sql.instances",
				sent: []string{source + "cloudSqlInstance.instances[0]=p:us-central1:c", "-" + source + "cloudSqlInstance.instances[1]"}}}},
		"volumes.*.secret": {base: one(data), steps: []step{
			{set: one(keys), plan: "volumes.v.gcs volumes.v.secret grants", sent: []string{"-" + source + "gcs.bucket", source + "secret.secret=key"}, writes: "SetIamPolicy UpdateJob setIamPolicy"},
			{set: one(at("secret", attrs{"secret": "token"})), plan: "volumes.v.secret.secret grants", sent: []string{source + "secret.secret=token"}, writes: "SetIamPolicy UpdateJob SetIamPolicy"},
			{plan: "volumes.v.gcs volumes.v.secret grants", sent: []string{source + "gcs.bucket=data-one", "-" + source + "secret.secret"}, writes: "setIamPolicy UpdateJob SetIamPolicy"}}},
		"volumes.*.secret.secret": {base: one(keys), steps: []step{
			{set: one(at("secret", attrs{"secret": "token"})), plan: "volumes.v.secret.secret grants", sent: []string{source + "secret.secret=token"}, writes: "SetIamPolicy UpdateJob SetIamPolicy"},
			{set: one(keys), plan: "volumes.v.secret.secret grants", sent: []string{source + "secret.secret=key"}, writes: "SetIamPolicy UpdateJob SetIamPolicy"}}},
		"volumes.*.secret.version": inside("secret", attrs{"secret": "key"}, "version", "2", "latest", []string{source + "secret.items[0].path=key", source + "secret.items[0].version=2"},
			[]string{source + "secret.items[0].version=latest"}, []string{"-" + source + "secret.items[0].path", "-" + source + "secret.items[0].version"}),
		"volumes.*.secret.items": inside("secret", attrs{"secret": "key"}, "items", attrs{"a": attrs{}}, attrs{"a": attrs{}, "b/c": attrs{"version": "1", "mode": "0400"}},
			[]string{source + "secret.items[0].path=a", source + "secret.items[0].version=latest"},
			[]string{source + "secret.items[1].path=b/c", source + "secret.items[1].version=1", source + "secret.items[1].mode=256"},
			[]string{"-" + source + "secret.items[0].path", "-" + source + "secret.items[0].version", "-" + source + "secret.items[1].path", "-" + source + "secret.items[1].version", "-" + source + "secret.items[1].mode"}),
		"volumes.*.secret.default_mode": {base: one(keys), steps: []step{
			{set: one(at("secret", attrs{"secret": "key", "default_mode": "0400"})), plan: "volumes.v.secret.default_mode", sent: []string{source + "secret.defaultMode=256"}},
			{set: one(at("secret", attrs{"secret": "key", "default_mode": "400"})), action: "no-op"},
			{set: one(at("secret", attrs{"secret": "key", "default_mode": "0444"})), plan: "volumes.v.secret.default_mode", sent: []string{source + "secret.defaultMode=292"}},
			{plan: "volumes.v.secret.default_mode", sent: []string{"-" + source + "secret.defaultMode"}}}},
		"volumes.*.secret.grant": {base: one(keys), steps: []step{
			{set: one(at("secret", attrs{"secret": "key", "grant": true})), plan: "volumes.v.secret.grant"},
			{set: one(at("secret", attrs{"secret": "key", "grant": false})), plan: "volumes.v.secret.grant grants", writes: "SetIamPolicy"},
			{plan: "volumes.v.secret.grant grants", writes: "SetIamPolicy"}}},
	}
	items := rows["volumes.*.secret.items"]
	items.steps[1].plan = "volumes.v.secret.items.b/c"
	item := func(v attrs) attrs {
		return one(at("secret", attrs{"secret": "key", "items": attrs{"a": v}}))
	}
	rows["volumes.*.secret.items.*.version"] = row{base: item(attrs{}), steps: []step{
		{set: item(attrs{"version": "1"}), plan: "volumes.v.secret.items.a.version", sent: []string{source + "secret.items[0].version=1"}},
		{set: item(attrs{"version": "2"}), plan: "volumes.v.secret.items.a.version", sent: []string{source + "secret.items[0].version=2"}},
		{plan: "volumes.v.secret.items.a.version", sent: []string{source + "secret.items[0].version=latest"}}}}
	rows["volumes.*.secret.items.*.mode"] = row{base: item(attrs{}), steps: []step{
		{set: item(attrs{"mode": "0400"}), plan: "volumes.v.secret.items.a.mode", sent: []string{source + "secret.items[0].mode=256"}},
		{set: item(attrs{"mode": "0440"}), plan: "volumes.v.secret.items.a.mode", sent: []string{source + "secret.items[0].mode=288"}},
		{plan: "volumes.v.secret.items.a.mode", sent: []string{"-" + source + "secret.items[0].mode"}}}}
	return rows
}
