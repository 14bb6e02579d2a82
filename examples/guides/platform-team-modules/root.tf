terraform {
  required_providers {
    resilientjob = {
      source  = "resilientjob/resilientjob"
      version = "~> 0.1" # a root says which versions it was tried with
    }
  }
}

# Where, as whom, and the labels of everything in this configuration. No module does that.
provider "resilientjob" {
  project = "ml-platform"
  region  = "us-central1"

  default_labels = {
    managed_by = "terraform"
  }
}

module "segmenter" {
  # From your registry with a version, or from git with a tag: git::https://…?ref=v2.1.0
  source = "../../modules/resilient-gpu-job"

  project     = "ml-platform"
  region      = "us-central1"
  team        = "vision"
  environment = "prod"
  workload    = "segmenter"
  cost_center = "cc-1234"

  image           = "us-central1-docker.pkg.dev/ml-platform/images/segmenter:v3"
  checkpoint      = { work_time = "24h", write_time = "2m" }
  gpu_hour_budget = 100
}

# For the stacks that build on it: a scheduler, a dashboard, a grant on a data set.
output "segmenter" {
  value = {
    job         = module.segmenter.job_id
    runs_as     = module.segmenter.service_account_email
    checkpoints = module.segmenter.checkpoint_url
  }
}
