output "job_id" {
  description = "Full name of the job, for `resilientjob_execution` and the data sources."
  value       = resilientjob_gpu_job.this.id
}

output "job_name" {
  description = "Name of the job."
  value       = resilientjob_gpu_job.this.name
}

output "console_url" {
  description = "Page of the job in the Google Cloud console."
  value       = resilientjob_gpu_job.this.console_url
}

output "service_account_email" {
  description = "Account that the job runs as, for grants on what else it needs."
  value       = resilientjob_gpu_job.this.service_account_email
}

output "bucket_name" {
  description = "Bucket of the checkpoints."
  value       = local.bucket
}

output "checkpoint_url" {
  description = "Where the checkpoints are, `gs://BUCKET/PREFIX`."
  value       = join("/", compact(["gs://${local.bucket}", local.prefix]))
}

output "checkpoint_interval" {
  description = "Work between two checkpoints, as the plan reckons with it."
  value       = local.interval
}

output "max_retries" {
  description = "How often a task is tried again."
  value       = resilientjob_gpu_job.this.max_retries
}

output "exposure" {
  description = "The most that one run can use: `attempts`, `task_hours`, `gpu_hours`."
  value       = resilientjob_gpu_job.this.exposure
}

output "execution" {
  description = "Name and state of the run that `run` started, as of when it was applied. Null without one."
  value       = one([for run in resilientjob_execution.this : { name = run.name, state = run.state }])
}
