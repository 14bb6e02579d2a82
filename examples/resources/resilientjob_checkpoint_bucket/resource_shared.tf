# A bucket that others read, whose finished runs expire.
resource "resilientjob_checkpoint_bucket" "shared" {
  name     = "my-project-shared-checkpoints"
  location = "us-central1"

  # A finished run's files go after a month. Only under these prefixes:
  # without one, the newest checkpoint of a paused job would expire too.
  expire_after_days = 30
  expire_prefixes   = ["finished/"]

  # Beside the job's own account, which the job grants what it needs.
  readers = ["group:research@example.com"]

  labels = {
    team = "research"
  }
}
