// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/api"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// The whole life of a job, and every request of it. cases 56, 109, 122, 124: the
// account may read the bucket before the job is made, and the request has
// selector, switch and second generation.
func TestAccLife(t *testing.T) { // rows 1, 21
	t.Parallel()
	w := newWorld(t)
	since := acctest.Since(w.e)
	w.apply(w.config(`
		command      = ["python"]
		args         = ["train.py", "--epochs=3"]
		env          = { LR = "0.1", EMPTY = "" }
		task_timeout = "12h"
		labels       = { team = "ml" }
	`)).Succeeds()
	equal(t, "writes of a create", since.Writes(), []string{acctest.CreateServiceAccount, acctest.SetBucketPolicy, acctest.CreateJob})
	// What is looked at before is asked for side by side.
	for _, look := range []string{acctest.GetJob, acctest.GetServiceAccount, acctest.GetBucket, "storage.buckets.testIamPermissions"} {
		inOrder(t, since.Methods(), look, acctest.CreateServiceAccount, acctest.SetBucketPolicy, acctest.CreateJob)
	}

	sent := since.Find(acctest.CreateJob)[0].Request.(*runpb.CreateJobRequest)
	task := sent.GetJob().GetTemplate().GetTemplate()
	equal(t, "parent and id", sent.GetParent()+" "+sent.GetJobId(), w.job.Parent()+" "+w.job.Name)
	equal(t, "stage", sent.GetJob().GetLaunchStage(), api.LaunchStage_BETA)
	equal(t, "selector", task.GetNodeSelector().GetAccelerator(), "nvidia-l4")
	equal(t, "redundancy disabled", task.GetGpuZonalRedundancyDisabled(), true)
	equal(t, "limits", task.GetContainers()[0].GetResources().GetLimits(), "map[cpu:4000m memory:16Gi nvidia.com/gpu:1]")
	equal(t, "timeout", task.GetTimeout().AsDuration(), "12h0m0s")
	equal(t, "retries", task.GetMaxRetries(), 3)
	equal(t, "generation", task.GetExecutionEnvironment(), runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2)
	equal(t, "account", task.GetServiceAccount(), w.email())
	equal(t, "bucket", task.GetVolumes()[0].GetGcs().GetBucket(), w.bucket)
	equal(t, "mount", task.GetContainers()[0].GetVolumeMounts()[0].GetMountPath(), "/checkpoints")
	equal(t, "labels", sent.GetJob().GetLabels(), "map[team:ml]")
	equal(t, "labels of executions", sent.GetJob().GetTemplate().GetLabels(), "map[team:ml]")

	account, ok := w.e.IAM().Lookup(w.email())
	if !ok || account.GetDescription() != w.job.String() {
		t.Errorf("account %v is not marked with the job", account)
	}
	state := w.tf.State()
	for name, want := range map[string]any{
		"id": w.job.String(), "uid": w.live().GetUid(), "project": w.job.Project, "location": w.job.Location,
		"cpu": "4", "memory": "16Gi", "task_timeout": "12h", "max_retries": 3, "task_count": 1, "gpu_type": "nvidia-l4",
		"service_account_email": w.email(), "service_account_unique_id": account.GetUniqueId(), "service_account": nil, "parallelism": nil, "launch_stage": nil,
		"terraform_labels": "map[team:ml]", "effective_labels": "map[team:ml]",
		"exposure": "map[attempts:4 gpu_hours:48 task_hours:48]",
		"grants":   "[map[member:serviceAccount:" + w.email() + " resource:projects/_/buckets/" + w.bucket + " role:roles/storage.objectUser]]",
	} {
		equal(t, name, state.Attribute(address, name), want)
	}

	since = acctest.Since(w.e)
	w.tf.Plan().IsEmpty()
	equal(t, "reads of a plan", since.Methods(), []string{acctest.GetJob, acctest.GetServiceAccount, acctest.GetBucketPolicy})

	since = acctest.Since(w.e)
	w.apply(w.config(`
		command      = ["python"]
		image        = "train:2"
		args         = ["train.py", "--epochs=3"]
		env          = { LR = "0.1", EMPTY = "" }
		task_timeout = "12h"
		labels       = { team = "ml" }
	`)).Succeeds()
	equal(t, "writes of an update", since.Writes(), []string{acctest.UpdateJob})
	equal(t, "image", w.container().GetImage(), "train:2")
	equal(t, "environment", len(w.container().GetEnv()), 2)

	since = acctest.Since(w.e)
	w.tf.Destroy().Succeeds().SaysNot("Executions are running")
	equal(t, "writes of a delete", since.Writes(), []string{acctest.DeleteJob, acctest.SetBucketPolicy, acctest.DeleteServiceAccount})
	w.empty()
}

