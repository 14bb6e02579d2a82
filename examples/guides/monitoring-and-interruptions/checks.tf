# The newest run, if there is one.
data "resilientjob_executions" "newest" {
  job        = resilientjob_gpu_job.train.id
  limit      = 1
  depends_on = [resilientjob_gpu_job.train] # not before the job is made
}

locals {
  newest = one(data.resilientjob_executions.newest.executions)
}

# Turns red when the newest run has failed or was cancelled.
check "newest_run" {
  assert {
    condition     = local.newest == null || !contains(["failed", "cancelled"], try(local.newest.state, ""))
    error_message = try("Run ${local.newest.name} has ${local.newest.state}: ${local.newest.message} ${local.newest.log_uri}", "")
  }
}

# Turns red when a run goes on and its newest checkpoint is older than 30 minutes.
check "checkpoints_are_fresh" {
  data "resilientjob_checkpoints" "train" {
    bucket  = resilientjob_checkpoint_bucket.checkpoints.name
    pattern = "task-{task}/step-*"
  }

  assert {
    condition = try(local.newest.state, "") != "running" || timecmp(
      coalesce(data.resilientjob_checkpoints.train.newest_time, try(local.newest.start_time, null), plantimestamp()),
      timeadd(plantimestamp(), "-30m")
    ) > 0
    error_message = "Run ${try(local.newest.name, "")} has saved nothing since ${coalesce(data.resilientjob_checkpoints.train.newest_time, "its start")}."
  }
}
