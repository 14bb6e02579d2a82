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
    condition     = !contains(["failed", "cancelled"], try(local.newest.state, ""))
    error_message = "Run ${try(local.newest.name, "")} is ${try(local.newest.state, "")}: ${try(coalesce(local.newest.message), "without a message")} ${try(coalesce(local.newest.log_uri), "")}"
  }
}

# Turns red when a run goes on, began more than 30 minutes ago, and has saved nothing
# in the last 30 minutes. Checkpoints of an earlier run do not make a young one stale.
check "checkpoints_are_fresh" {
  data "resilientjob_checkpoints" "train" {
    bucket  = resilientjob_checkpoint_bucket.checkpoints.name
    pattern = "task-{task}/step-*"
  }

  assert {
    condition = try(local.newest.state, "") != "running" || anytrue([
      for t in compact([data.resilientjob_checkpoints.train.newest_time, try(local.newest.start_time, null)]) :
      timecmp(t, timeadd(plantimestamp(), "-30m")) > 0
    ])
    error_message = "Run ${try(local.newest.name, "")} has saved nothing for 30 minutes; newest checkpoint: ${coalesce(data.resilientjob_checkpoints.train.newest_time, "none")}."
  }
}
