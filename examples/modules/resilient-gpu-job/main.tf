locals {
  name = coalesce(var.names.job, "${var.team}-${var.environment}-${var.workload}")

  # Names of buckets are unique in the world, so that the project is part of them. What is
  # longer than the 63 characters of a bucket's name keeps its beginning, and gets a hash.
  long_bucket_name = replace("${var.project}-${local.name}", "/[^a-z0-9-]/", "-")
  bucket_name = coalesce(
    var.names.bucket,
    length(local.long_bucket_name) <= 63 ? local.long_bucket_name : "${substr(local.long_bucket_name, 0, 54)}-${substr(sha1(local.long_bucket_name), 0, 8)}",
  )

  own_bucket = var.checkpoint.bucket == null
  bucket     = local.own_bucket ? one(resilientjob_checkpoint_bucket.this[*].name) : var.checkpoint.bucket
  prefix     = var.checkpoint.prefix != null || local.own_bucket ? var.checkpoint.prefix : local.name

  labels = merge(var.labels, {
    team        = var.team
    environment = var.environment
    workload    = var.workload
    cost_center = var.cost_center
  })

  # How often to save, and how often to try again, for the work that there is.
  interval = coalesce(var.checkpoint.interval, provider::resilientjob::checkpoint_interval(var.checkpoint.write_time, var.task_timeout))
  retries = var.max_retries != null ? var.max_retries : max(1, provider::resilientjob::required_retries({
    work_time    = var.checkpoint.work_time
    task_timeout = var.task_timeout
    interval     = local.interval
    write_time   = var.checkpoint.write_time
    restore_time = var.checkpoint.restore_time
  }))

  # The program is told what the plan reckons with.
  interval_seconds = sum([for unit, seconds in { h = 3600, m = 60, s = 1 } : seconds * try(tonumber(regex("([0-9.]+)${unit}", local.interval)[0]), 0)])

  exposure = provider::resilientjob::exposure({
    gpu_type     = var.gpu_type
    task_count   = var.task_count
    task_timeout = var.task_timeout
    max_retries  = local.retries
  })
}

resource "resilientjob_checkpoint_bucket" "this" {
  count = local.own_bucket ? 1 : 0

  name          = local.bucket_name
  project       = var.project
  location      = var.region
  kms_key_name  = var.kms_key
  force_destroy = var.force_destroy
  labels        = local.labels
}

resource "resilientjob_gpu_job" "this" {
  name     = local.name
  project  = var.project
  location = var.region
  labels   = local.labels

  image      = var.image
  args       = var.args
  secret_env = { for name, secret in var.secrets : name => { secret = secret } }
  env = merge({
    CHECKPOINT_DIR      = var.checkpoint.mount_path
    CHECKPOINT_INTERVAL = tostring(local.interval_seconds)
  }, var.env)

  gpu_type     = var.gpu_type
  task_count   = var.task_count
  task_timeout = var.task_timeout
  max_retries  = local.retries

  checkpoint = {
    bucket       = local.bucket
    prefix       = local.prefix
    mount_path   = var.checkpoint.mount_path
    per_task     = true # what users of this module promise
    interval     = local.interval
    write_time   = var.checkpoint.write_time
    restore_time = var.checkpoint.restore_time
    work_time    = var.checkpoint.work_time
  }

  encryption_key = var.kms_key
  network        = var.network

  lifecycle {
    precondition {
      condition     = local.exposure.gpu_hours <= var.gpu_hour_budget
      error_message = "One run of ${local.name} could use ${local.exposure.gpu_hours} GPU hours (${local.exposure.attempts} attempts of ${var.task_timeout}), and gpu_hour_budget is ${var.gpu_hour_budget}. Shorten task_timeout or checkpoint.work_time, take fewer tasks, or raise the budget."
    }
  }
}

resource "resilientjob_execution" "this" {
  count = var.run == null ? 0 : 1

  job      = resilientjob_gpu_job.this.id
  triggers = var.run.triggers
  wait_for = var.run.wait_for
}