// What a create sends for max_retries = 0: zero, not nothing.
func TestAccRetriesZero(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	since := acctest.Since(w.e)
	w.apply(w.bare(`max_retries = 0`)).Succeeds()
	sent := since.Find(acctest.CreateJob)[0].Request.(*runpb.CreateJobRequest)
	if r, ok := sent.GetJob().GetTemplate().GetTemplate().GetRetries().(*runpb.TaskTemplate_MaxRetries); !ok || r.MaxRetries != 0 {
		t.Errorf("sent %v", sent.GetJob().GetTemplate().GetTemplate().GetRetries())
	}
	w.tf.Plan().IsEmpty()
}

// cases 7, 10, 13, 19, 20: a plan is empty after executions, after the server
// spelled values its own way, and after other clients wrote beside us.
func TestAccPlanStaysEmpty(t *testing.T) { // row 10
	t.Parallel()
	for name, behaviour := range map[string]run.Behaviour{
		"as sent":    {LaunchStageAsSent: true, SystemLabels: true},
		"millicores": {RespellQuantities: run.QuantitiesMillicores, GPUTimeoutStage: run.StageGA, LatestCreatedExecutionEpoch: true},
		"canonical":  {RespellQuantities: run.QuantitiesCanonical, MetadataRaisesGeneration: true, RunChangesEtag: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inProcess(t, func(o *emulator.Options) { o.Behaviour = behaviour })
			w.apply(w.config(`
				cpu          = "8"
				memory       = "34359738368"
				task_timeout = "3900.5s"
				launch_stage = "BETA"
				task_count   = 2
				env          = { B = "1", A = "2" }
				labels       = { team = "ml" }
			`)).Succeeds()
			w.tf.Plan().IsEmpty()

			execution := w.run()
			w.tf.Plan().IsEmpty()
			w.attempt()
			w.finish(execution)
			w.tf.Plan().IsEmpty()

			w.setJob(func(j *runpb.Job) {
				j.Client, j.ClientVersion = "gcloud", "500.0.0"
				j.LaunchStage = api.LaunchStage_GA
				j.Labels["commit-sha"] = "abc"
				j.Annotations = map[string]string{"note": "x"}
				j.Template.Labels["commit-sha"] = "abc"
				j.Template.Annotations = map[string]string{"note": "x"}
				j.Template.Client = "cloud-build"
				env := j.Template.Template.Containers[0].Env
				env[0], env[1] = env[1], env[0]
				j.Template.Template.GpuZonalRedundancyDisabled = nil // cases 23 and 58: a server that does not know it
			})
			since := acctest.Since(w.e)
			w.tf.Plan().IsEmpty()
			w.tf.Apply().Succeeds()
			equal(t, "writes of an apply without changes", since.Writes(), []string{})
		})
	}
}

