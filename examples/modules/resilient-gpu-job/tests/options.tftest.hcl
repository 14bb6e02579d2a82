# A bucket that is there already; and the key and the network, as they reach the resources.

variables {
  project         = "ml-platform"
  region          = "us-central1"
  team            = "vision"
  environment     = "prod"
  workload        = "segmenter"
  cost_center     = "cc-1234"
  image           = "us-central1-docker.pkg.dev/ml-platform/images/checkpointed-training:v1"
  checkpoint      = { work_time = "24h" }
  gpu_hour_budget = 100
  watch           = false # what a check block cannot know yet fails a test of a plan
}

run "takes_a_bucket_that_is_there" {
  command = plan

  variables {
    checkpoint = { work_time = "24h", bucket = "ml-platform-shared" }
  }

  assert {
    condition     = length(resilientjob_checkpoint_bucket.this) == 0 && output.checkpoint_url == "gs://ml-platform-shared/vision-prod-segmenter"
    error_message = "The checkpoints are in ${output.checkpoint_url}."
  }
}

run "encrypts_with_the_key_and_reaches_the_network" {
  variables {
    kms_key = "projects/ml-platform/locations/us-central1/keyRings/ml/cryptoKeys/checkpoints"
    network = { subnetwork = "ml-us-central1", tags = ["ml-jobs"] }
  }

  assert {
    condition     = resilientjob_gpu_job.this.encryption_key == var.kms_key && resilientjob_checkpoint_bucket.this[0].kms_key_name == var.kms_key
    error_message = "The key does not reach both, the job and the bucket."
  }
  assert {
    condition     = resilientjob_gpu_job.this.network.subnetwork == "ml-us-central1" && resilientjob_gpu_job.this.network.egress == "ALL_TRAFFIC"
    error_message = "The network is ${jsonencode(resilientjob_gpu_job.this.network)}."
  }
}
