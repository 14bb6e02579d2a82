output "job_ids" {
  description = "Full name of each job, by workload."
  value       = { for workload, job in module.job : workload => job.job_id }
}

output "checkpoint_urls" {
  description = "Where each job saves, by workload."
  value       = { for workload, job in module.job : workload => job.checkpoint_url }
}

output "gpu_hours" {
  description = "The most GPU hours that one run of every job can use together."
  value       = local.gpu_hours

  precondition {
    condition     = local.gpu_hours <= var.gpu_hour_budget
    error_message = "One run of every job could use ${local.gpu_hours} GPU hours, and gpu_hour_budget is ${var.gpu_hour_budget}: ${join(", ", [for workload, job in module.job : "${workload} ${job.exposure.gpu_hours}"])}."
  }
}
