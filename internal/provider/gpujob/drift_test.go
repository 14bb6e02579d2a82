// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// everything is a configuration in which every kind of thing stands that a job can have.
func everything() attrs {
	return attrs{
		"command": []string{"python"}, "args": []string{"train.py", "--epochs=3"}, "working_dir": "/app",
		"env":        attrs{"A": "1", "B": "", "C": "3"},
		"secret_env": attrs{"TOKEN": attrs{"secret": "token"}, "KEY": attrs{"secret": "key", "version": "2"}, "FULL": attrs{"secret": "projects/" + acctest.EmulatorProject + "/secrets/token", "version": "1"}},
		"cpu":        "8", "memory": "32Gi", "gpu_zonal_redundancy": true, "task_count": 4, "parallelism": 2, "task_timeout": "60m", "max_retries": 0,
		"checkpoint": attrs{"bucket": "ckpt-one", "prefix": "runs/42", "mount_options": []string{"implicit-dirs"}, "interval": "10m"},
		"volumes": attrs{
			"data":    attrs{"mount_path": "/data", "read_only": true, "gcs": attrs{"bucket": "data-one", "mount_options": []string{"uid=1", "gid=1"}}},
			"share":   attrs{"mount_path": "/share", "sub_path": "team", "nfs": attrs{"server": "10.0.0.2", "path": "/vol"}},
			"scratch": attrs{"mount_path": "/scratch", "empty_dir": attrs{"size_limit": "1Gi"}},
			"keys":    attrs{"mount_path": "/keys", "secret": attrs{"secret": "key", "default_mode": "0400", "items": attrs{"a/key.pem": attrs{"version": "2", "mode": "0440"}, "b": attrs{}}}},
			"token":   attrs{"mount_path": "/token", "secret": attrs{"secret": "token"}},
			"sql":     attrs{"cloud_sql": attrs{"instances": []string{"p:us-central1:a", "p:us-central1:b"}}},
		},
		"network":        attrs{"network": "default", "tags": []string{"gpu", "train"}},
		"encryption_key": keyNamed("k"), "binary_authorization": attrs{"use_default": true, "breakglass_justification": "an incident"},
		"labels": attrs{"team": "ml", "empty": ""}, "annotations": attrs{"example.com/owner": "ml", "note": ""}, "launch_stage": "BETA",
	}
}

func taskOf(j *runpb.Job) *runpb.TaskTemplate            { return j.GetTemplate().GetTemplate() }
func containerOf(j *runpb.Job) *runpb.Container          { return taskOf(j).GetContainers()[0] }
func limitsOf(j *runpb.Job) map[string]string            { return containerOf(j).GetResources().GetLimits() }
func secretRef(e *runpb.EnvVar) *runpb.SecretKeySelector { return e.GetValueSource().GetSecretKeyRef() }

func namesOf[T interface{ GetName() string }](all []T) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.GetName()
	}
	return out
}

func volumeOf(j *runpb.Job, name string) *runpb.Volume {
	for _, v := range taskOf(j).GetVolumes() {
		if v.GetName() == name {
			return v
		}
	}
	return nil
}

func mountIn(j *runpb.Job, name string) *runpb.VolumeMount {
	for _, m := range containerOf(j).GetVolumeMounts() {
		if m.GetName() == name {
			return m
		}
	}
	return nil
}

func variable(j *runpb.Job, name string) *runpb.EnvVar {
	for _, e := range containerOf(j).GetEnv() {
		if e.GetName() == name {
			return e
		}
	}
	return nil
}

func dropVariable(j *runpb.Job, name string) {
	c := containerOf(j)
	c.Env = slices.DeleteFunc(c.Env, func(e *runpb.EnvVar) bool { return e.GetName() == name })
}

func dropVolume(j *runpb.Job, name string) {
	t, c := taskOf(j), containerOf(j)
	t.Volumes = slices.DeleteFunc(t.Volumes, func(v *runpb.Volume) bool { return v.GetName() == name })
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m *runpb.VolumeMount) bool { return m.GetName() == name })
}

