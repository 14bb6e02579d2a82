resource "google_service_account" "train" {
  account_id = "train-runner"
}

resource "google_storage_bucket" "checkpoints" {
  name                        = "my-project-checkpoints"
  location                    = "us-central1"
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  soft_delete_policy {
    retention_duration_seconds = 0
  }
}

resource "google_storage_bucket_iam_member" "train" {
  bucket = google_storage_bucket.checkpoints.name
  role   = "roles/storage.objectUser"
  member = google_service_account.train.member
}

resource "google_secret_manager_secret_iam_member" "train" {
  secret_id = "wandb-key"
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.train.member
}

resource "google_cloud_run_v2_job" "train" {
  name         = "train"
  location     = "us-central1"
  launch_stage = "BETA"
  template {
    template {
      service_account               = google_service_account.train.email
      timeout                       = "43200s"
      max_retries                   = 5
      gpu_zonal_redundancy_disabled = true
      node_selector {
        accelerator = "nvidia-l4"
      }
      containers {
        image = "us-central1-docker.pkg.dev/my-project/images/train:v1"
        args  = ["--epochs", "40"]
        resources {
          limits = {
            "cpu"            = "4"
            "memory"         = "16Gi"
            "nvidia.com/gpu" = "1"
          }
        }
        env {
          name  = "CHECKPOINT_DIR"
          value = "/checkpoints"
        }
        env {
          name = "WANDB_API_KEY"
          value_source {
            secret_key_ref {
              secret  = "wandb-key"
              version = "latest"
            }
          }
        }
        volume_mounts {
          name       = "checkpoints"
          mount_path = "/checkpoints"
        }
      }
      volumes {
        name = "checkpoints"
        gcs {
          bucket = google_storage_bucket.checkpoints.name
        }
      }
    }
  }
}
