terraform {
  required_providers {
    resilientjob = {
      source = "resilientjob/resilientjob"
    }
  }
}

variable "project" {
  type    = string
  default = "my-project"
}

variable "region" {
  type    = string
  default = "us-central1"
}

variable "image" {
  type    = string
  default = "us-central1-docker.pkg.dev/my-project/images/train:v1"
}

provider "resilientjob" {
  project = var.project
  region  = var.region
}

# Where the program saves its steps.
resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name          = "${var.project}-quickstart" # bucket names are global
  force_destroy = true                        # a trial: the checkpoints go with the bucket
}

# The program, with an account of its own that may write to the bucket, and nothing else.
resource "resilientjob_gpu_job" "train" {
  name  = "quickstart"
  image = var.image

  gpu_type     = "nvidia-l4"
  task_timeout = "30m" # for each attempt
  max_retries  = 3     # at most four attempts

  checkpoint = {
    bucket = resilientjob_checkpoint_bucket.checkpoints.name
  }

  env = {
    CHECKPOINT_DIR         = "/checkpoints"
    TRAIN_STEPS            = "60"
    TRAIN_SECONDS_PER_STEP = "0.5" # half a minute of work in all
    TRAIN_SAVE_EVERY       = "3"   # seconds
  }
}

# One run. The apply waits until it has ended.
resource "resilientjob_execution" "train" {
  job      = resilientjob_gpu_job.train.id
  wait_for = "completed"
}

# What became of it.
data "resilientjob_execution" "train" {
  job  = resilientjob_gpu_job.train.id
  name = resilientjob_execution.train.name
}

data "resilientjob_interruptions" "train" {
  job        = resilientjob_gpu_job.train.id
  execution  = resilientjob_execution.train.name
  start_time = resilientjob_execution.train.create_time
}

data "resilientjob_checkpoints" "train" {
  bucket     = resilientjob_checkpoint_bucket.checkpoints.name
  pattern    = "task-{task}/step-*.json"
  depends_on = [resilientjob_execution.train]
}

output "at_most" {
  value = resilientjob_gpu_job.train.exposure
}

output "run" {
  value = {
    state         = data.resilientjob_execution.train.state
    attempts_used = one(data.resilientjob_execution.train.tasks[*].attempts_used)
    attempts_left = one(data.resilientjob_execution.train.tasks[*].attempts_left)
    logs          = data.resilientjob_execution.train.log_uri
  }
}

output "interruptions" {
  value = [for i in data.resilientjob_interruptions.train.interruptions : "${i.time}: attempt ${i.task_attempt}: ${i.meaning}"]
}

output "newest_checkpoint" {
  value = data.resilientjob_checkpoints.train.newest_name
}
