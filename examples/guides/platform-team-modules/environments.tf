# One configuration for every environment, each with a state of its own:
#   terraform apply -var=environment=dev
variable "environment" {
  type = string
}

locals {
  environments = {
    dev  = { project = "ml-dev", gpu_hours = 8, work_time = "2h", task_timeout = "3h" }
    prod = { project = "ml-prod", gpu_hours = 100, work_time = "24h", task_timeout = "12h" }
  }
  here = local.environments[var.environment]
}

provider "resilientjob" {
  project = local.here.project
  region  = "us-central1"

  # Whoever plans acts as the deployer of the environment, and has no keys.
  impersonate_service_account = "deployer@${local.here.project}.iam.gserviceaccount.com"
}

module "segmenter" {
  source = "../../modules/resilient-gpu-job"

  project     = local.here.project
  region      = "us-central1"
  team        = "vision"
  environment = var.environment
  workload    = "segmenter"
  cost_center = "cc-1234"

  image           = "us-central1-docker.pkg.dev/ml-images/images/segmenter:v3"
  checkpoint      = { work_time = local.here.work_time }
  task_timeout    = local.here.task_timeout
  gpu_hour_budget = local.here.gpu_hours

  # A trial run for each new image in dev; in production somebody else starts the runs.
  run = var.environment == "dev" ? { triggers = { image = "v3" } } : null
}
