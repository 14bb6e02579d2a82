# A bucket with a key of its own, whose deleted checkpoints can be restored for a
# week. Each overwritten checkpoint is billed for that long, too.
resource "resilientjob_checkpoint_bucket" "kept" {
  name                  = "my-project-kept-checkpoints"
  location              = "us-central1"
  kms_key_name          = "projects/my-project/locations/us-central1/keyRings/research/cryptoKeys/checkpoints"
  soft_delete_retention = "168h"

  timeouts = {
    delete = "2h" # to empty a large bucket
  }

  lifecycle {
    prevent_destroy = true
  }
}
