# A training that saves to a bucket and goes on from there after an interruption.
resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name     = "my-project-checkpoints"
  location = "us-central1"
}

resource "resilientjob_gpu_job" "train" {
  name     = "train"
  location = "us-central1"
  image    = "us-central1-docker.pkg.dev/my-project/images/train:v1"
  args     = ["--epochs", "40"]

  gpu_type = "nvidia-l4" # 4 vCPU and 16Gi unless cpu and memory say otherwise

  # One attempt may take this long; each of the retries may take it again.
  task_timeout = "12h"
  max_retries  = 5

  checkpoint = {
    bucket     = resilientjob_checkpoint_bucket.checkpoints.name
    mount_path = "/checkpoints"

    # For the plan's checks: how often the program saves, how long that takes.
    interval   = "30m"
    write_time = "60s"
    work_time  = "24h"
  }

  env = {
    CHECKPOINT_DIR = "/checkpoints"
  }
}
