# What version 1 called otherwise. They stay for as long as a state of version 1 may be
# somewhere: without them the update would destroy the job, and the checkpoints.

moved {
  from = resilientjob_gpu_job.job
  to   = resilientjob_gpu_job.this
}

moved {
  from = resilientjob_checkpoint_bucket.checkpoints
  to   = resilientjob_checkpoint_bucket.this[0]
}
