# The retries for 48 hours of work, by the interruptions that were seen in 30 days.
data "resilientjob_executions" "all" {
  job        = resilientjob_gpu_job.train.id
  limit      = 1000
  depends_on = [resilientjob_gpu_job.train]
}

data "resilientjob_interruptions" "month" {
  job        = resilientjob_gpu_job.train.id
  window     = "720h"
  depends_on = [resilientjob_gpu_job.train]
}

locals {
  recent = [for e in data.resilientjob_executions.all.executions : e if timecmp(e.create_time, timeadd(plantimestamp(), "-720h")) > 0]
  hours  = sum(concat([0], [for e in local.recent : coalesce(e.duration_seconds, 0) / 3600]))
  count  = data.resilientjob_interruptions.month.interruption_count
}

output "retries" {
  value = provider::resilientjob::required_retries({
    work_time    = "48h"
    task_timeout = "12h"
    write_time   = "60s"
    # Too few hours, or no interruption at all, measure nothing: then the default of 168 hours.
    mean_time_between_interruptions = local.hours > 100 && local.count > 0 ? "${floor(local.hours / local.count)}h" : null
  })
}