// foreignChanges are what others, and the server itself, do to a job without changing anything that is managed.
var foreignChanges = map[string]func(*runpb.Job){
	"a label of the job (case 20)":        func(j *runpb.Job) { j.Labels["owner"] = "somebody" },
	"a label of the executions (case 20)": func(j *runpb.Job) { j.Template.Labels["commit-sha"] = "abc" },
	"annotations (case 20)": func(j *runpb.Job) {
		j.Annotations["example.com/other"] = "x"
		j.Template.Annotations = map[string]string{"client.knative.dev/user-image": "train:1"}
	},
	"the client (case 19)": func(j *runpb.Job) { j.Client, j.ClientVersion = "gcloud", "550.0.0" },
	"an execution (case 122)": func(j *runpb.Job) {
		j.ExecutionCount, j.LatestCreatedExecution = 3, &runpb.ExecutionReference{Name: "x"}
	},
	"order of env (cases 1, 5)": func(j *runpb.Job) { slices.Reverse(containerOf(j).Env) },
	"order of volumes and mounts (case 25)": func(j *runpb.Job) {
		slices.Reverse(taskOf(j).Volumes)
		c := containerOf(j)
		slices.SortFunc(c.VolumeMounts, func(a, b *runpb.VolumeMount) int { return strings.Compare(b.Name, a.Name) })
	},
	"order of items, instances and tags": func(j *runpb.Job) {
		slices.Reverse(volumeOf(j, "keys").GetSecret().Items)
		slices.Reverse(volumeOf(j, "sql").GetCloudSqlInstance().Instances)
		slices.Reverse(taskOf(j).VpcAccess.NetworkInterfaces[0].Tags)
	},
	"quantities (cases 7, 8)": func(j *runpb.Job) {
		limitsOf(j)["cpu"], limitsOf(j)["memory"] = "8", "34359738368"
		volumeOf(j, "scratch").GetEmptyDir().SizeLimit = "1024Mi"
	},
	"an empty value left out (case 4)": func(j *runpb.Job) { variable(j, "B").Values = nil },
	"secrets by the project's number": func(j *runpb.Job) {
		secretRef(variable(j, "TOKEN")).Secret = "projects/123456789012/secrets/token"
		secretRef(variable(j, "FULL")).Secret = "projects/123456789012/secrets/token"
		volumeOf(j, "keys").GetSecret().Secret = "projects/123456789012/secrets/key"
	},
	"a full name in short":     func(j *runpb.Job) { secretRef(variable(j, "FULL")).Secret = "token" },
	"a version left out":       func(j *runpb.Job) { secretRef(variable(j, "TOKEN")).Version = "" },
	"buckets in full":          func(j *runpb.Job) { volumeOf(j, "data").GetGcs().Bucket = "projects/_/buckets/data-one" },
	"checkpoint's bucket, too": func(j *runpb.Job) { volumeOf(j, "checkpoint").GetGcs().Bucket = "projects/_/buckets/ckpt-one" },
	"the network in full, with the subnetwork": func(j *runpb.Job) {
		i := taskOf(j).VpcAccess.NetworkInterfaces[0]
		i.Network, i.Subnetwork = "projects/"+acctest.EmulatorProject+"/global/networks/default", "projects/"+acctest.EmulatorProject+"/regions/us-central1/subnetworks/default"
	},
	"the default egress": func(j *runpb.Job) { taskOf(j).VpcAccess.Egress = runpb.VpcAccess_PRIVATE_RANGES_ONLY },
	"the default medium": func(j *runpb.Job) { volumeOf(j, "scratch").GetEmptyDir().Medium = runpb.EmptyDirVolumeSource_MEMORY },
	"the default mode":   func(j *runpb.Job) { volumeOf(j, "token").GetSecret().DefaultMode = 0o444 },
	"the only file": func(j *runpb.Job) {
		volumeOf(j, "token").GetSecret().Items = []*runpb.VersionToPath{{Path: "token", Version: "latest"}}
	},
	"the launch stage (case 13)":     func(j *runpb.Job) { j.LaunchStage = api.LaunchStage_GA },
	"no redundancy switch (case 23)": func(j *runpb.Job) { taskOf(j).GpuZonalRedundancyDisabled = nil },
	"a volume that is not mounted": func(j *runpb.Job) {
		taskOf(j).Volumes = append(taskOf(j).Volumes, &runpb.Volume{Name: "loose", VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{}}})
	},
	"a sidecar": func(j *runpb.Job) {
		containerOf(j).Name = "main"
		taskOf(j).Containers = append(taskOf(j).Containers, &runpb.Container{Name: "sidecar", Image: "proxy"})
	},
}

