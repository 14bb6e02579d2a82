// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

func state(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func sameJob(t *testing.T, got, want *runpb.Job) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("the job is\n%s\nwant\n%s", prototext.Format(got), prototext.Format(want))
	}
}

// A state as the newest version of Google's provider writes it, with everything in it that a job of ours can have.
func TestReadJob(t *testing.T) {
	t.Parallel()
	j, problems := ReadJob(state(t, "job.json"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	disabled := true
	sameJob(t, j.Live, &runpb.Job{
		Name: "projects/my-project/locations/us-central1/jobs/train", Uid: "0b2d7c9e-6a2b-4f0c-9d2e-3b1f4c5d6e7f",
		Labels:      map[string]string{"app": "train", "cost-center": "42", "goog-terraform-provisioned": "true", "others": "label"},
		Annotations: map[string]string{"owner": "team-ml", "seen-by": "others"},
		Client:      "terraform", LaunchStage: api.LaunchStage_BETA,
		BinaryAuthorization: &runpb.BinaryAuthorization{BinauthzMethod: &runpb.BinaryAuthorization_UseDefault{UseDefault: true}},
		CreateExecution:     &runpb.Job_StartExecutionToken{StartExecutionToken: "first"},
		Template: &runpb.ExecutionTemplate{
			Labels: map[string]string{"app": "train"}, Parallelism: 1, TaskCount: 2,
			Template: &runpb.TaskTemplate{
				Containers: []*runpb.Container{{
					Image: "us-docker.pkg.dev/my-project/ml/train:v1", Command: []string{"python", "train.py"}, Args: []string{"--epochs", "90"}, WorkingDir: "/app",
					Env: []*runpb.EnvVar{
						{Name: "LOG_LEVEL", Values: &runpb.EnvVar_Value{Value: "info"}},
						{Name: "TOKEN", Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{SecretKeyRef: &runpb.SecretKeySelector{Secret: "token", Version: "latest"}}}},
						{Name: "EMPTY", Values: &runpb.EnvVar_Value{}},
					},
					Resources: &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}},
					VolumeMounts: []*runpb.VolumeMount{
						{Name: "ckpt", MountPath: "/mnt/ckpt"}, {Name: "token", MountPath: "/etc/token"}, {Name: "scratch", MountPath: "/scratch"},
						{Name: "share", MountPath: "/share"}, {Name: "db", MountPath: "/cloudsql"},
					},
				}},
				Volumes: []*runpb.Volume{
					{Name: "ckpt", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: "my-ckpt", MountOptions: []string{"implicit-dirs"}}}},
					{Name: "token", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{Secret: "token", DefaultMode: 0o400, Items: []*runpb.VersionToPath{{Path: "token", Version: "3"}}}}},
					{Name: "scratch", VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{Medium: runpb.EmptyDirVolumeSource_DISK, SizeLimit: "10Gi"}}},
					{Name: "share", VolumeType: &runpb.Volume_Nfs{Nfs: &runpb.NFSVolumeSource{Server: "10.0.0.2", Path: "/export", ReadOnly: true}}},
					{Name: "db", VolumeType: &runpb.Volume_CloudSqlInstance{CloudSqlInstance: &runpb.CloudSqlInstance{Instances: []string{"my-project:us-central1:db"}}}},
				},
				Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: 0}, Timeout: durationpb.New(3600e9),
				ServiceAccount: "runner@my-project.iam.gserviceaccount.com", ExecutionEnvironment: runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2,
				EncryptionKey: "projects/my-project/locations/us-central1/keyRings/r/cryptoKeys/k",
				NodeSelector:  &runpb.NodeSelector{Accelerator: "nvidia-l4"}, GpuZonalRedundancyDisabled: &disabled,
				VpcAccess: &runpb.VpcAccess{Egress: runpb.VpcAccess_PRIVATE_RANGES_ONLY, NetworkInterfaces: []*runpb.VpcAccess_NetworkInterface{{Network: "default", Subnetwork: "gpu", Tags: []string{"gpu"}}}},
			},
		},
	})
	if want := (resourcename.Job{Project: "my-project", Location: "us-central1", Name: "train"}); j.Name != want {
		t.Errorf("the name is %v", j.Name)
	}
	if !maps.Equal(j.Labels.Own, map[string]string{"app": "train"}) || !maps.Equal(j.Labels.All, map[string]string{"app": "train", "cost-center": "42"}) {
		t.Errorf("the managed labels are %v", j.Labels)
	}
	if !maps.Equal(j.Annotations.Own, map[string]string{"owner": "team-ml"}) {
		t.Errorf("the managed annotations are %v", j.Annotations)
	}
	if !maps.Equal(j.Timeouts, map[string]string{"create": "30m"}) {
		t.Errorf("the timeouts are %v", j.Timeouts)
	}
}

