// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"maps"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// The accounts that rows name.
const (
	trainer = "trainer@" + acctest.EmulatorProject + ".iam.gserviceaccount.com"
	another = "another@" + acctest.EmulatorProject + ".iam.gserviceaccount.com"
)

// only is a configuration of one attribute.
func only(name string, v any) attrs { return attrs{name: v} }

// with adds to an object.
func with(o attrs, name string, v any) attrs {
	o = maps.Clone(o)
	o[name] = v
	return o
}

// values are the steps of an attribute with a value, another one and none, of which each sends one field.
func values(name, field string, one, other any, sentOne, sentOther, sentNone string) row {
	return row{steps: []step{
		{set: only(name, one), plan: name, sent: []string{field + "=" + sentOne}},
		{set: only(name, other), plan: name, sent: []string{field + "=" + sentOther}},
		{set: attrs{}, plan: name, sent: []string{sentNone}},
	}}
}

// texts are the steps of a list of texts, where an empty one is the same as none.
func texts(name, field string) row {
	return row{steps: []step{
		{set: only(name, []string{"python", ""}), plan: name, sent: []string{field + "[0]=python", field + "[1]="}},
		{set: only(name, []string{"bash"}), plan: name, sent: []string{field + "[0]=bash", "-" + field + "[1]"}},
		{set: only(name, []string{}), plan: name, sent: []string{"-" + field + "[0]"}},
		{set: attrs{}, plan: name},
	}}
}

