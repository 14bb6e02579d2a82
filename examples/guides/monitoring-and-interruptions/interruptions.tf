# The interruptions of the last week.
data "resilientjob_interruptions" "week" {
  job        = resilientjob_gpu_job.train.id
  window     = "168h"
  depends_on = [resilientjob_gpu_job.train]
}

output "interruptions" {
  value = [for i in data.resilientjob_interruptions.week.interruptions :
    "${i.time}: ${coalesce(i.execution, "?")} task ${coalesce(i.task_index, "?")}, attempt ${coalesce(i.task_attempt, "?")}: ${i.meaning}"
  ]
}

# A program that exits with 0 on SIGTERM says that its work is done, and is not run again.
check "interrupted_tasks_are_retried" {
  assert {
    condition     = alltrue([for i in data.resilientjob_interruptions.week.interruptions : i.exit_code != 0])
    error_message = "A task was interrupted and ended with exit code 0. Let the program exit with 143."
  }
}