// What others do beside what is managed, and what the server spells, fills in or orders in its own way, is no difference: the plan is empty and
// nothing is written. An update of one thing leaves all of it (cases 1, 4, 5, 7, 8, 10, 13, 14, 19, 20, 23, 25, 116).
func TestForeignChanges(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	config := c.job(everything())
	l := c.unchanged("at first", c.apply(c.none(), config), config)
	asMade := c.w.live()
	for what, change := range foreignChanges {
		c.w.setJob(change)
		since := acctest.Since(c.w.e)
		l = c.unchanged(what, l, config)
		equal(t, what+": writes", writes(since), "")
		if what == "a full name in short" || strings.HasPrefix(what, "secrets by") {
			c.w.setJob(func(j *runpb.Job) { // the one after the other is the other's turn
				secretRef(variable(j, "FULL")).Secret = secretRef(variable(asMade, "FULL")).Secret
			})
		}
	}

	// An update of the image leaves it as others left it (case 14).
	live := c.w.live()
	since := acctest.Since(c.w.e)
	set := everything()
	set["image"] = "train:2"
	config = c.job(set)
	l = c.unchanged("after an update", c.apply(l, config), config)
	sent := updated(t, since)
	var more []string
	for _, field := range differences(jobFields(t, live, true), jobFields(t, sent, true)) {
		// What is configured goes as it is written, whatever the server makes of it.
		if !slices.ContainsFunc([]string{"container.env[", "task.vpcAccess.", "-task.vpcAccess.", "task.volumes[keys].secret.secret=key", "-task.volumes[token].secret.", "-task.volumes[scratch].emptyDir.medium"},
			func(prefix string) bool { return strings.HasPrefix(field, prefix) }) {
			more = append(more, field)
		}
	}
	equal(t, "sent", more, []string{"container.image=train:2", "launchStage=BETA"})
	equal(t, "the order of volumes survives", fmt.Sprint(namesOf(taskOf(sent).GetVolumes())), fmt.Sprint(namesOf(taskOf(live).GetVolumes())))
	equal(t, "the order of variables survives", fmt.Sprint(namesOf(containerOf(sent).GetEnv())), fmt.Sprint(namesOf(containerOf(live).GetEnv())))
	equal(t, "the client survives", sent.GetClient()+" "+sent.GetClientVersion(), "gcloud 550.0.0")
	equal(t, "writes", writes(since), "UpdateJob")
	c.destroy(l)
	c.w.leavesNothing()
}

