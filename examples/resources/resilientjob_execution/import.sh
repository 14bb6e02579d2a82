# The full name, or PROJECT/LOCATION/JOB/NAME
terraform import resilientjob_execution.train projects/my-project/locations/us-central1/jobs/train/executions/train-bx4kz
terraform import resilientjob_execution.train my-project/us-central1/train/train-bx4kz

# In the provider's project; in its project and region
terraform import resilientjob_execution.train us-central1/train/train-bx4kz
terraform import resilientjob_execution.train train/train-bx4kz
