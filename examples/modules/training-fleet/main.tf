# One bucket for all. The account of each job may write to all of it: where jobs must not
# see each other's checkpoints, let each have a bucket of its own.
resource "resilientjob_checkpoint_bucket" "shared" {
  name          = "${var.project}-${var.team}-${var.environment}"
  project       = var.project
  location      = var.region
  force_destroy = var.force_destroy

  labels = {
    team        = var.team
    environment = var.environment
    cost_center = var.cost_center
  }
}

module "job" {
  source   = "../resilient-gpu-job"
  for_each = var.jobs

  project     = var.project
  region      = var.region
  team        = var.team
  environment = var.environment
  cost_center = var.cost_center
  workload    = each.key

  image        = each.value.image
  args         = each.value.args
  env          = each.value.env
  task_timeout = each.value.task_timeout

  checkpoint = {
    work_time = each.value.work_time
    bucket    = resilientjob_checkpoint_bucket.shared.name # below the job's name
  }

  gpu_hour_budget = var.gpu_hour_budget
  watch           = var.watch
}

locals {
  gpu_hours = sum(concat([0], [for job in module.job : job.exposure.gpu_hours])) # known at plan
}
