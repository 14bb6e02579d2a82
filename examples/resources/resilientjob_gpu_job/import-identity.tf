import {
  to = resilientjob_gpu_job.train
  identity = {
    project  = "my-project"
    location = "us-central1"
    name     = "train"
  }
}
