resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name = "my-project-checkpoints"
}

resource "resilientjob_gpu_job" "train" {
  name         = "train"
  image        = "us-central1-docker.pkg.dev/my-project/images/train:v1"
  task_timeout = "12h"
  max_retries  = 5

  checkpoint = {
    bucket = resilientjob_checkpoint_bucket.checkpoints.name
  }
}
