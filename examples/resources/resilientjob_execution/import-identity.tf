import {
  to = resilientjob_execution.train
  identity = {
    project  = "my-project"
    location = "us-central1"
    job      = "train"
    name     = "train-bx4kz"
  }
}