// managedChanges are what others do to what is managed, with the attributes in which it shows.
var managedChanges = map[string]struct {
	change func(*runpb.Job)
	plan   string
}{
	"image (case 22)":   {func(j *runpb.Job) { containerOf(j).Image = "evil:1" }, "image"},
	"command":           {func(j *runpb.Job) { containerOf(j).Command = nil }, "command"},
	"args":              {func(j *runpb.Job) { containerOf(j).Args = []string{"train.py"} }, "args"},
	"working directory": {func(j *runpb.Job) { containerOf(j).WorkingDir = "" }, "working_dir"},
	"a variable":        {func(j *runpb.Job) { variable(j, "A").Values = &runpb.EnvVar_Value{Value: "2"} }, "env.A"},
	"a variable gone":   {func(j *runpb.Job) { dropVariable(j, "C") }, "env.C"},
	"a variable more": {func(j *runpb.Job) {
		containerOf(j).Env = append(containerOf(j).Env, &runpb.EnvVar{Name: "D", Values: &runpb.EnvVar_Value{Value: "4"}})
	}, "env.D"},
	"a secret's version":       {func(j *runpb.Job) { secretRef(variable(j, "KEY")).Version = "1" }, "secret_env.KEY.version"},
	"another secret":           {func(j *runpb.Job) { secretRef(variable(j, "TOKEN")).Secret = "key" }, "secret_env.TOKEN.secret"},
	"another project's secret": {func(j *runpb.Job) { secretRef(variable(j, "TOKEN")).Secret = "projects/other-project/secrets/token" }, "secret_env.TOKEN.secret"},
	"a secret made plain":      {func(j *runpb.Job) { variable(j, "KEY").Values = &runpb.EnvVar_Value{Value: "x"} }, "env.KEY secret_env.KEY"},
	"a secret gone":            {func(j *runpb.Job) { dropVariable(j, "KEY") }, "secret_env.KEY"},
	"GPU":                      {func(j *runpb.Job) { taskOf(j).NodeSelector.Accelerator = "nvidia-rtx-pro-6000" }, "gpu_type"},
	"redundancy":               {func(j *runpb.Job) { off := true; taskOf(j).GpuZonalRedundancyDisabled = &off }, "gpu_zonal_redundancy"},
	"cpu":                      {func(j *runpb.Job) { limitsOf(j)["cpu"] = "4" }, "cpu"},
	"memory":                   {func(j *runpb.Job) { limitsOf(j)["memory"] = "16Gi" }, "memory"},
	"tasks":                    {func(j *runpb.Job) { j.Template.TaskCount = 9 }, "task_count exposure.attempts exposure.gpu_hours exposure.task_hours"},
	"parallelism":              {func(j *runpb.Job) { j.Template.Parallelism = 1 }, "parallelism"},
	"parallelism gone":         {func(j *runpb.Job) { j.Template.Parallelism = 0 }, "parallelism"},
	"timeout":                  {func(j *runpb.Job) { taskOf(j).Timeout = durationpb.New(1) }, "task_timeout exposure.gpu_hours exposure.task_hours"},
	"retries": {func(j *runpb.Job) { taskOf(j).Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: 9} },
		"max_retries exposure.attempts exposure.gpu_hours exposure.task_hours"},
	"retries gone":        {func(j *runpb.Job) { taskOf(j).Retries = nil }, "max_retries exposure.attempts exposure.gpu_hours exposure.task_hours"},
	"account":             {func(j *runpb.Job) { taskOf(j).ServiceAccount = trainer }, "service_account_email"},
	"checkpoint's bucket": {func(j *runpb.Job) { volumeOf(j, "checkpoint").GetGcs().Bucket = "ckpt-two" }, "checkpoint.bucket"},
	"checkpoint's path":   {func(j *runpb.Job) { mountIn(j, "checkpoint").MountPath = "/elsewhere" }, "checkpoint.mount_path"},
	"checkpoint's folder": {func(j *runpb.Job) { volumeOf(j, "checkpoint").GetGcs().MountOptions = []string{"implicit-dirs"} }, "checkpoint.prefix"},
	"checkpoint's option": {func(j *runpb.Job) {
		volumeOf(j, "checkpoint").GetGcs().MountOptions = []string{"only-dir=runs/42", "ro"}
	}, "checkpoint.mount_options"},
	"checkpoint gone":    {func(j *runpb.Job) { dropVolume(j, "checkpoint") }, "checkpoint"},
	"a mount path":       {func(j *runpb.Job) { mountIn(j, "data").MountPath = "/elsewhere" }, "volumes.data.mount_path"},
	"a sub path gone":    {func(j *runpb.Job) { mountIn(j, "share").SubPath = "" }, "volumes.share.sub_path"},
	"a mount option":     {func(j *runpb.Job) { volumeOf(j, "data").GetGcs().MountOptions = []string{"uid=1"} }, "volumes.data.gcs.mount_options"},
	"a volume writable":  {func(j *runpb.Job) { volumeOf(j, "data").GetGcs().ReadOnly = false }, "volumes.data.read_only"},
	"a volume read-only": {func(j *runpb.Job) { volumeOf(j, "share").GetNfs().ReadOnly = true }, "volumes.share.read_only"},
	"a server":           {func(j *runpb.Job) { volumeOf(j, "share").GetNfs().Server = "10.0.0.9" }, "volumes.share.nfs.server"},
	"a medium":           {func(j *runpb.Job) { volumeOf(j, "scratch").GetEmptyDir().Medium = runpb.EmptyDirVolumeSource_DISK }, "volumes.scratch.empty_dir.medium"},
	"a size":             {func(j *runpb.Job) { volumeOf(j, "scratch").GetEmptyDir().SizeLimit = "2Gi" }, "volumes.scratch.empty_dir.size_limit"},
	"a file's mode":      {func(j *runpb.Job) { volumeOf(j, "keys").GetSecret().Items[0].Mode = 0o444 }, "volumes.keys.secret.items.a/key.pem.mode"},
	"a file gone":        {func(j *runpb.Job) { s := volumeOf(j, "keys").GetSecret(); s.Items = s.Items[:1] }, "volumes.keys.secret.items.b"},
	"the mode of files":  {func(j *runpb.Job) { volumeOf(j, "keys").GetSecret().DefaultMode = 0o444 }, "volumes.keys.secret.default_mode"},
	"a volume's secret":  {func(j *runpb.Job) { volumeOf(j, "token").GetSecret().Secret = "key" }, "volumes.token.secret.secret"},
	"an instance more": {func(j *runpb.Job) {
		s := volumeOf(j, "sql").GetCloudSqlInstance()
		s.Instances = append(s.Instances, "p:us-central1:c")
	}, "volumes.sql.cloud_sql.instances"},
	"another kind": {func(j *runpb.Job) {
		volumeOf(j, "scratch").VolumeType = &runpb.Volume_Nfs{Nfs: &runpb.NFSVolumeSource{Server: "10.0.0.2", Path: "/x"}}
	}, "volumes.scratch.empty_dir volumes.scratch.nfs"},
	"a volume gone": {func(j *runpb.Job) { dropVolume(j, "scratch") }, "volumes.scratch"},
	"a volume more": {func(j *runpb.Job) {
		taskOf(j).Volumes = append(taskOf(j).Volumes, &runpb.Volume{Name: "more", VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{}}})
		containerOf(j).VolumeMounts = append(containerOf(j).VolumeMounts, &runpb.VolumeMount{Name: "more", MountPath: "/more"})
	}, "volumes.more"},
	"network":      {func(j *runpb.Job) { taskOf(j).VpcAccess.NetworkInterfaces[0].Network = "other" }, "network.network"},
	"subnetwork":   {func(j *runpb.Job) { taskOf(j).VpcAccess.NetworkInterfaces[0].Subnetwork = "other" }, "network.subnetwork"},
	"egress":       {func(j *runpb.Job) { taskOf(j).VpcAccess.Egress = runpb.VpcAccess_ALL_TRAFFIC }, "network.egress"},
	"tags":         {func(j *runpb.Job) { taskOf(j).VpcAccess.NetworkInterfaces[0].Tags = nil }, "network.tags"},
	"network gone": {func(j *runpb.Job) { taskOf(j).VpcAccess = nil }, "network"},
	"a connector": {func(j *runpb.Job) {
		taskOf(j).VpcAccess = &runpb.VpcAccess{Connector: "projects/p/locations/us-central1/connectors/c"}
	}, "network.connector network.network network.tags"},
	"key":              {func(j *runpb.Job) { taskOf(j).EncryptionKey = keyNamed("other") }, "encryption_key"},
	"key gone":         {func(j *runpb.Job) { taskOf(j).EncryptionKey = "" }, "encryption_key"},
	"policy gone":      {func(j *runpb.Job) { j.BinaryAuthorization = nil }, "binary_authorization"},
	"policy":           {func(j *runpb.Job) { j.BinaryAuthorization.BreakglassJustification = "" }, "binary_authorization.breakglass_justification"},
	"a label":          {func(j *runpb.Job) { j.Labels["team"] = "web" }, "labels.team terraform_labels.team effective_labels"},
	"a label gone":     {func(j *runpb.Job) { delete(j.Labels, "empty") }, "labels.empty terraform_labels.empty effective_labels"},
	"an annotation":    {func(j *runpb.Job) { j.Annotations["example.com/owner"] = "x" }, "annotations.example.com/owner"},
	"annotations gone": {func(j *runpb.Job) { j.Annotations = nil }, "annotations.example.com/owner annotations.note"},
}

