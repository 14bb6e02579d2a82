variable "max_gpu_hours" {
  description = "The most that one run may use."
  type        = number
  default     = 100
}

# Stops the plan before anything runs that could use more.
resource "resilientjob_execution" "train" {
  job      = resilientjob_gpu_job.train.id
  triggers = { dataset = "2026-11-01" }

  lifecycle {
    precondition {
      condition     = resilientjob_gpu_job.train.exposure.gpu_hours <= var.max_gpu_hours
      error_message = "One run of ${resilientjob_gpu_job.train.name} may use ${resilientjob_gpu_job.train.exposure.gpu_hours} GPU-hours, and ${var.max_gpu_hours} are allowed. Lower task_timeout, max_retries or task_count, or raise max_gpu_hours."
    }
  }
}
