# The full name, or PROJECT/LOCATION/NAME
terraform import resilientjob_gpu_job.train projects/my-project/locations/us-central1/jobs/train
terraform import resilientjob_gpu_job.train my-project/us-central1/train

# In the provider's project; in its project and region
terraform import resilientjob_gpu_job.train us-central1/train
terraform import resilientjob_gpu_job.train train