func attributeRows() map[string]row {
	rows := map[string]row{
		"name":                 {steps: []step{{set: only("name", "another"), action: "replace", plan: "name"}}},
		"project":              {steps: []step{{set: only("project", acctest.EmulatorProject), action: "no-op"}, {set: only("project", "another-project"), action: "replace", plan: "project"}, {action: "no-op"}}},
		"location":             {steps: []step{{set: only("location", "US-Central1"), action: "no-op"}, {set: only("location", "us-east4"), action: "replace", plan: "location"}, {action: "no-op"}}},
		"image":                values("image", "container.image", "train:2", "train:3", "train:2", "train:3", "container.image=train:1"),
		"command":              texts("command", "container.command"),
		"args":                 texts("args", "container.args"),
		"working_dir":          values("working_dir", "container.workingDir", "/app", "/srv", "/app", "/srv", "-container.workingDir"),
		"encryption_key":       values("encryption_key", "task.encryptionKey", keyNamed("a"), keyNamed("b"), keyNamed("a"), keyNamed("b"), "-task.encryptionKey"),
		"gpu_zonal_redundancy": {steps: []step{{set: only("gpu_zonal_redundancy", true), plan: "gpu_zonal_redundancy", sent: []string{"-task.gpuZonalRedundancyDisabled"}}, {set: only("gpu_zonal_redundancy", false), plan: "gpu_zonal_redundancy", sent: []string{"task.gpuZonalRedundancyDisabled=true"}}, {action: "no-op"}}},
		"env": {steps: []step{
			{set: only("env", attrs{"A": "1"}), plan: "env", sent: []string{"container.env[0].name=A", "container.env[0].value=1"}},
			{set: only("env", attrs{"A": "1", "B": ""}), plan: "env.B", sent: []string{"container.env[1].name=B", "container.env[1].value="}},
			{set: only("env", attrs{"A": "2", "B": ""}), plan: "env.A", sent: []string{"container.env[0].value=2"}},
			{set: only("env", attrs{"A": "2"}), plan: "env.B", sent: []string{"-container.env[1].name", "-container.env[1].value"}},
			{set: only("env", attrs{}), plan: "env.A", sent: []string{"-container.env[0].name", "-container.env[0].value"}},
			{plan: "env"}}},
		"gpu_type": {steps: []step{
			{set: only("gpu_type", "none"), plan: "gpu_type cpu memory exposure.gpu_hours", sent: []string{"container.resources.limits.cpu=1000m", "container.resources.limits.memory=512Mi",
				"-container.resources.limits.nvidia.com/gpu", "-task.nodeSelector.accelerator", "-task.gpuZonalRedundancyDisabled"}},
			{set: only("gpu_type", "nvidia-rtx-pro-6000"), plan: "gpu_type cpu memory exposure.gpu_hours", sent: []string{"container.resources.limits.cpu=20000m", "container.resources.limits.memory=80Gi",
				"container.resources.limits.nvidia.com/gpu=1", "task.nodeSelector.accelerator=nvidia-rtx-pro-6000", "task.gpuZonalRedundancyDisabled=true"}},
			{plan: "gpu_type cpu memory", sent: []string{"container.resources.limits.cpu=4000m", "container.resources.limits.memory=16Gi", "task.nodeSelector.accelerator=nvidia-l4"}}}},
		"cpu": {steps: []step{
			{set: only("cpu", "8"), plan: "cpu", sent: []string{"container.resources.limits.cpu=8000m"}},
			{set: only("cpu", "8000m"), action: "no-op"},
			{set: only("cpu", "6"), plan: "cpu", sent: []string{"container.resources.limits.cpu=6000m"}},
			{plan: "cpu", sent: []string{"container.resources.limits.cpu=4000m"}}}},
		"memory": {base: only("cpu", "8"), steps: []step{
			{set: only("memory", "32Gi"), plan: "memory", sent: []string{"container.resources.limits.memory=32Gi"}},
			{set: only("memory", "34359738368"), action: "no-op"},
			{set: only("memory", "24Gi"), plan: "memory", sent: []string{"container.resources.limits.memory=24Gi"}},
			{plan: "memory", sent: []string{"container.resources.limits.memory=16Gi"}}}},
		"task_count": {steps: []step{
			{set: only("task_count", 4), plan: "task_count exposure.attempts exposure.gpu_hours exposure.task_hours", sent: []string{"template.taskCount=4"}},
			{set: only("task_count", 2), plan: "task_count exposure.attempts exposure.gpu_hours exposure.task_hours", sent: []string{"template.taskCount=2"}},
			{plan: "task_count exposure.attempts exposure.gpu_hours exposure.task_hours", sent: []string{"template.taskCount=1"}}}},
		"parallelism": {base: only("task_count", 4), steps: []step{
			{set: only("parallelism", 2), plan: "parallelism", sent: []string{"template.parallelism=2"}},
			{set: only("parallelism", 4), plan: "parallelism", sent: []string{"template.parallelism=4"}},
			{plan: "parallelism", sent: []string{"-template.parallelism"}}}},
		"task_timeout": {steps: []step{
			{set: only("task_timeout", "30m"), plan: "task_timeout exposure.gpu_hours exposure.task_hours", sent: []string{"task.timeout=1800s"}},
			{set: only("task_timeout", "1800s"), action: "no-op"},
			{set: only("task_timeout", "3.5s"), plan: "task_timeout exposure.gpu_hours exposure.task_hours", sent: []string{"task.timeout=3.500s"}},
			{plan: "task_timeout exposure.gpu_hours exposure.task_hours", sent: []string{"task.timeout=3600s"}}}},
		"max_retries": {steps: []step{
			{set: only("max_retries", 0), plan: "max_retries exposure.attempts exposure.gpu_hours exposure.task_hours", sent: []string{"task.maxRetries=0"}},
			{set: only("max_retries", 10), plan: "max_retries exposure.attempts exposure.gpu_hours exposure.task_hours", sent: []string{"task.maxRetries=10"}},
			{plan: "max_retries exposure.attempts exposure.gpu_hours exposure.task_hours", sent: []string{"task.maxRetries=3"}}}},
		"service_account": {keeps: "service_account_unique_id", steps: []step{
			{set: only("service_account", trainer), plan: "service_account service_account_email service_account_id service_account_unique_id", sent: []string{"task.serviceAccount=" + trainer},
				writes: "UpdateJob DeleteServiceAccount"},
			{set: only("service_account", another), plan: "service_account service_account_email", sent: []string{"task.serviceAccount=" + another}},
			{plan: "service_account service_account_email service_account_id service_account_unique_id", sent: []string{"task.serviceAccount=DEFAULT"}, writes: "CreateServiceAccount UpdateJob"}}},
		// Left out again, the account that is there stays: a job does not get another one because of a hash.
		"service_account_id": {keeps: "service_account_id service_account_email service_account_unique_id", steps: []step{
			{set: only("service_account_id", "my-trainer"), plan: "service_account_email service_account_id service_account_unique_id",
				sent: []string{"task.serviceAccount=my-" + trainer}, writes: "CreateServiceAccount UpdateJob DeleteServiceAccount"},
			{set: only("service_account_id", "my-another"), plan: "service_account_email service_account_id service_account_unique_id",
				sent: []string{"task.serviceAccount=my-" + another}, writes: "CreateServiceAccount UpdateJob DeleteServiceAccount"},
			{action: "no-op"}}},
		"labels": {steps: []step{
			{set: only("labels", attrs{"a": "1"}), plan: "labels terraform_labels.a effective_labels", sent: []string{"labels.a=1", "template.labels.a=1"}},
			{set: only("labels", attrs{"a": "", "b": "2"}), plan: "labels.a labels.b terraform_labels.a terraform_labels.b effective_labels", sent: []string{"labels.a=", "labels.b=2", "template.labels.a=", "template.labels.b=2"}},
			{set: only("labels", attrs{"b": "2"}), plan: "labels.a terraform_labels.a effective_labels", sent: []string{"-labels.a", "-template.labels.a"}},
			{set: only("labels", attrs{}), plan: "labels.b terraform_labels.b effective_labels", sent: []string{"-labels.b", "-template.labels.b"}},
			{plan: "labels"}}},
		"annotations": {steps: []step{
			{set: only("annotations", attrs{"example.com/a": "1"}), plan: "annotations", sent: []string{"annotations.example.com/a=1"}},
			{set: only("annotations", attrs{"example.com/a": "", "b": "2"}), plan: "annotations.example.com/a annotations.b", sent: []string{"annotations.example.com/a=", "annotations.b=2"}},
			{set: only("annotations", attrs{"b": "2"}), plan: "annotations.example.com/a", sent: []string{"-annotations.example.com/a"}},
			{set: only("annotations", attrs{}), plan: "annotations.b", sent: []string{"-annotations.b"}},
			{plan: "annotations"}}},
		// Cloud Run reports the lowest stage that is needed; that shows nowhere (case 13).
		"launch_stage": {steps: []step{
			{set: only("launch_stage", "BETA"), plan: "launch_stage", sent: []string{"launchStage=BETA"}},
			{set: only("launch_stage", "ALPHA"), plan: "launch_stage", sent: []string{"launchStage=ALPHA"}},
			{plan: "launch_stage", writes: "UpdateJob"}}},
		"cancel_running_executions": {steps: []step{
			{set: only("cancel_running_executions", true), plan: "cancel_running_executions"}, {set: only("cancel_running_executions", false), plan: "cancel_running_executions"}, {action: "no-op"}}},
		// How long Terraform waits is not how long a task may run (case 50): nothing is sent.
		"timeouts": {steps: []step{{set: only("timeouts", attrs{"create": "1h", "delete": "2h"}), plan: "timeouts"}, {set: only("timeouts", attrs{}), plan: "timeouts.create timeouts.delete"}, {plan: "timeouts"}}},
	}
	for _, verb := range []string{"create", "read", "update", "delete"} {
		rows["timeouts."+verb] = row{base: only("timeouts", attrs{}), steps: []step{
			{set: only("timeouts", attrs{verb: "1h"}), plan: "timeouts." + verb}, {set: only("timeouts", attrs{verb: "90m"}), plan: "timeouts." + verb}, {plan: "timeouts." + verb}}}
	}
	for _, more := range []map[string]row{secretEnvRows(), checkpointRows(), networkRows(), volumeRows()} {
		maps.Copy(rows, more)
	}
	return rows
}

