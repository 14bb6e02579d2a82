terraform import resilientjob_execution.train projects/my-project/locations/us-central1/jobs/train/executions/train-bx4kz
