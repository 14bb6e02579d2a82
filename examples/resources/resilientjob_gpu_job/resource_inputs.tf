# A job with a data set, a token and a private network. The account that the
# provider makes may read the bucket and the secret, which exist before the job;
# nothing else is granted.
resource "resilientjob_gpu_job" "evaluate" {
  name     = "evaluate"
  location = "us-central1"
  image    = "us-central1-docker.pkg.dev/my-project/images/evaluate:v1"

  secret_env = {
    HF_TOKEN = { secret = "hf-token" }
  }

  volumes = {
    data = {
      mount_path = "/data"
      read_only  = true
      gcs        = { bucket = "my-project-datasets" }
    }
    scratch = {
      mount_path = "/scratch"
      empty_dir  = { size_limit = "4Gi" }
    }
  }

  network = {
    network = "default"
    egress  = "PRIVATE_RANGES_ONLY"
  }
}
