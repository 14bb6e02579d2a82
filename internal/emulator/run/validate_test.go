// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

func plain(name, value string) *runpb.EnvVar {
	return &runpb.EnvVar{Name: name, Values: &runpb.EnvVar_Value{Value: value}}
}

func withEnv(env ...*runpb.EnvVar) func(*runpb.Job) {
	return func(j *runpb.Job) { task(j).Containers[0].Env = env }
}

func bucketVolume(name, bucket string, options ...string) *runpb.Volume {
	return &runpb.Volume{Name: name, VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: bucket, MountOptions: options}}}
}

func emptyVolume(name string) *runpb.Volume {
	return &runpb.Volume{Name: name, VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{}}}
}

func withVolumes(volumes ...*runpb.Volume) func(*runpb.Job) {
	return func(j *runpb.Job) { task(j).Volumes = volumes }
}

func withMounts(mounts ...*runpb.VolumeMount) func(*runpb.Job) {
	return func(j *runpb.Job) { task(j).Containers[0].VolumeMounts = mounts }
}

func mountedAt(path string) func(*runpb.Job) {
	return func(j *runpb.Job) {
		withVolumes(emptyVolume("v"))(j)
		withMounts(&runpb.VolumeMount{Name: "v", MountPath: path})(j)
	}
}

type refusal struct {
	id     string // "" is train
	region string // "" is us-central1
	change []func(*runpb.Job)
	code   codes.Code // OK is accepted
	text   string     // part of the message
}

func changes(c ...func(*runpb.Job)) []func(*runpb.Job) { return c }

const bad = codes.InvalidArgument

