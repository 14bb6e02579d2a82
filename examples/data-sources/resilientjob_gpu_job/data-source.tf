# A job that another configuration made.
data "resilientjob_gpu_job" "train" {
  job = "projects/my-project/locations/us-central1/jobs/train"
}

# Where it saves its checkpoints, and how far they have come.
data "resilientjob_checkpoints" "train" {
  bucket  = data.resilientjob_gpu_job.train.checkpoint.bucket
  prefix  = data.resilientjob_gpu_job.train.checkpoint.prefix
  pattern = "**/task-{task}/step-*.ckpt"
}

check "job_is_ready" {
  assert {
    condition     = data.resilientjob_gpu_job.train.ready != false
    error_message = "Cloud Run cannot run the job: ${coalesce(data.resilientjob_gpu_job.train.ready_message, "it is being set up")}."
  }
}

output "train" {
  value = {
    image             = data.resilientjob_gpu_job.train.image
    gpu_hours_at_most = data.resilientjob_gpu_job.train.exposure.gpu_hours
    latest_run        = try(data.resilientjob_gpu_job.train.latest_execution.state, "none yet")
    newest_checkpoint = data.resilientjob_checkpoints.train.newest_time
  }
}