// The first schema: labels are all labels, env is a list, there is nothing of GPUs.
func TestReadJobOf2022(t *testing.T) {
	t.Parallel()
	j, problems := ReadJob(state(t, "job_2022.json"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	sameJob(t, j.Live, &runpb.Job{
		Name: "projects/my-project/locations/us-central1/jobs/old", Uid: "5a1d7c9e-6a2b-4f0c-9d2e-3b1f4c5d6e7f",
		Labels: map[string]string{"app": "old", "goog-managed": "yes"}, LaunchStage: api.LaunchStage_GA,
		Template: &runpb.ExecutionTemplate{TaskCount: 1, Labels: map[string]string{"app": "old"}, Template: &runpb.TaskTemplate{
			Containers: []*runpb.Container{{
				Image: "gcr.io/my-project/old", Env: []*runpb.EnvVar{{Name: "A", Values: &runpb.EnvVar_Value{Value: "b"}}},
				Resources: &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "1000m", "memory": "512Mi"}},
			}},
			Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: 3}, Timeout: durationpb.New(600e9), ServiceAccount: "123-compute@developer.gserviceaccount.com",
			ExecutionEnvironment: runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2,
		}},
	})
	want := map[string]string{"app": "old"}
	if !maps.Equal(j.Labels.Own, want) || !maps.Equal(j.Labels.All, want) {
		t.Errorf("the managed labels are %v", j.Labels)
	}
}

const minimal = `"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{"containers": [{"image": "i"}]}]}]`

// Each row changes one thing of a small state.
func TestReadJobPart(t *testing.T) {
	t.Parallel()
	task := func(fields string) string {
		return `{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{` + fields + `}]}]}`
	}
	for name, c := range map[string]struct {
		state string
		want  func(Job) bool
	}{
		"the id names the job":     {`{` + minimal + `}`, func(j Job) bool { return j.Name.String() == "projects/p-1234/locations/us-central1/jobs/j" }},
		"the name is a full name":  {`{"project": "p-1234", "location": "us-central1", "name": "projects/p-1234/locations/us-central1/jobs/k", ` + minimal + `}`, func(j Job) bool { return j.Name.Name == "k" }},
		"no retries said":          {`{` + minimal + `}`, func(j Job) bool { return j.Live.Template.Template.Retries == nil }},
		"no zonal redundancy said": {`{` + minimal + `}`, func(j Job) bool { return j.Live.Template.Template.GpuZonalRedundancyDisabled == nil }},
		"zonal redundancy":         {task(`"gpu_zonal_redundancy_disabled": false, "containers": []`), func(j Job) bool { d := j.Live.Template.Template.GpuZonalRedundancyDisabled; return d != nil && !*d }},
		"an empty block is null":   {task(`"volumes": [{"name": "v", "empty_dir": [null]}]`), func(j Job) bool { return j.Live.Template.Template.Volumes[0].GetEmptyDir() != nil }},
		"a fraction of a second":   {task(`"timeout": "1.5s"`), func(j Job) bool { return j.Live.Template.Template.Timeout.AsDuration() == 1.5e9 }},
		"two containers": {task(`"containers": [{"image": "a", "name": "a"}, {"image": "b", "name": "b", "depends_on": ["a"]}]`), func(j Job) bool {
			return len(j.Live.Template.Template.Containers) == 2 && j.Live.Template.Template.Containers[1].DependsOn[0] == "a"
		}},
		"a startup probe": {task(`"containers": [{"image": "a", "startup_probe": [{"period_seconds": 10, "grpc": [{"port": 8080, "service": "s"}]}]}]`), func(j Job) bool {
			return j.Live.Template.Template.Containers[0].StartupProbe.GetGrpc().GetPort() == 8080
		}},
		"a probe by http": {task(`"containers": [{"image": "a", "liveness_probe": [{"http_get": [{"path": "/", "http_headers": [{"name": "n", "value": "v"}]}]}]}]`), func(j Job) bool {
			return j.Live.Template.Template.Containers[0].LivenessProbe.GetHttpGet().GetHttpHeaders()[0].GetValue() == "v"
		}},
		"a probe by tcp": {task(`"containers": [{"image": "a", "startup_probe": [{"tcp_socket": [{"port": 1}]}]}]`), func(j Job) bool {
			return j.Live.Template.Template.Containers[0].StartupProbe.GetTcpSocket().GetPort() == 1
		}},
		"a port":                      {task(`"containers": [{"image": "a", "ports": [{"name": "http1", "container_port": 80}]}]`), func(j Job) bool { return j.Live.Template.Template.Containers[0].Ports[0].ContainerPort == 80 }},
		"a path in a volume":          {task(`"containers": [{"image": "a", "volume_mounts": [{"name": "v", "mount_path": "/v", "sub_path": "s"}]}]`), func(j Job) bool { return j.Live.Template.Template.Containers[0].VolumeMounts[0].SubPath == "s" }},
		"a connector":                 {task(`"vpc_access": [{"connector": "c", "egress": "ALL_TRAFFIC", "network_interfaces": []}]`), func(j Job) bool { return j.Live.Template.Template.VpcAccess.Connector == "c" }},
		"no GPU":                      {task(`"node_selector": [{"accelerator": ""}]`), func(j Job) bool { return j.Live.Template.Template.NodeSelector == nil }},
		"a policy":                    {`{"binary_authorization": [{"policy": "p", "use_default": false}], ` + minimal + `}`, func(j Job) bool { return j.Live.BinaryAuthorization.GetPolicy() == "p" }},
		"binary authorization is off": {`{"binary_authorization": [{"breakglass_justification": "", "policy": "", "use_default": false}], ` + minimal + `}`, func(j Job) bool { return j.Live.BinaryAuthorization == nil }},
		"a token that runs":           {`{"run_execution_token": "t", ` + minimal + `}`, func(j Job) bool { return j.Live.GetRunExecutionToken() == "t" }},
		"kept on destroy":             {`{"deletion_policy": "ABANDON", ` + minimal + `}`, func(j Job) bool { return j.DeletionPolicy == "ABANDON" }},
		"an output of tomorrow":       {`{"invented": "x", ` + minimal + `}`, func(j Job) bool { return j.Name.Name == "j" }},
		"a drifted label":             {`{"labels": {"a": "1"}, "terraform_labels": {"a": "1"}, "effective_labels": {}, ` + minimal + `}`, func(j Job) bool { return len(j.Live.Labels) == 0 && j.Labels.Own["a"] == "1" }},
		"an empty thing of tomorrow":  {task(`"invented": [{"a": "", "b": [null], "c": 0, "d": false}], "containers": []`), func(j Job) bool { return j.Live.Template.Template != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, problems := ReadJob([]byte(c.state))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if !c.want(j) {
				t.Errorf("the job is\n%s\n%+v", prototext.Format(j.Live), j)
			}
		})
	}
}

