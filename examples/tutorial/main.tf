# Google's tutorial on resilient long-running GPU jobs as one configuration. README.md puts
# each of its commands beside the lines that replace it.

terraform {
  required_providers {
    resilientjob = {
      source = "resilientjob/resilientjob"
    }
  }
}

variable "project" {
  description = "PROJECT_ID of the tutorial."
  type        = string
}

variable "region" {
  description = "REGION of the tutorial."
  type        = string
  default     = "us-central1"
}

variable "image" {
  description = "The program, built and pushed: see README.md."
  type        = string
}

provider "resilientjob" {
  project = var.project
  region  = var.region
}

# gcloud storage buckets create
resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name          = "gpu-checkpoints-${var.project}"
  force_destroy = true # the clean-up at the end takes the checkpoints along
}

# gcloud iam service-accounts create, gcloud storage buckets add-iam-policy-binding and
# gcloud beta run jobs deploy
resource "resilientjob_gpu_job" "resilient" {
  name               = "gpu-resilient-job"
  image              = var.image
  service_account_id = "gpu-job-sa"

  gpu_type     = "nvidia-l4"
  task_timeout = "12h"
  max_retries  = 3

  checkpoint = {
    bucket     = resilientjob_checkpoint_bucket.checkpoints.name
    mount_path = "/checkpoints"
  }

  env = {
    CHECKPOINT_DIR = "/checkpoints"
    TRAIN_STEPS    = "100"
  }

  cancel_running_executions = true # as gcloud run jobs delete
}

# gcloud run jobs execute
resource "resilientjob_execution" "first" {
  job               = resilientjob_gpu_job.resilient.id
  cancel_on_destroy = true
}

# The look into the logs for preemptions
data "resilientjob_interruptions" "first" {
  job        = resilientjob_gpu_job.resilient.id
  execution  = resilientjob_execution.first.name
  start_time = resilientjob_execution.first.create_time
}

output "execution" {
  value = resilientjob_execution.first.name
}

output "logs" {
  value = resilientjob_execution.first.log_uri
}

output "interruptions" {
  value = [for i in data.resilientjob_interruptions.first.interruptions : "${i.time}: ${i.meaning}"]
}

output "at_most" {
  description = "What the run can use at the most: every attempt, each for its full timeout."
  value       = resilientjob_gpu_job.resilient.exposure
}
