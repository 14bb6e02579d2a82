# The account stays as it is.
resource "google_service_account" "train" {
  account_id = "train-runner"
}

resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name     = "my-project-checkpoints"
  location = "us-central1"

  # What the bucket has now. Without this line the next plan adds a rule.
  abort_incomplete_upload_days = 0
}

resource "resilientjob_gpu_job" "train" {
  name            = "train"
  location        = "us-central1"
  service_account = google_service_account.train.email

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

moved {
  from = google_storage_bucket.checkpoints
  to   = resilientjob_checkpoint_bucket.checkpoints
}

moved {
  from = google_cloud_run_v2_job.train
  to   = resilientjob_gpu_job.train
}

# The roles stay, and Terraform forgets them.
removed {
  from = google_storage_bucket_iam_member.train
  lifecycle {
    destroy = false
  }
}

removed {
  from = google_secret_manager_secret_iam_member.train
  lifecycle {
    destroy = false
  }
}
