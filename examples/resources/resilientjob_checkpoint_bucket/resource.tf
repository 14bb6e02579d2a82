# The defaults fit checkpoints.
resource "resilientjob_checkpoint_bucket" "checkpoints" {
  name     = "my-project-checkpoints"
  location = "us-central1" # where the job runs
}