// What others do to what is managed shows in exactly that attribute, as an update in place, and one UpdateJob puts it back (cases 2, 22, 116).
func TestManagedChanges(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	config := c.job(everything())
	l := c.unchanged("at first", c.apply(c.none(), config), config)
	want := jobFields(t, c.w.live(), true)
	state := l.state
	for what, m := range managedChanges {
		c.w.setJob(m.change)
		l = c.read(l)
		p := c.plan(l, config)
		equal(t, what+": action", p.action(t), "update")
		equal(t, what+": the plan changes", strings.Join(changed(t, "", l.state, p.state), " "), sortedWords(m.plan))
		since := acctest.Since(c.w.e)
		next, errs, warnings := c.carryOut(p)
		if len(errs)+len(warnings) > 0 {
			t.Errorf("%s: the apply says %q %q", what, errs, warnings)
		}
		equal(t, what+": writes", writes(since), "UpdateJob")
		l = c.unchanged(what, next, config)
		equal(t, what+": afterwards the job differs in", differences(want, jobFields(t, c.w.live(), true)), []string{})
		equal(t, what+": afterwards the state differs in", changed(t, "", state, l.state), []string(nil))
	}
}

// Where nothing is configured, what others set is taken away again, unless it is nobody's: labels, annotations.
func TestUnmanagedBecomesDefault(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	config := c.job(nil)
	l := c.apply(c.none(), config)
	full := newCore(t) // has everything that somebody may set
	full.apply(full.none(), full.job(everything()))
	template := full.w.live()
	want := jobFields(t, c.w.live(), true)
	c.w.setJob(func(j *runpb.Job) {
		account := taskOf(j).GetServiceAccount()
		j.Template, j.BinaryAuthorization, j.Labels, j.Annotations = template.GetTemplate(), template.GetBinaryAuthorization(), template.GetLabels(), template.GetAnnotations()
		on := false // in so many words, as others may write it
		taskOf(j).ServiceAccount, taskOf(j).GpuZonalRedundancyDisabled = account, &on
	})
	l = c.read(l)
	p := c.plan(l, config)
	equal(t, "action", p.action(t), "update")
	equal(t, "the plan changes", strings.Join(changed(t, "", l.state, p.state), " "),
		"args binary_authorization checkpoint command cpu encryption_key env gpu_zonal_redundancy max_retries memory network parallelism secret_env task_count volumes working_dir")
	since := acctest.Since(c.w.e)
	next, errs, warnings := c.carryOut(p)
	equal(t, "said", fmt.Sprint(errs, warnings), "[] []")
	equal(t, "writes", writes(since), "UpdateJob")
	c.unchanged("afterwards", next, config)
	equal(t, "the job differs in", strings.Join(differences(want, jobFields(t, c.w.live(), true)), " "),
		"annotations.example.com/owner=ml annotations.note= labels.empty= labels.team=ml template.labels.empty= template.labels.team=ml")
}

