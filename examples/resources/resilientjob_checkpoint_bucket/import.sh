# The name, alone, with its project, or as an address
terraform import resilientjob_checkpoint_bucket.checkpoints my-project-checkpoints
terraform import resilientjob_checkpoint_bucket.checkpoints my-project/my-project-checkpoints
terraform import resilientjob_checkpoint_bucket.checkpoints gs://my-project-checkpoints
