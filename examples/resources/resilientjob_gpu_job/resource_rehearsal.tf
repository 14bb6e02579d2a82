# The same program without a GPU: cheap, and without quota for GPUs.
resource "resilientjob_gpu_job" "rehearsal" {
  name         = "rehearsal"
  location     = "us-central1"
  image        = "us-central1-docker.pkg.dev/my-project/images/train:v1"
  args         = ["--epochs", "1"]
  gpu_type     = "none" # 1 vCPU and 512Mi unless cpu and memory say otherwise
  task_timeout = "10m"
  max_retries  = 1

  checkpoint = {
    bucket = resilientjob_checkpoint_bucket.checkpoints.name
    prefix = "rehearsal"
  }

  cancel_running_executions = true # a destroy need not wait for anybody
}
