import {
  to = resilientjob_execution.train
  id = "projects/my-project/locations/us-central1/jobs/train/executions/train-bx4kz"
}
