# Eight tasks of one execution, two at a time, on larger GPUs, as an account that
# exists. To such an account nothing is granted unless `grant` asks for it.
resource "resilientjob_gpu_job" "sweep" {
  name            = "sweep"
  location        = "us-central1"
  image           = "us-central1-docker.pkg.dev/my-project/images/sweep:v1"
  service_account = "trainer@my-project.iam.gserviceaccount.com"

  gpu_type = "nvidia-rtx-pro-6000" # 20 vCPU and 80Gi

  task_count   = 8
  parallelism  = 2
  task_timeout = "6h"
  max_retries  = 4

  checkpoint = {
    bucket   = resilientjob_checkpoint_bucket.checkpoints.name
    prefix   = "sweep" # mounts this folder of the bucket only
    grant    = true
    per_task = true # the program saves below task-$CLOUD_RUN_TASK_INDEX/
  }

  labels = {
    team = "research"
  }

  timeouts = {
    create = "30m"
  }

  lifecycle {
    # 8 tasks × 5 attempts × 6 hours. The plan stops where it could be more.
    postcondition {
      condition     = self.exposure.gpu_hours <= 240
      error_message = "One execution could use ${self.exposure.gpu_hours} GPU hours."
    }
  }
}