// One entry that goes away touches no other, wherever it stands (cases 2, 100, 125).
func TestRemovingOneEntry(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	config := c.job(everything())
	l := c.apply(c.none(), config)
	for _, r := range []struct{ attribute, key, plan, sent string }{
		{"env", "A", "env.A", "-container.env[A].name -container.env[A].value"},
		{"secret_env", "KEY", "secret_env.KEY", "-container.env[KEY].name -container.env[KEY].valueSource.secretKeyRef.secret -container.env[KEY].valueSource.secretKeyRef.version"},
		{"volumes", "scratch", "volumes.scratch", "-container.volumeMounts[scratch].mountPath -container.volumeMounts[scratch].name -task.volumes[scratch].emptyDir.sizeLimit -task.volumes[scratch].name"},
		{"labels", "empty", "effective_labels labels.empty terraform_labels.empty", "-labels.empty -template.labels.empty"},
		{"annotations", "note", "annotations.note", "-annotations.note"},
	} {
		set := everything()
		rest, ok := set[r.attribute].(attrs)
		if !ok {
			t.Fatalf("%s is no map", r.attribute)
		}
		rest = maps.Clone(rest)
		delete(rest, r.key)
		set[r.attribute] = rest
		without := c.job(set)
		p := c.plan(l, without)
		equal(t, r.attribute+": the plan changes", strings.Join(changed(t, "", l.state, p.state), " "), r.plan)
		live := jobFields(t, c.w.live(), true)
		since := acctest.Since(c.w.e)
		next, errs, _ := c.carryOut(p)
		equal(t, r.attribute+": errors", len(errs), 0)
		sent := differences(live, jobFields(t, updated(t, since), true))
		equal(t, r.attribute+": sent", strings.Join(slices.DeleteFunc(sent, func(s string) bool { return s == "launchStage=BETA" }), " "), r.sent)
		equal(t, r.attribute+": writes", writes(since), "UpdateJob")
		l = c.apply(c.unchanged(r.attribute, next, without), config)
	}
}

