# Runs the job with other arguments and waits for the end. What depends on it goes on
# only after success.
resource "resilientjob_execution" "evaluate" {
  job          = resilientjob_gpu_job.evaluate.id
  args         = ["--split", "test"]
  env          = { SEED = "7" }
  task_timeout = "30m"
  wait_for     = "completed"

  triggers = {
    image = resilientjob_gpu_job.evaluate.image
  }

  lifecycle {
    # An apply that stops watching leaves the run, with the state "running".
    postcondition {
      condition     = self.state == "succeeded"
      error_message = "The evaluation is ${self.state}: ${self.log_uri}"
    }
  }
}
