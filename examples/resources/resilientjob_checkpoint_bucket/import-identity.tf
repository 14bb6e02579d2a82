import {
  to = resilientjob_checkpoint_bucket.checkpoints
  identity = {
    name = "my-project-checkpoints"
  }
}