func keyNamed(name string) string {
	return "projects/p/locations/us-central1/keyRings/r/cryptoKeys/" + name
}

func secretEnvRows() map[string]row {
	one := func(s attrs) attrs { return only("secret_env", attrs{"T": s}) }
	ref := func(i, field string) string { return "container.env[" + i + "].valueSource.secretKeyRef." + field }
	token := attrs{"secret": "token"}
	return map[string]row{
		// One more does not touch the others (cases 2, 125).
		"secret_env": {steps: []step{
			{set: one(token), plan: "secret_env grants", sent: []string{"container.env[0].name=T", ref("0", "secret=token"), ref("0", "version=latest")}, writes: "SetIamPolicy UpdateJob"},
			{set: only("secret_env", attrs{"T": token, "K": attrs{"secret": "key", "version": "2"}}), plan: "secret_env.K grants",
				sent: []string{"container.env[1].name=K", ref("1", "secret=key"), ref("1", "version=2")}, writes: "SetIamPolicy UpdateJob"},
			{set: one(token), plan: "secret_env.K grants", sent: []string{"-container.env[1].name", "-" + ref("1", "secret"), "-" + ref("1", "version")}, writes: "UpdateJob SetIamPolicy"},
			{set: only("secret_env", attrs{}), plan: "secret_env.T grants", sent: []string{"-container.env[0].name", "-" + ref("0", "secret"), "-" + ref("0", "version")}, writes: "UpdateJob SetIamPolicy"},
			{plan: "secret_env"}}},
		"secret_env.*.secret": {base: one(token), steps: []step{
			{set: one(attrs{"secret": "key"}), plan: "secret_env.T.secret grants", sent: []string{ref("0", "secret=key")}, writes: "SetIamPolicy UpdateJob SetIamPolicy"},
			{set: one(attrs{"secret": "projects/" + acctest.EmulatorProject + "/secrets/token"}), plan: "secret_env.T.secret grants",
				sent: []string{ref("0", "secret=projects/"+acctest.EmulatorProject+"/secrets/token")}, writes: "SetIamPolicy UpdateJob SetIamPolicy"}}},
		"secret_env.*.version": {base: one(token), steps: []step{
			{set: one(with(token, "version", "2")), plan: "secret_env.T.version", sent: []string{ref("0", "version=2")}},
			{set: one(with(token, "version", "1")), plan: "secret_env.T.version", sent: []string{ref("0", "version=1")}},
			{plan: "secret_env.T.version", sent: []string{ref("0", "version=latest")}}}},
		"secret_env.*.grant": {base: one(token), steps: []step{
			{set: one(with(token, "grant", true)), plan: "secret_env.T.grant"},
			{set: one(with(token, "grant", false)), plan: "secret_env.T.grant grants", writes: "SetIamPolicy"},
			{plan: "secret_env.T.grant grants", writes: "SetIamPolicy"}}},
	}
}

