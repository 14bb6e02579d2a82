# Starts the job, and lets it run.
resource "resilientjob_execution" "train" {
  job = resilientjob_gpu_job.train.id

  # Runs again when one of these changes, and only then.
  triggers = {
    dataset = "2026-11-01"
  }

  wait_for = "started" # a run of many hours need not keep the terminal
}
