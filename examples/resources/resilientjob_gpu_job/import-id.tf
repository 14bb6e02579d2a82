import {
  to = resilientjob_gpu_job.train
  id = "projects/my-project/locations/us-central1/jobs/train"
}