func checkpointRows() map[string]row {
	bucket := attrs{"bucket": "ckpt-one"}
	base := only("checkpoint", bucket)
	// nested are the steps of one attribute of the checkpoint.
	nested := func(name string, one, other any, sentOne, sentOther, sentNone []string) row {
		at := "checkpoint." + name
		return row{base: base, steps: []step{
			{set: only("checkpoint", with(bucket, name, one)), plan: at, sent: sentOne},
			{set: only("checkpoint", with(bucket, name, other)), plan: at, sent: sentOther},
			{plan: at, sent: sentNone}}}
	}
	option := func(i, text string) string { return "task.volumes[0].gcs.mountOptions[" + i + "]" + text }
	mount := []string{"task.volumes[0].name=checkpoint", "task.volumes[0].gcs.bucket=ckpt-one", "container.volumeMounts[0].name=checkpoint", "container.volumeMounts[0].mountPath=/checkpoints"}
	return map[string]row{
		"checkpoint": {steps: []step{
			{set: base, plan: "checkpoint grants", sent: mount, writes: "setIamPolicy UpdateJob"},
			{set: only("checkpoint", attrs{"bucket": "ckpt-two"}), plan: "checkpoint.bucket grants", sent: []string{"task.volumes[0].gcs.bucket=ckpt-two"}, writes: "setIamPolicy UpdateJob setIamPolicy"},
			{plan: "checkpoint grants", writes: "UpdateJob setIamPolicy",
				sent: []string{"-task.volumes[0].name", "-task.volumes[0].gcs.bucket", "-container.volumeMounts[0].name", "-container.volumeMounts[0].mountPath"}}}},
		"checkpoint.bucket": {base: base, steps: []step{
			{set: only("checkpoint", attrs{"bucket": "ckpt-two"}), plan: "checkpoint.bucket grants", sent: []string{"task.volumes[0].gcs.bucket=ckpt-two"}, writes: "setIamPolicy UpdateJob setIamPolicy"},
			{set: only("checkpoint", attrs{"bucket": "data-one"}), plan: "checkpoint.bucket grants", sent: []string{"task.volumes[0].gcs.bucket=data-one"}, writes: "setIamPolicy UpdateJob setIamPolicy"}}},
		"checkpoint.mount_path": nested("mount_path", "/a", "/b/c", []string{"container.volumeMounts[0].mountPath=/a"}, []string{"container.volumeMounts[0].mountPath=/b/c"}, []string{"container.volumeMounts[0].mountPath=/checkpoints"}),
		"checkpoint.prefix":     nested("prefix", "runs/42", "x", []string{option("0", "=only-dir=runs/42")}, []string{option("0", "=only-dir=x")}, []string{"-" + option("0", "")}),
		"checkpoint.mount_options": {base: base, steps: []step{
			{set: only("checkpoint", with(bucket, "mount_options", []string{"implicit-dirs", "uid=1"})), plan: "checkpoint.mount_options", sent: []string{option("0", "=implicit-dirs"), option("1", "=uid=1")}},
			{set: only("checkpoint", with(bucket, "mount_options", []string{"uid=2"})), plan: "checkpoint.mount_options", sent: []string{option("0", "=uid=2"), "-" + option("1", "")}},
			{set: only("checkpoint", with(bucket, "mount_options", []string{})), plan: "checkpoint.mount_options", sent: []string{"-" + option("0", "")}},
			{plan: "checkpoint.mount_options"}}},
		"checkpoint.role": {base: base, steps: []step{
			{set: only("checkpoint", with(bucket, "role", "roles/storage.objectAdmin")), plan: "checkpoint.role grants", writes: "setIamPolicy setIamPolicy"},
			{set: only("checkpoint", with(bucket, "role", "roles/storage.objectViewer")), plan: "checkpoint.role grants", writes: "setIamPolicy setIamPolicy"},
			{plan: "checkpoint.role grants", writes: "setIamPolicy setIamPolicy"}}},
		"checkpoint.grant": {base: base, steps: []step{
			{set: only("checkpoint", with(bucket, "grant", false)), plan: "checkpoint.grant grants", writes: "setIamPolicy"},
			{set: only("checkpoint", with(bucket, "grant", true)), plan: "checkpoint.grant grants", writes: "setIamPolicy"},
			{plan: "checkpoint.grant"}}},
		"checkpoint.per_task": {base: base, steps: []step{
			{set: only("checkpoint", with(bucket, "per_task", true)), plan: "checkpoint.per_task"},
			{set: only("checkpoint", with(bucket, "per_task", false)), plan: "checkpoint.per_task"},
			{plan: "checkpoint.per_task"}}},
		"checkpoint.interval":     nested("interval", "10m", "5m", nil, nil, nil),
		"checkpoint.write_time":   nested("write_time", "10s", "20s", nil, nil, nil),
		"checkpoint.restore_time": nested("restore_time", "10s", "20s", nil, nil, nil),
		"checkpoint.work_time":    nested("work_time", "30m", "20m", nil, nil, nil),
	}
}

