// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// deploy makes a job as another client does.
func (w *world) deploy(t *testing.T, job *runpb.Job) {
	t.Helper()
	op, err := w.client.CreateJob(t.Context(), w.job.Parent(), w.job.Name, job)
	if err == nil {
		_, err = op.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The job of Google's tutorial on resilient GPU jobs, as its "gcloud beta run
// jobs deploy" leaves it: 168 hours, which the plan takes, but warns of in a new
// job only; a volume of its own name; an account of its own; what gcloud adds.
func TestAccImportTutorialJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	account := w.addAccount("gpu-job-sa", "")
	disabled := true
	w.deploy(t, &runpb.Job{
		Client: "gcloud", ClientVersion: "545.0.0", LaunchStage: api.LaunchStage_BETA,
		Template: &runpb.ExecutionTemplate{Client: "gcloud", ClientVersion: "545.0.0", TaskCount: 1, Template: &runpb.TaskTemplate{
			Containers: []*runpb.Container{{
				Image:        "us-central1-docker.pkg.dev/" + w.job.Project + "/cloud-run-source-deploy/gpu-resilient-job@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
				Resources:    &runpb.ResourceRequirements{Limits: map[string]string{"nvidia.com/gpu": "1", "cpu": "4000m", "memory": "16Gi"}},
				VolumeMounts: []*runpb.VolumeMount{{Name: "checkpoint-volume", MountPath: "/checkpoints"}},
			}},
			Volumes:        []*runpb.Volume{{Name: "checkpoint-volume", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: w.bucket}}}},
			Retries:        &runpb.TaskTemplate_MaxRetries{MaxRetries: 3},
			Timeout:        durationpb.New(168 * time.Hour),
			ServiceAccount: account.GetEmail(), NodeSelector: &runpb.NodeSelector{Accelerator: "nvidia-l4"}, GpuZonalRedundancyDisabled: &disabled,
		}},
	})
	w.tf.Write(acctest.ProviderConfig(w.e) + `
resource "resilientjob_gpu_job" "train" {
  name            = "` + w.job.Name + `"
  image           = "us-central1-docker.pkg.dev/` + w.job.Project + `/cloud-run-source-deploy/gpu-resilient-job@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  gpu_type        = "nvidia-l4"
  task_timeout    = "168h"
  max_retries     = 3
  service_account = "` + account.GetEmail() + `"
  checkpoint      = { bucket = "` + w.bucket + `", mount_path = "/checkpoints" }
}
`)
	since := acctest.Since(w.e)
	w.tf.Import(address, w.job.Name).Succeeds()
	w.tf.Plan().IsEmpty()
	equal(t, "writes of an import and a plan", since.Writes(), []string{})
}
