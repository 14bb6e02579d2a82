terraform {
  required_providers {
    resilientjob = {
      source = "resilientjob/resilientjob"
    }
  }
}

provider "resilientjob" {
  project = "my-project"
  region  = "us-central1"
}

resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name = "my-project-checkpoints" # bucket names are global
}

resource "resilientjob_gpu_job" "train" {
  name     = "train"
  image    = "us-central1-docker.pkg.dev/my-project/images/train:v1"
  gpu_type = "nvidia-l4"

  task_timeout = "12h" # for each attempt
  max_retries  = 5     # at most six attempts

  checkpoint = {
    bucket = resilientjob_checkpoint_bucket.checkpoints.name # at /checkpoints in the container

    # Optional; with them the plan checks whether timeout and retries suffice.
    interval   = "30m"
    write_time = "60s"
    work_time  = "24h"
  }
}

resource "resilientjob_execution" "train" {
  job      = resilientjob_gpu_job.train.id
  triggers = { dataset = "2026-11-01" } # runs again when this changes, and only then
}

data "resilientjob_execution" "train" {
  job  = resilientjob_gpu_job.train.id
  name = resilientjob_execution.train.name
}

output "state" { # as of the last apply or refresh
  value = data.resilientjob_execution.train.state
}
