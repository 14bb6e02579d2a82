# Where, and whose

variable "project" {
  description = "Project of the job and of its bucket."
  type        = string
  nullable    = false
}

variable "region" {
  description = "Region of the job and of its bucket."
  type        = string
  nullable    = false
}

variable "team" {
  description = "Team that owns the job: part of the names, and the label `team`. At most 15 lower-case letters, digits and hyphens."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$", var.team))
    error_message = "team is part of names: write 1 to 15 lower-case letters, digits and hyphens, a letter first and no hyphen last."
  }
}

variable "environment" {
  description = "Environment: `dev`, `stage` or `prod`. Part of the names, and the label `environment`."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["dev", "stage", "prod"], var.environment)
    error_message = "environment is \"dev\", \"stage\" or \"prod\"."
  }
}

variable "workload" {
  description = "What the job does: the last part of the names, and the label `workload`. At most 27 lower-case letters, digits and hyphens."
  type        = string
  nullable    = false

  # 15 + 5 + 27 and two hyphens are 49, up to which a job's name is known to be safe.
  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,25}[a-z0-9])?$", var.workload))
    error_message = "workload is part of names: write 1 to 27 lower-case letters, digits and hyphens, no hyphen first or last."
  }
}

variable "names" {
  description = "Names of a job and a bucket that exist already, instead of those by the convention: for what is moved or imported into the module."
  type = object({
    job    = optional(string)
    bucket = optional(string)
  })
  default  = {}
  nullable = false
}

variable "cost_center" {
  description = "Who pays: the label `cost_center`, by which the bill can be split."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9_-]{1,63}$", var.cost_center))
    error_message = "cost_center is the value of a label: write 1 to 63 lower-case letters, digits, hyphens and underscores."
  }
}

variable "labels" {
  description = "Further labels. Those that the module sets itself (`team`, `environment`, `workload`, `cost_center`) cannot be changed here."
  type        = map(string)
  default     = {}
  nullable    = false
}

# What runs

variable "image" {
  description = "Container image, with a tag other than `latest`, or with a digest."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("(@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9._-]*)$", var.image)) && !endswith(var.image, ":latest")
    error_message = "Cloud Run looks a tag up each time the job runs: write a digest, or a tag that does not move, and not \"latest\"."
  }
}

variable "args" {
  description = "Arguments of the program. Default: the image's."
  type        = list(string)
  default     = null
}

variable "env" {
  description = "Environment variables. `CHECKPOINT_DIR` and `CHECKPOINT_INTERVAL` (seconds) are set by the module unless they are here."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "secrets" {
  description = "Environment variables from Secret Manager: names of secrets, by the variable's name. The job's account may read them, and no others."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "gpu_type" {
  description = "GPU of each task, or `none`."
  type        = string
  default     = "nvidia-l4"
  nullable    = false

  validation {
    condition     = contains(["nvidia-l4", "nvidia-rtx-pro-6000", "none"], var.gpu_type)
    error_message = "gpu_type is \"nvidia-l4\", \"nvidia-rtx-pro-6000\" or \"none\"."
  }
}

variable "task_count" {
  description = "Number of tasks. Each must save below a path of its own, with `CLOUD_RUN_TASK_INDEX` in it."
  type        = number
  default     = 1
  nullable    = false
}

variable "task_timeout" {
  description = "How long one attempt of a task may run."
  type        = string
  default     = "12h"
  nullable    = false
}

variable "max_retries" {
  description = "How often a task is tried again. Default: as many as `checkpoint.work_time` needs, and at least one."
  type        = number
  default     = null
}

# What survives an interruption

variable "checkpoint" {
  description = <<-EOT
    How long the work takes, and how the program saves. Durations, such as "90m".
    - `work_time`: how long a task works in all. Retries follow from it.
    - `write_time`: how long it takes to write a checkpoint.
    - `restore_time`: how long an attempt takes until it has read one.
    - `interval`: work between two checkpoints. Default: the best one for `write_time`.
    - `mount_path`: where the program sees the bucket.
    - `bucket`: a bucket that exists, to be used instead of one that the module makes.
    - `prefix`: folder of the bucket. Default: the whole bucket, or the job's name in a bucket that exists.
  EOT
  type = object({
    work_time    = string
    write_time   = optional(string, "60s")
    restore_time = optional(string, "2m")
    interval     = optional(string)
    mount_path   = optional(string, "/checkpoints")
    bucket       = optional(string)
    prefix       = optional(string)
  })
  nullable = false
}

variable "force_destroy" {
  description = "Whether a destroy deletes the checkpoints with the bucket. It counts once it has been applied."
  type        = bool
  default     = false
  nullable    = false
}

# Guard rails

variable "gpu_hour_budget" {
  description = "The most GPU hours that one run may use, every retry counted. A plan that could use more is refused."
  type        = number
  nullable    = false

  validation {
    condition     = var.gpu_hour_budget >= 0
    error_message = "gpu_hour_budget is a number of hours."
  }
}

variable "kms_key" {
  description = "Cloud KMS key of the region, for checkpoints and for the deployed image: `projects/P/locations/REGION/keyRings/R/cryptoKeys/K`. Default: Google's own keys."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "kms_key is projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY, without a version."
  }
}

variable "network" {
  description = "VPC network that tasks reach directly. `egress` is `PRIVATE_RANGES_ONLY` or `ALL_TRAFFIC`. Default: no network, the internet only."
  type = object({
    network    = optional(string)
    subnetwork = string
    tags       = optional(set(string))
    egress     = optional(string, "ALL_TRAFFIC")
  })
  default = null
}

# Runs

variable "run" {
  description = "Runs the job once for each set of `triggers`. Default: the job is made and not run."
  type = object({
    triggers = optional(map(string), {})
    wait_for = optional(string, "started")
  })
  default = null
}

variable "watch" {
  description = "Whether each plan looks at the newest run, and warns when it failed or when it saves no more."
  type        = bool
  default     = true
  nullable    = false
}
