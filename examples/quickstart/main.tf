# The main job: a bucket for checkpoints, a GPU job that may write there, and one run of it.
# `make quickstart` applies it to the local emulator. The same file serves the cloud:
# build examples/apps/checkpointed-training, push it, and set the three variables.

terraform {
  required_providers {
    resilientjob = {
      source = "resilientjob/resilientjob"
    }
  }
}

variable "project" {
  type    = string
  default = "quickstart"
}

variable "region" {
  type    = string
  default = "us-central1"
}

variable "image" {
  type    = string
  default = "us-central1-docker.pkg.dev/quickstart/images/checkpointed-training:v1"
}

provider "resilientjob" {
  project = var.project
  region  = var.region
}

resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name          = "${var.project}-checkpoints"
  force_destroy = true # a rehearsal: the checkpoints go with the bucket
}

resource "resilientjob_gpu_job" "train" {
  name  = "train"
  image = var.image

  task_timeout = "1h"
  max_retries  = 3

  checkpoint = {
    bucket = resilientjob_checkpoint_bucket.checkpoints.name
  }

  env = {
    TRAIN_STEPS            = "40"
    TRAIN_SECONDS_PER_STEP = "0.25"
    TRAIN_SAVE_EVERY       = "2"
    CHECKPOINT_DIR         = "/checkpoints"
  }
}

resource "resilientjob_execution" "train" {
  job      = resilientjob_gpu_job.train.id
  wait_for = "completed"
}

data "resilientjob_execution" "train" {
  job  = resilientjob_gpu_job.train.id
  name = resilientjob_execution.train.name
}

# When it was interrupted, from its logs. In the cloud they may be a minute late.
data "resilientjob_interruptions" "train" {
  job        = resilientjob_gpu_job.train.id
  execution  = resilientjob_execution.train.name
  start_time = resilientjob_execution.train.create_time
}

# What it saved, from the bucket.
data "resilientjob_checkpoints" "train" {
  bucket     = resilientjob_checkpoint_bucket.checkpoints.name
  pattern    = "*/task-{task}/step-*.ckpt"
  depends_on = [resilientjob_execution.train]
}

output "execution" {
  value = {
    name    = data.resilientjob_execution.train.name
    state   = data.resilientjob_execution.train.state
    message = data.resilientjob_execution.train.message
    seconds = data.resilientjob_execution.train.duration_seconds
    tasks = [for task in data.resilientjob_execution.train.tasks : {
      index         = task.index
      attempts_used = task.attempts_used
      attempts_left = task.attempts_left
      meaning       = task.meaning
    }]
  }
}

output "interruptions" {
  value = [for i in data.resilientjob_interruptions.train.interruptions : {
    time    = i.time
    task    = i.task_index
    attempt = i.task_attempt
    meaning = i.meaning
  }]
}

output "newest_checkpoints" {
  value = [for c in data.resilientjob_checkpoints.train.checkpoints : {
    task = c.task_index
    name = c.name
    time = c.time
  }]
}

output "runs_as" {
  value = resilientjob_gpu_job.train.service_account_email
}

output "checkpoints" {
  value = resilientjob_checkpoint_bucket.checkpoints.url
}

output "at_most" {
  description = "What one execution can use at the most."
  value       = resilientjob_gpu_job.train.exposure
}