// cases 14, 20, 22, 40: an update keeps what other clients wrote, puts back what
// is managed, in place, and sends no execution token again.
func TestAccUpdateBesideOthers(t *testing.T) { // row 11
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("labels = { team = \"ml\", old = \"1\" }\nenv = { A = \"1\" }\nparallelism = 1")).Succeeds()
	w.setJob(func(j *runpb.Job) {
		j.LaunchStage = api.LaunchStage_BETA
		j.Client = "gcloud"
		j.Labels["other"] = "client"
		j.Annotations = map[string]string{"note": "x"}
		j.Template.Labels["commit-sha"] = "abc"
		j.Template.Template.Containers[0].Image = "edited:1"
		j.Template.Template.Containers[0].WorkingDir = "/app"
		j.Template.Template.Containers[0].Env = append(j.Template.Template.Containers[0].Env, &runpb.EnvVar{Name: "B"})
		j.Template.Template.Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: 9}
		j.CreateExecution = &runpb.Job_StartExecutionToken{StartExecutionToken: "again"}
	})
	w.tf.Write(w.config("labels = { team = \"research\" }\nenv = { A = \"1\" }"))
	equal(t, "what the plan does", w.tf.Plan().Actions(address), "update")

	since := acctest.Since(w.e)
	w.tf.Apply().Succeeds()
	equal(t, "writes", since.Writes(), []string{acctest.UpdateJob})
	sent := since.Find(acctest.UpdateJob)[0].Request.(*runpb.UpdateJobRequest).GetJob()
	container := sent.GetTemplate().GetTemplate().GetContainers()[0]
	if sent.GetEtag() == "" || sent.GetStartExecutionToken() != "" || sent.GetCreateExecution() != nil {
		t.Errorf("etag %q, token %v", sent.GetEtag(), sent.GetCreateExecution())
	}
	equal(t, "labels", sent.GetLabels(), "map[other:client team:research]")
	equal(t, "labels of executions", sent.GetTemplate().GetLabels(), "map[commit-sha:abc team:research]")
	equal(t, "annotations", sent.GetAnnotations(), "map[note:x]")
	equal(t, "client", sent.GetClient(), "gcloud")
	equal(t, "stage", sent.GetLaunchStage(), api.LaunchStage_BETA)
	equal(t, "image", container.GetImage(), "train:1")
	equal(t, "working directory is unset again", container.GetWorkingDir(), "")
	equal(t, "variables", len(container.GetEnv()), 1)
	equal(t, "retries", sent.GetTemplate().GetTemplate().GetMaxRetries(), 3)
	equal(t, "parallelism is unset again", sent.GetTemplate().GetParallelism(), 0)
	equal(t, "effective labels", w.tf.State().Attribute(address, "effective_labels"), "map[other:client team:research]")
	w.tf.Plan().IsEmpty()
}

// case 130: what only this resource knows is changed without a call.
func TestAccClientSideChange(t *testing.T) { // row 12
	t.Parallel()
	w := newWorld(t)
	w.apply(w.bare(`checkpoint = { bucket = "` + w.bucket + `" }`)).Succeeds()
	w.tf.Write(w.bare(`
		cancel_running_executions = true
		timeouts                  = { create = "5m" }
		checkpoint                = { bucket = "` + w.bucket + `", interval = "10m", write_time = "1m", restore_time = "1m", work_time = "1h" }
	`))
	since := acctest.Since(w.e)
	w.tf.Apply("-refresh=false").Succeeds().Says("1 changed")
	equal(t, "calls", since.Methods(), []string{})
	equal(t, "state", w.tf.State().Attribute(address, "cancel_running_executions"), true)
	w.tf.Plan().IsEmpty()
}

// case 121: a nested object comes, changes and goes.
func TestAccCheckpointComesAndGoes(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.apply(w.bare("")).Succeeds()
	equal(t, "grants", w.tf.State().Attribute(address, "grants"), "[]")
	w.apply(w.config("")).Succeeds()
	if !w.hasGrant(w.grant(w.email())) {
		t.Error("the role was not granted")
	}
	w.tf.Plan().IsEmpty()
	w.apply(w.bare(`checkpoint = { bucket = "` + w.bucket + `", prefix = "runs/1", mount_path = "/ckpt", mount_options = ["implicit-dirs"], role = "roles/storage.objectAdmin" }`)).Succeeds()
	equal(t, "options", w.live().GetTemplate().GetTemplate().GetVolumes()[0].GetGcs().GetMountOptions(), "[implicit-dirs only-dir=runs/1]")
	if admin := w.grant(w.email()); w.hasGrant(admin) {
		t.Error("the old role was not revoked")
	} else if admin.Role = "roles/storage.objectAdmin"; !w.hasGrant(admin) {
		t.Error("the new role was not granted")
	}
	w.tf.Plan().IsEmpty()
	w.apply(w.bare("")).Succeeds()
	equal(t, "volumes", len(w.live().GetTemplate().GetTemplate().GetVolumes()), 0)
	equal(t, "grants", w.tf.State().Attribute(address, "grants"), "[]")
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// GPU to CPU and back, with the sizes of the table.
func TestAccGPUType(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.apply(w.bare("gpu_type = \"none\"")).Succeeds()
	task := w.live().GetTemplate().GetTemplate()
	equal(t, "limits", task.GetContainers()[0].GetResources().GetLimits(), "map[cpu:1000m memory:512Mi]")
	if task.GetNodeSelector() != nil || task.GpuZonalRedundancyDisabled != nil {
		t.Errorf("a job without GPU has %v, %v", task.GetNodeSelector(), task.GpuZonalRedundancyDisabled)
	}
	w.tf.Plan().IsEmpty()
	w.apply(w.bare("")).Succeeds()
	equal(t, "limits", w.container().GetResources().GetLimits(), "map[cpu:4000m memory:16Gi nvidia.com/gpu:1]")
	w.apply(w.bare("cpu = \"8\"\nmemory = \"32Gi\"")).Succeeds()
	equal(t, "limits", w.container().GetResources().GetLimits(), "map[cpu:8000m memory:32Gi nvidia.com/gpu:1]")
	w.apply(w.bare("gpu_type = \"none\"")).Succeeds()
	equal(t, "limits", w.container().GetResources().GetLimits(), "map[cpu:1000m memory:512Mi]")
	equal(t, "exposure", w.tf.State().Attribute(address, "exposure"), "map[attempts:4 gpu_hours:0 task_hours:4]")
	w.tf.Plan().IsEmpty()
}

// Changing where the job is makes another one.
func TestAccReplace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(w.config("")).Succeeds()
	before := w.live().GetUid()
	w.tf.Write(w.config("location = \"us-east4\""))
	plan := w.tf.Plan()
	equal(t, "what the plan does", plan.Actions(address), "delete,create")
	w.tf.Apply().Succeeds()
	if w.e.Run().Job(w.job.String()) != nil {
		t.Error("the old job is left")
	}
	w.job.Location = "us-east4"
	if w.live().GetUid() == before {
		t.Error("the job was not made anew")
	}
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.empty()
}

