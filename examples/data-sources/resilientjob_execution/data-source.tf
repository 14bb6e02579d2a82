# The newest execution of the job. Name one with `name` to ask for another.
data "resilientjob_execution" "latest" {
  job = "projects/my-project/locations/us-central1/jobs/train"
}

output "outcome" {
  value = {
    state   = data.resilientjob_execution.latest.state
    message = data.resilientjob_execution.latest.message
    retried = data.resilientjob_execution.latest.retried_count
    logs    = data.resilientjob_execution.latest.log_uri
  }
}