func TestValidation(t *testing.T) {
	t.Parallel()
	manyLabels := map[string]string{}
	for i := range 65 {
		manyLabels["l"+strconv.Itoa(i)] = "x"
	}
	manyEnv := make([]*runpb.EnvVar, 1001)
	for i := range manyEnv {
		manyEnv[i] = plain("N"+strconv.Itoa(i), "x")
	}
	labels := func(m map[string]string) []func(*runpb.Job) {
		return changes(func(j *runpb.Job) { j.Labels = m })
	}
	for name, tt := range map[string]refusal{
		"name of 63 characters":         {id: strings.Repeat("a", 63)},
		"name of 64 characters":         {id: strings.Repeat("a", 64), code: bad, text: "63 characters"},
		"name in capitals":              {id: "Train", code: bad},
		"name with a dash at the end":   {id: "train-", code: bad},
		"name that begins with a digit": {id: "1train", code: bad},
		"no container":                  {change: changes(func(j *runpb.Job) { task(j).Containers = nil }), code: bad, text: "template.template.containers: "},
		"no image":                      {change: changes(func(j *runpb.Job) { task(j).Containers[0].Image = "" }), code: bad, text: "containers[0].image"},
		"source code":                   {change: changes(func(j *runpb.Job) { task(j).Containers[0].SourceCode = &runpb.SourceCode{} }), code: bad},
		"base image":                    {change: changes(func(j *runpb.Job) { task(j).Containers[0].BaseImageUri = "x" }), code: bad},
		"two containers without names":  {change: changes(func(j *runpb.Job) { task(j).Containers = append(task(j).Containers, task(j).Containers[0]) }), code: bad},
		"relative working directory":    {change: changes(func(j *runpb.Job) { task(j).Containers[0].WorkingDir = "x" }), code: bad},
		"gen1 (case 17)":                {change: changes(func(j *runpb.Job) { task(j).ExecutionEnvironment = 1 }), code: bad, text: "template.annotations: Annotation 'run.googleapis.com/execution-environment' with value 'gen1' is not supported on resources of kind Execution."},
		"no retries":                    {change: changes(retries(0))},
		"ten retries":                   {change: changes(retries(10))},
		"eleven retries":                {change: changes(retries(11)), code: bad, text: "template.template.max_retries: "},
		"negative retries":              {change: changes(retries(-1)), code: bad},
		"10,000 tasks":                  {change: changes(tasks(10000, 0))},
		"10,001 tasks":                  {change: changes(tasks(10001, 0)), code: bad, text: "template.task_count: "},
		"negative tasks":                {change: changes(tasks(-1, 0)), code: bad},
		"parallelism of all tasks":      {change: changes(tasks(3, 3))},
		"parallelism above the tasks":   {change: changes(tasks(3, 4)), code: bad, text: "template.parallelism: "},
		"timeout of 168 hours":          {change: changes(timeout(168 * time.Hour))},
		"timeout above 168 hours":       {change: changes(timeout(168*time.Hour + time.Second)), code: bad, text: "template.template.timeout: "},
		"negative timeout":              {change: changes(timeout(-time.Second)), code: bad},
		"timeout below a second":        {change: changes(timeout(500 * time.Millisecond))},
		"labels":                        {change: labels(map[string]string{"team": "ml", "empty": ""})},
		"label in capitals":             {change: labels(map[string]string{"Team": "ml"}), code: bad},
		"label of 64 characters":        {change: labels(map[string]string{"a": strings.Repeat("x", 64)}), code: bad},
		"65 labels":                     {change: labels(manyLabels), code: bad},
		"system label":                  {change: labels(map[string]string{"run.googleapis.com/x": "y"}), code: bad, text: "run.googleapis.com"},
		"system label of the template":  {change: changes(func(j *runpb.Job) { j.Template.Labels = map[string]string{"cloud.googleapis.com/location": "x"} }), code: bad, text: "template.labels"},
		"knative annotation":            {change: changes(func(j *runpb.Job) { j.Annotations = map[string]string{"serving.knative.dev/creator": "x"} }), code: bad},
		"knative annotation, scaling": {change: changes(func(j *runpb.Job) {
			j.Template.Annotations = map[string]string{"autoscaling.knative.dev/maxScale": "3"}
		}), code: bad},
		"foreign annotation":             {change: changes(func(j *runpb.Job) { j.Annotations = map[string]string{"example.com/Commit": "A b"} })},
		"env":                            {change: changes(withEnv(plain("A", "1"), plain("b_2", "")))},
		"env without a name":             {change: changes(withEnv(plain("", "1"))), code: bad, text: "env[0].name"},
		"env with a dash":                {change: changes(withEnv(plain("A-B", "1"))), code: bad},
		"env that begins with a digit":   {change: changes(withEnv(plain("1A", "1"))), code: bad},
		"env twice":                      {change: changes(withEnv(plain("A", "1"), plain("A", "2"))), code: bad, text: `Duplicate environment variable "A"`},
		"env of X_GOOGLE":                {change: changes(withEnv(plain("X_GOOGLE_A", "1"))), code: bad},
		"env that is reserved":           {change: changes(withEnv(plain("CLOUD_RUN_TASK_INDEX", "1"), plain("A", ""), plain("PORT", "1"))), code: bad, text: "template.template.containers[0].env: The following reserved env names were provided: CLOUD_RUN_TASK_INDEX, PORT. These values are automatically set by the system."},
		"env of services":                {change: changes(withEnv(plain("K_SERVICE", "1")))},
		"env that is too long":           {change: changes(withEnv(plain("A", strings.Repeat("x", 32769)))), code: bad},
		"1001 env":                       {change: changes(withEnv(manyEnv...)), code: bad},
		"env of a secret without a name": {change: changes(withEnv(&runpb.EnvVar{Name: "A", Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{}}})), code: bad},

		"mount":                         {change: changes(mountedAt("/checkpoints"))},
		"relative mount path":           {change: changes(mountedAt("checkpoints")), code: bad, text: "volume_mounts[0].mount_path"},
		"empty mount path":              {change: changes(mountedAt("")), code: bad},
		"root as mount path":            {change: changes(mountedAt("/x/..")), code: bad},
		"mount path with a colon":       {change: changes(mountedAt("/a:b")), code: bad},
		"mount path /dev":               {change: changes(mountedAt("/dev")), code: bad},
		"mount path below /proc":        {change: changes(mountedAt("/proc/x")), code: bad},
		"mount path beside /sys":        {change: changes(mountedAt("/system"))},
		"two mounts at one path":        {change: changes(withVolumes(emptyVolume("v"), emptyVolume("w")), withMounts(&runpb.VolumeMount{Name: "v", MountPath: "/a"}, &runpb.VolumeMount{Name: "w", MountPath: "/a/"})), code: bad, text: "Duplicate mount path"},
		"one volume at two paths":       {change: changes(withVolumes(emptyVolume("v")), withMounts(&runpb.VolumeMount{Name: "v", MountPath: "/a"}, &runpb.VolumeMount{Name: "v", MountPath: "/b"}))},
		"mount of an unknown volume":    {change: changes(withMounts(&runpb.VolumeMount{Name: "v", MountPath: "/a"})), code: bad, text: `No volume is named "v"`},
		"sub path that leaves":          {change: changes(withVolumes(emptyVolume("v")), withMounts(&runpb.VolumeMount{Name: "v", MountPath: "/a", SubPath: "../b"})), code: bad},
		"sub path of a secret":          {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{Secret: "s"}}}), withMounts(&runpb.VolumeMount{Name: "v", MountPath: "/a", SubPath: "b"})), code: bad, text: "sub_path"},
		"two volumes of one name":       {change: changes(withVolumes(emptyVolume("v"), emptyVolume("v"))), code: bad},
		"volume without a kind":         {change: changes(withVolumes(&runpb.Volume{Name: "v"})), code: bad},
		"bucket without a name":         {change: changes(withVolumes(bucketVolume("v", ""))), code: bad},
		"mount option with dashes":      {change: changes(withVolumes(bucketVolume("v", "b", "--implicit-dirs"))), code: bad, text: "leading dashes"},
		"mount options":                 {change: changes(withVolumes(bucketVolume("v", "projects/p/buckets/b", "implicit-dirs", "only-dir=a/b")))},
		"only-dir that leaves":          {change: changes(withVolumes(bucketVolume("v", "b", "only-dir=a/../../b"))), code: bad},
		"NFS without a server":          {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Nfs{Nfs: &runpb.NFSVolumeSource{Path: "/x"}}})), code: bad},
		"empty directory without limit": {change: changes(withVolumes(emptyVolume("v")))},
		"empty directory, bad limit":    {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{SizeLimit: "big"}}})), code: bad},
		"secret without a name":         {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{}}})), code: bad},
		"secret mode":                   {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{Secret: "s", DefaultMode: 0o1000}}})), code: bad},
		"secret item without version":   {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{Secret: "s", Items: []*runpb.VersionToPath{{Path: "a"}}}}})), code: bad},
		"Cloud SQL without instances":   {change: changes(withVolumes(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_CloudSqlInstance{CloudSqlInstance: &runpb.CloudSqlInstance{}}})), code: bad},

		"8 CPU with 32 GiB":           {change: changes(withLimits("8", "32Gi", ""))},
		"half a CPU (case 61)":        {change: changes(withLimits("500m", "512Mi", "")), code: bad, text: "limits.cpu: Invalid value specified for cpu."},
		"3 CPU":                       {change: changes(withLimits("3", "4Gi", "")), code: bad},
		"1 CPU with 8 GiB (case 62)":  {change: changes(withLimits("1", "8Gi", "")), code: bad, text: "Invalid value specified for memory with gen2 execution environment. For 1.0 CPU, memory must be between 512Mi and 4Gi inclusive."},
		"4 CPU with default memory":   {change: changes(withLimits("4", "", "")), code: bad, text: "For 4.0 CPU, memory must be between 2Gi and 16Gi inclusive."},
		"256 MiB":                     {change: changes(withLimits("1", "256Mi", "")), code: bad},
		"memory in decimal (case 8)":  {change: changes(withLimits("8", "16G", ""))},
		"cpu that is no quantity":     {change: changes(withLimits("four", "2Gi", "")), code: bad},
		"negative memory":             {change: changes(withLimits("1", "-1Gi", "")), code: bad},
		"a resource nobody knows":     {change: changes(func(j *runpb.Job) { withLimits("1", "1Gi", "")(j); task(j).Containers[0].Resources.Limits["tpu"] = "1" }), code: bad},
		"GPU without a type":          {change: changes(withLimits("4", "16Gi", "1")), code: bad, text: "node_selector.accelerator"},
		"two GPUs":                    {change: changes(accelerator("nvidia-l4"), withLimits("4", "16Gi", "2")), code: bad},
		"L4":                          {change: changes(accelerator("nvidia-l4"), withLimits("4", "16Gi", "1"))},
		"L4 without limits (case 56)": {change: changes(accelerator("nvidia-l4"))},
		"L4 with 2 CPU":               {change: changes(accelerator("nvidia-l4"), withLimits("2", "16Gi", "")), code: bad, text: "at least 4 CPU"},
		"L4 with 8 GiB":               {change: changes(accelerator("nvidia-l4"), withLimits("4", "8Gi", "")), code: bad, text: "at least 16Gi"},
		"L4 with 4 CPU and 32 GiB":    {change: changes(accelerator("nvidia-l4"), withLimits("4", "32Gi", "")), code: bad},
		"L4 elsewhere":                {region: "europe-north1", change: changes(accelerator("nvidia-l4")), code: bad, text: "not supported in region europe-north1"},
		"RTX":                         {change: changes(accelerator("nvidia-rtx-pro-6000"), withLimits("22", "88Gi", "1"))},
		"RTX with 8 CPU":              {change: changes(accelerator("nvidia-rtx-pro-6000"), withLimits("8", "80Gi", "")), code: bad, text: "at least 20 CPU"},
		"a GPU type nobody knows":     {region: "europe-north1", change: changes(accelerator("nvidia-h100"), withLimits("8", "32Gi", "1"))},
		"GPU for two hours (case 52)": {change: changes(accelerator("nvidia-l4"), timeout(2*time.Hour), stage(3))},

		"a token":                  {change: changes(startToken("one"))},
		"a token that is too long": {change: changes(startToken(strings.Repeat("a", 58))), code: bad, text: "start_execution_token: "},
		"a token in capitals":      {change: changes(startToken("One")), code: bad},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			req := &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(tt.change...)}
			if tt.id != "" {
				req.JobId = tt.id
			}
			if tt.region != "" {
				req.Parent = "projects/demo/locations/" + tt.region
			}
			_, err := w.CreateJob(w.ctx, req)
			st := status.Convert(err)
			if st.Code() != tt.code || !strings.Contains(st.Message(), tt.text) {
				t.Fatalf("got %v %q, want %v with %q", st.Code(), st.Message(), tt.code, tt.text)
			}
			if (w.Job(req.GetParent()+"/jobs/"+req.GetJobId()) != nil) != (tt.code == codes.OK) {
				t.Error("the job exists although it was refused, or the reverse")
			}
			if tt.code == codes.OK || tt.id != "" || tt.region != "" || strings.Contains(name, "token") {
				return
			}
			// An update is checked as a create is.
			w.create()
			before := w.Job(jobFull)
			req.Job.Name = jobFull
			_, err = w.UpdateJob(w.ctx, &runpb.UpdateJobRequest{Job: req.GetJob()})
			wantCode(t, err, st.Code(), st.Message())
			if w.Job(jobFull).GetEtag() != before.GetEtag() {
				t.Error("a refused update changed the job")
			}
		})
	}
}

