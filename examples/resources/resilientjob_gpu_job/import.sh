terraform import resilientjob_gpu_job.train projects/my-project/locations/us-central1/jobs/train
