variable "gpu_hours" {
  description = "The most GPU hours that one execution may use."
  type        = number
  default     = 300
}

locals {
  sweep = {
    gpu_type     = "nvidia-l4"
    task_count   = 4
    task_timeout = "12h"
    max_retries  = 5
  }
}

output "exposure" {
  value = provider::resilientjob::exposure(local.sweep) # { attempts = 24, gpu_hours = 288, task_hours = 288 }
}

resource "resilientjob_checkpoint_bucket" "sweep" {
  name     = "my-project-sweep"
  location = "us-central1"
}

# A plan that could use more than the budget is refused.
resource "resilientjob_gpu_job" "sweep" {
  name     = "sweep"
  location = "us-central1"
  image    = "us-central1-docker.pkg.dev/my-project/images/sweep:v1"

  gpu_type     = local.sweep.gpu_type
  task_count   = local.sweep.task_count
  task_timeout = local.sweep.task_timeout
  max_retries  = local.sweep.max_retries

  checkpoint = {
    bucket   = resilientjob_checkpoint_bucket.sweep.name
    per_task = true # the program saves below task-$CLOUD_RUN_TASK_INDEX/
  }

  lifecycle {
    precondition {
      condition     = provider::resilientjob::exposure(local.sweep).gpu_hours <= var.gpu_hours
      error_message = "One execution of the sweep could use ${provider::resilientjob::exposure(local.sweep).gpu_hours} GPU hours; the budget is ${var.gpu_hours}."
    }
  }
}