func TestValidationSwitches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, behaving(run.Behaviour{JobNameLimit: run.JobNameLimit49, GPURegionsOpen: true}))
	_, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: strings.Repeat("a", 50), Job: aJob()})
	wantCode(t, err, bad, "")
	_, err = w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: strings.Repeat("a", 49), Job: aJob()})
	wantCode(t, err, codes.OK, "")
	_, err = w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: "projects/demo/locations/europe-north1", JobId: "a", Job: aJob(accelerator("nvidia-l4"))})
	wantCode(t, err, codes.OK, "")
	_, err = w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: "b"})
	wantCode(t, err, bad, "job: Required field not specified.")
	_, err = w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: "demo", JobId: "b", Job: aJob()})
	wantCode(t, err, bad, "")
	op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, Job: aJob()})
	if err != nil {
		t.Fatal(err)
	}
	if name := jobOf(t, op).GetName(); len(name) <= len(parent+"/jobs/") {
		t.Errorf("no id was made up: %q", name)
	}
}

// A runtime account that does not exist is refused; the default one always does.
func TestRuntimeAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	account := func(email string) func(*runpb.Job) {
		return func(j *runpb.Job) { task(j).ServiceAccount = email }
	}
	const email = "train@demo.iam.gserviceaccount.com"
	const text = "Permission 'iam.serviceaccounts.actAs' denied on service account " + email + " (or it may not exist)."
	_, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(account(email))})
	wantCode(t, err, codes.PermissionDenied, text)
	w.create()
	update := &runpb.UpdateJobRequest{Job: aJob(account(email), func(j *runpb.Job) { j.Name = jobFull })}
	_, err = w.UpdateJob(w.ctx, update)
	wantCode(t, err, codes.PermissionDenied, text)
	w.accounts[email] = true
	_, err = w.UpdateJob(w.ctx, update)
	wantCode(t, err, codes.OK, "")
}