// What cannot be read is named, and no value is shown.
func TestReadJobProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ state, want string }{
		{``, "The state of the resource is no JSON object."},
		{`null`, "The state of the resource is no JSON object."},
		{`[1]`, "The state of the resource is no JSON object."},
		{`{}`, "The state does not name a job: "},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j"}`, "template is missing in the state."},
		{`{"labels": 3, ` + minimal + `}`, "labels is not a map in the state, as the schema of Google's provider has it."},
		{`{"labels": {"a": 3}, ` + minimal + `}`, "labels is not a map of strings in the state"},
		{`{"uid": 3, ` + minimal + `}`, "uid is not a string"},
		{`{"launch_stage": "SECRET", ` + minimal + `}`, "launch_stage has a value that this version of the provider does not know."},
		{`{"binary_authorization": [{"use_default": 7}], ` + minimal + `}`, "binary_authorization.use_default is not a bool"},
		{`{"binary_authorization": [{}, {}], ` + minimal + `}`, "binary_authorization is there 2 times in the state."},
		{`{"binary_authorization": [7], ` + minimal + `}`, "binary_authorization is not a list of blocks"},
		{`{"binary_authorization": {}, ` + minimal + `}`, "binary_authorization is not a list of blocks"},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"task_count": 1e30, "template": [{}]}]}`, "template.task_count is not a whole number"},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"task_count": 3000000000, "template": [{}]}]}`, "template.task_count is not a number of 32 bits"},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{"timeout": "SECRET"}]}]}`, `template.template.timeout is not a number of seconds such as "600s"`},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{"timeout": "99999999999999999s"}]}]}`, `template.template.timeout is not a number of seconds`},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{"containers": [{"args": "SECRET"}]}]}]}`, "template.template.containers[0].args is not a list"},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{"containers": [{"args": [7]}]}]}]}`, "template.template.containers[0].args is not a list of strings"},
		{`{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{"containers": [{}, {"invented": {"key": "SECRET"}}]}]}]}`,
			"template.template.containers[1].invented has a value, and this version of the provider does not know the attribute."},
	} {
		_, problems := ReadJob([]byte(c.state))
		if len(problems) != 1 {
			t.Errorf("%s: the problems are %v", c.state, problems)
			continue
		}
		if got := problems[0].String(); !strings.HasPrefix(got, c.want) || strings.Contains(got, "SECRET") {
			t.Errorf("%s: the problem is %q, want %q", c.state, got, c.want)
		}
	}
}
