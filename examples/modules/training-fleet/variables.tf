variable "project" {
  description = "Project of the jobs and of their bucket."
  type        = string
  nullable    = false
}

variable "region" {
  description = "Region of the jobs and of their bucket."
  type        = string
  nullable    = false
}

variable "team" {
  description = "Team that owns the jobs."
  type        = string
  nullable    = false
}

variable "environment" {
  description = "Environment: `dev`, `stage` or `prod`."
  type        = string
  nullable    = false
}

variable "cost_center" {
  description = "Who pays."
  type        = string
  nullable    = false
}

variable "jobs" {
  description = "The jobs, by workload. Each saves to a folder of its own in the one bucket."
  type = map(object({
    image        = string
    args         = optional(list(string))
    env          = optional(map(string), {})
    work_time    = string
    task_timeout = optional(string, "12h")
  }))
  nullable = false
}

variable "gpu_hour_budget" {
  description = "The most GPU hours that one run of every job may use together."
  type        = number
  nullable    = false
}

variable "force_destroy" {
  description = "Whether a destroy deletes the checkpoints with the bucket. It counts once it has been applied."
  type        = bool
  default     = false
  nullable    = false
}

variable "watch" {
  description = "Whether each plan looks at the newest run of each job."
  type        = bool
  default     = true
  nullable    = false
}