func networkRows() map[string]row {
	const iface = "task.vpcAccess.networkInterfaces[0]."
	direct := attrs{"network": "default"}
	nested := func(base attrs, name, field string, one, other string) row {
		at := "network." + name
		return row{base: only("network", base), steps: []step{
			{set: only("network", with(base, name, one)), plan: at, sent: []string{field + "=" + one}},
			{set: only("network", with(base, name, other)), plan: at, sent: []string{field + "=" + other}},
			{plan: at, sent: []string{"-" + field}}}}
	}
	connector := "projects/p/locations/us-central1/connectors/c"
	policy := func(name string) string { return "projects/p/platforms/cloudRun/policies/" + name }
	useDefault := attrs{"use_default": true}
	return map[string]row{
		"network": {steps: []step{
			{set: only("network", direct), plan: "network", sent: []string{iface + "network=default", "task.vpcAccess.egress=PRIVATE_RANGES_ONLY"}},
			{set: only("network", attrs{"connector": connector}), plan: "network.connector network.network", sent: []string{"-" + iface + "network", "task.vpcAccess.connector=" + connector}},
			{plan: "network", sent: []string{"-task.vpcAccess.connector", "-task.vpcAccess.egress"}}}},
		"network.network":    nested(attrs{"subnetwork": "sub"}, "network", iface+"network", "default", "vpc"),
		"network.subnetwork": nested(direct, "subnetwork", iface+"subnetwork", "sub", "projects/p/regions/us-central1/subnetworks/other"),
		"network.egress": {base: only("network", direct), steps: []step{
			{set: only("network", with(direct, "egress", "ALL_TRAFFIC")), plan: "network.egress", sent: []string{"task.vpcAccess.egress=ALL_TRAFFIC"}},
			{set: only("network", with(direct, "egress", "PRIVATE_RANGES_ONLY")), plan: "network.egress", sent: []string{"task.vpcAccess.egress=PRIVATE_RANGES_ONLY"}},
			{action: "no-op"}}},
		"network.connector": {base: only("network", direct), steps: []step{
			{set: only("network", attrs{"connector": connector}), plan: "network.connector network.network", sent: []string{"-" + iface + "network", "task.vpcAccess.connector=" + connector}},
			{set: only("network", attrs{"connector": connector + "2"}), plan: "network.connector", sent: []string{"task.vpcAccess.connector=" + connector + "2"}},
			{plan: "network.connector network.network", sent: []string{iface + "network=default", "-task.vpcAccess.connector"}}}},
		"network.tags": {base: only("network", direct), steps: []step{
			{set: only("network", with(direct, "tags", []string{"a", "b"})), plan: "network.tags", sent: []string{iface + "tags[0]=a", iface + "tags[1]=b"}},
			{set: only("network", with(direct, "tags", []string{"a"})), plan: "network.tags", sent: []string{"-" + iface + "tags[1]"}},
			{set: only("network", with(direct, "tags", []string{})), plan: "network.tags", sent: []string{"-" + iface + "tags[0]"}},
			{plan: "network.tags"}}},
		"binary_authorization": {steps: []step{
			{set: only("binary_authorization", useDefault), plan: "binary_authorization", sent: []string{"binaryAuthorization.useDefault=true"}},
			{set: only("binary_authorization", attrs{"policy": policy("a")}), plan: "binary_authorization.policy binary_authorization.use_default",
				sent: []string{"-binaryAuthorization.useDefault", "binaryAuthorization.policy=" + policy("a")}},
			{plan: "binary_authorization", sent: []string{"-binaryAuthorization.policy"}}}},
		"binary_authorization.use_default": {base: only("binary_authorization", attrs{"policy": policy("a")}), steps: []step{
			{set: only("binary_authorization", useDefault), plan: "binary_authorization.policy binary_authorization.use_default",
				sent: []string{"-binaryAuthorization.policy", "binaryAuthorization.useDefault=true"}},
			{set: only("binary_authorization", attrs{"use_default": false}), action: "refused"},
			{plan: "binary_authorization.policy binary_authorization.use_default", sent: []string{"-binaryAuthorization.useDefault", "binaryAuthorization.policy=" + policy("a")}}}},
		"binary_authorization.policy": {base: only("binary_authorization", useDefault), steps: []step{
			{set: only("binary_authorization", attrs{"policy": policy("a")}), plan: "binary_authorization.policy binary_authorization.use_default",
				sent: []string{"-binaryAuthorization.useDefault", "binaryAuthorization.policy=" + policy("a")}},
			{set: only("binary_authorization", attrs{"policy": policy("b")}), plan: "binary_authorization.policy", sent: []string{"binaryAuthorization.policy=" + policy("b")}},
			{plan: "binary_authorization.policy binary_authorization.use_default", sent: []string{"-binaryAuthorization.policy", "binaryAuthorization.useDefault=true"}}}},
		"binary_authorization.breakglass_justification": {base: only("binary_authorization", useDefault), steps: []step{
			{set: only("binary_authorization", with(useDefault, "breakglass_justification", "one")), plan: "binary_authorization.breakglass_justification", sent: []string{"binaryAuthorization.breakglassJustification=one"}},
			{set: only("binary_authorization", with(useDefault, "breakglass_justification", "two")), plan: "binary_authorization.breakglass_justification", sent: []string{"binaryAuthorization.breakglassJustification=two"}},
			{plan: "binary_authorization.breakglass_justification", sent: []string{"-binaryAuthorization.breakglassJustification"}}}},
	}
}
