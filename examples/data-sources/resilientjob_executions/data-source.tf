# The last ten runs of the job that did not succeed.
data "resilientjob_executions" "trouble" {
  job    = "projects/my-project/locations/us-central1/jobs/train"
  states = ["failed", "cancelled"]
  limit  = 10
}

output "trouble" {
  value = [for run in data.resilientjob_executions.trouble.executions : {
    name    = run.name
    ended   = run.completion_time
    message = run.message
    retried = run.retried_count
    logs    = run.log_uri
  }]
}
