# When the tasks of the job were interrupted in the last week, and how they ended.
data "resilientjob_interruptions" "week" {
  job    = "projects/my-project/locations/us-central1/jobs/train"
  window = "168h"
}

output "interruptions" {
  value = [
    for i in data.resilientjob_interruptions.week.interruptions : {
      time      = i.time
      execution = i.execution
      task      = i.task_index
      attempt   = i.task_attempt
      meaning   = i.meaning
    }
  ]
}

# A program that exits with 0 on SIGTERM says that its work is done: it is not retried.
check "interrupted_tasks_are_retried" {
  assert {
    condition = alltrue([
      for i in data.resilientjob_interruptions.week.interruptions : i.exit_code != 0
    ])
    error_message = "A task was interrupted and ended with exit code 0. Let the program exit with 143 instead."
  }
}
