import {
  to = resilientjob_checkpoint_bucket.checkpoints
  id = "my-project-checkpoints"
}
