resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name     = "ml-platform-segmenter"
  location = "us-central1"
}

resource "resilientjob_gpu_job" "train" {
  name         = "segmenter"
  location     = "us-central1"
  image        = "us-central1-docker.pkg.dev/ml-platform/images/segmenter:v3"
  task_timeout = "12h"
  max_retries  = 4

  checkpoint = {
    bucket = resilientjob_checkpoint_bucket.checkpoints.name
  }
}
