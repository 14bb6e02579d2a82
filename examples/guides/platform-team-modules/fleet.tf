module "vision" {
  source = "../../modules/training-fleet"

  project     = "ml-platform"
  region      = "us-central1"
  team        = "vision"
  environment = "dev"
  cost_center = "cc-1234"

  jobs = {
    segmenter  = { image = "us-central1-docker.pkg.dev/ml-platform/images/segmenter:v3", work_time = "24h" }
    classifier = { image = "us-central1-docker.pkg.dev/ml-platform/images/classifier:v7", work_time = "2h", task_timeout = "3h" }
  }

  gpu_hour_budget = 70
}