// Default labels go on the job, and another spelling of a place is the same one.
func TestAccDefaultLabels(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	hcl := func(labels, more string) string {
		return "provider \"resilientjob\" {\nproject = \"" + w.job.Project + "\"\nregion = \"US-CENTRAL1\"\ndefault_labels = " + labels + "\n}\n" +
			"resource \"resilientjob_gpu_job\" \"train\" {\nname = \"" + w.job.Name + "\"\nimage = \"train:1\"\n" + more + "}\n"
	}
	w.apply(hcl(`{ env = "test", team = "all" }`, "labels = { team = \"ml\" }\n")).Succeeds()
	equal(t, "labels", w.live().GetLabels(), "map[env:test team:ml]")
	w.tf.Plan().IsEmpty() // case 98
	w.apply(hcl(`{ env = "prod" }`, "labels = {}\nlocation = \"us-central1\"\n")).Succeeds()
	equal(t, "labels", w.live().GetLabels(), "map[env:prod]")
	w.tf.Plan().IsEmpty()
	w.apply(hcl(`{}`, "")).Succeeds()
	equal(t, "labels", w.live().GetLabels(), "map[]")
	w.tf.Plan().IsEmpty()
}

// A conflict with another writer is read again, and nothing of theirs is lost.
func TestAccUpdateConflict(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Times: 2, Do: func(c faults.Call) {
		w.e.Run().SetJob(w.job.String(), func(j *runpb.Job) {
			if j.Labels == nil {
				j.Labels = map[string]string{}
			}
			j.Labels["writer"] = "two"
		})
	}})
	since := acctest.Since(w.e)
	w.apply(w.config("max_retries = 5")).Succeeds()
	equal(t, "attempts", since.Count(acctest.UpdateJob), 3)
	equal(t, "labels", w.live().GetLabels(), "map[writer:two]")
	equal(t, "retries", w.live().GetTemplate().GetTemplate().GetMaxRetries(), 5)
	w.tf.Plan().IsEmpty()

	// A third time is a quarrel: the error says so, and the state stays true.
	w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Times: 3, Do: func(c faults.Call) {
		w.e.Run().SetJob(w.job.String(), func(j *runpb.Job) { j.Labels["writer"] += "x" })
	}})
	w.apply(w.config("max_retries = 6")).Fails("Cannot update the Cloud Run job", "Conflict for resource")
	equal(t, "retries in the state", w.tf.State().Attribute(address, "max_retries"), 5)
	w.tf.Apply().Succeeds()
	equal(t, "retries", w.live().GetTemplate().GetTemplate().GetMaxRetries(), 6)
}
