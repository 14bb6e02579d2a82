# The newest run of the job, whoever started it.
data "resilientjob_executions" "newest" {
  count = var.watch ? 1 : 0

  job        = resilientjob_gpu_job.this.id
  limit      = 1
  depends_on = [resilientjob_gpu_job.this, resilientjob_execution.this] # not before they are made
}

data "resilientjob_checkpoints" "newest" {
  count = var.watch ? 1 : 0

  bucket     = local.bucket
  prefix     = local.prefix
  depends_on = [resilientjob_gpu_job.this, resilientjob_execution.this]
}

locals {
  newest_run        = try(one(data.resilientjob_executions.newest[0].executions), null)
  newest_checkpoint = try(data.resilientjob_checkpoints.newest[0].newest_time, null)
}

check "newest_run" {
  assert {
    condition     = !contains(["failed", "cancelled"], try(local.newest_run.state, ""))
    error_message = "Run ${try(local.newest_run.name, "")} of ${local.name} is ${try(local.newest_run.state, "")}: ${try(coalesce(local.newest_run.message), "without a message")} ${try(coalesce(local.newest_run.log_uri), "")}"
  }
}

# Two intervals without a checkpoint are one that failed. A run that is younger than that is not stale.
check "checkpoints_are_fresh" {
  assert {
    condition = try(local.newest_run.state, "") != "running" || anytrue([
      for time in compact([local.newest_checkpoint, try(local.newest_run.start_time, null)]) :
      timecmp(timeadd(timeadd(time, local.interval), local.interval), plantimestamp()) > 0
    ])
    error_message = "Run ${try(local.newest_run.name, "")} of ${local.name} has not saved for two intervals of ${local.interval}; newest checkpoint: ${try(coalesce(local.newest_checkpoint), "none")}."
  }
}
