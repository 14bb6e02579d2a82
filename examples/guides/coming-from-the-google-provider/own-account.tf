resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name     = "my-project-checkpoints"
  location = "us-central1"

  abort_incomplete_upload_days = 0
}

resource "resilientjob_gpu_job" "train" {
  name     = "train"
  location = "us-central1"

  image    = "us-central1-docker.pkg.dev/my-project/images/train:v1"
  args     = ["--epochs", "40"]
  gpu_type = "nvidia-l4"
  cpu      = "4"
  memory   = "16Gi"

  task_timeout = "12h"
  max_retries  = 5

  checkpoint = {
    bucket     = resilientjob_checkpoint_bucket.checkpoints.name
    mount_path = "/checkpoints"
  }

  env        = { CHECKPOINT_DIR = "/checkpoints" }
  secret_env = { WANDB_API_KEY = { secret = "wandb-key" } }
}
