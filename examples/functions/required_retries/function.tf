locals {
  task_timeout = "12h"
  write_time   = "60s"
  restore_time = "2m"
  work_time    = "48h"
  interval     = provider::resilientjob::checkpoint_interval(local.write_time, local.task_timeout)

  retries = provider::resilientjob::required_retries({
    work_time    = local.work_time
    task_timeout = local.task_timeout
    interval     = local.interval
    write_time   = local.write_time
    restore_time = local.restore_time
  })
}

output "retries" {
  value = local.retries # 6
}

# One interruption a day on average, and more certainty.
output "retries_in_bad_times" {
  value = provider::resilientjob::required_retries({
    work_time                       = "24h"
    task_timeout                    = "12h"
    interval                        = "30m"
    write_time                      = "60s"
    mean_time_between_interruptions = "24h"
    probability                     = 0.999
  }) # 8
}

resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name     = "my-project-checkpoints"
  location = "us-central1"
}

resource "resilientjob_gpu_job" "train" {
  name     = "train"
  location = "us-central1"
  image    = "us-central1-docker.pkg.dev/my-project/images/train:v1"

  task_timeout = local.task_timeout
  max_retries  = max(1, local.retries) # expect one stop by maintenance

  checkpoint = {
    bucket       = resilientjob_checkpoint_bucket.checkpoints.name
    interval     = local.interval
    write_time   = local.write_time
    restore_time = local.restore_time
    work_time    = local.work_time
  }
}