func TestOverridesAreChecked(t *testing.T) {
	t.Parallel()
	container := func(c *runpb.RunJobRequest_Overrides_ContainerOverride) *runpb.RunJobRequest_Overrides {
		return &runpb.RunJobRequest_Overrides{ContainerOverrides: []*runpb.RunJobRequest_Overrides_ContainerOverride{c}}
	}
	type override = runpb.RunJobRequest_Overrides_ContainerOverride
	for name, o := range map[string]*runpb.RunJobRequest_Overrides{
		"unknown container":      container(&override{Name: "other"}),
		"args and clear_args":    container(&override{Args: []string{"a"}, ClearArgs: true}),
		"reserved env":           container(&override{Env: []*runpb.EnvVar{plain("CLOUD_RUN_JOB", "x")}}),
		"too many tasks":         {TaskCount: 10001},
		"negative tasks":         {TaskCount: -1},
		"timeout above the rule": {Timeout: durationpb.New(200 * time.Hour)},
		"timeout of nothing":     {Timeout: durationpb.New(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create()
			_, err := w.RunJob(w.ctx, &runpb.RunJobRequest{Name: jobFull, Overrides: o})
			wantCode(t, err, bad, "")
			if w.Job(jobFull).GetExecutionCount() != 0 {
				t.Error("an execution was made")
			}
		})
	}
}