// The provider's labels stand in terraform_labels and effective_labels, and never in labels: the second plan is empty, also when the provider's
// change (case 98).
func TestDefaultLabels(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	byDefault := func(labels attrs) {
		c.silent(c.Configure(map[string]tftypes.Value{"default_labels": toValue(t, tftypes.Map{ElementType: tftypes.String}, labels)}))
	}
	byDefault(attrs{"env": "test", "team": "ops"})
	config := c.job(attrs{"labels": attrs{"team": "ml", "empty": ""}})
	l := c.unchanged("with default labels", c.apply(c.none(), config), config)
	equal(t, "labels of the job", c.w.live().GetLabels(), map[string]string{"env": "test", "team": "ml", "empty": ""})
	c.w.setJob(func(j *runpb.Job) { j.Labels["foreign"] = "1"; j.Template.Labels["foreign"] = "2" })
	l = c.unchanged("with a foreign label", l, config)
	byDefault(attrs{"cost": "gpu"})
	p := c.plan(l, config)
	equal(t, "the plan changes", strings.Join(changed(t, "", l.state, p.state), " "), "effective_labels terraform_labels.cost terraform_labels.env")
	next, errs, _ := c.carryOut(p)
	equal(t, "errors", errs, []string(nil))
	c.unchanged("with other default labels", next, config)
	equal(t, "labels of the job", c.w.live().GetLabels(), map[string]string{"cost": "gpu", "team": "ml", "empty": "", "foreign": "1"})
	equal(t, "labels of the executions", c.w.live().GetTemplate().GetLabels(), map[string]string{"cost": "gpu", "team": "ml", "empty": "", "foreign": "2"})
}

// Names of networks and secrets that the configuration spells anew, bare or in full, are no change: an import has them as Cloud Run answers.
func TestNamesSpelledAnew(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	project := "projects/" + c.w.job.Project
	in := func(network, subnetwork, secret string) tftypes.Value {
		return c.job(attrs{
			"network":    attrs{"network": network, "subnetwork": subnetwork},
			"secret_env": attrs{"TOKEN": attrs{"secret": secret}},
			"volumes":    attrs{"keys": attrs{"mount_path": "/keys", "secret": attrs{"secret": secret}}},
		})
	}
	bare, full := in("vpc", "sub", "token"), in(project+"/global/networks/vpc", project+"/regions/"+c.w.job.Location+"/subnetworks/sub", project+"/secrets/token")
	for what, pair := range map[string][2]tftypes.Value{"in full": {bare, full}, "bare": {full, bare}} {
		l := c.apply(c.none(), pair[0])
		since := acctest.Since(c.w.e)
		c.unchanged(what, l, pair[1])
		equal(t, what+": writes", writes(since), "")
		c.destroy(l)
	}
	l := c.apply(c.none(), bare)
	for _, other := range []tftypes.Value{
		in("vpc", "sub", "projects/other/secrets/token"), in("vpc", "sub", "projects/123/secrets/token"), in("projects/other/global/networks/vpc", "sub", "token"),
		in("vpc", "projects/other/regions/"+c.w.job.Location+"/subnetworks/sub", "token"), in("vpc", project+"/regions/us-east4/subnetworks/sub", "token"),
	} {
		// Nobody but Google knows whose number it is.
		if p := c.plan(l, other); p.action(t) != "update" {
			t.Errorf("what may be in another project, or is in another region: %s %q", p.action(t), p.errors)
		}
	}
	c.destroy(l)
}

// One secret may be written in two ways. While one of them is used the account keeps its role, and both gone it has none.
func TestOneSecretInTwoSpellings(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	byNumber := "projects/" + store.ProjectNumber(c.w.job.Project) + "/secrets/token"
	env := func(secrets ...string) tftypes.Value {
		all := attrs{}
		for _, s := range secrets {
			all[map[bool]string{true: "BARE", false: "NUMBER"}[s == "token"]] = attrs{"secret": s}
		}
		return c.job(attrs{"secret_env": all})
	}
	granted := func(want bool) {
		t.Helper()
		g := gcp.Grant{Resource: "projects/" + c.w.job.Project + "/secrets/token", Role: "roles/secretmanager.secretAccessor", Member: "serviceAccount:" + c.w.email()}
		if c.w.hasGrant(g) != want {
			t.Errorf("granted: %t", !want)
		}
	}
	for _, left := range []string{"token", byNumber} {
		l := c.apply(c.none(), env("token", byNumber))
		granted(true)
		l = c.apply(l, env(left))
		granted(true)
		l = c.unchanged("with "+left, l, env(left))
		l = c.apply(l, env())
		granted(false)
		c.destroy(l)
	}
}
