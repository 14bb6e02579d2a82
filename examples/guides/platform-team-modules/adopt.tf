module "segmenter" {
  source = "../../modules/resilient-gpu-job"

  project     = "ml-platform"
  region      = "us-central1"
  team        = "vision"
  environment = "prod"
  workload    = "segmenter"
  cost_center = "cc-1234"

  # Names cannot change: those that are there stay.
  names = { job = "segmenter", bucket = "ml-platform-segmenter" }

  image           = "us-central1-docker.pkg.dev/ml-platform/images/segmenter:v3"
  checkpoint      = { work_time = "24h" }
  gpu_hour_budget = 100
}

# To the addresses of the module's version 1, from where its own moved blocks go on: two
# moved blocks must not end at the same resource.
moved {
  from = resilientjob_checkpoint_bucket.checkpoints
  to   = module.segmenter.resilientjob_checkpoint_bucket.checkpoints
}

moved {
  from = resilientjob_gpu_job.train
  to   = module.segmenter.resilientjob_gpu_job.job
}
