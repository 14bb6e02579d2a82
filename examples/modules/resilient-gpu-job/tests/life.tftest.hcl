# One life on the emulator: made, run to its end by a real process, changed, and destroyed
# when the file is done. The emulator knows what to start for the image:
#   resilientjob-emulator --image '*/checkpointed-training:*=python3 PATH/train.py'

variables {
  project         = "ml-platform"
  region          = "us-central1"
  team            = "vision"
  environment     = "dev"
  workload        = "segmenter"
  cost_center     = "cc-1234"
  labels          = { model = "segmenter-s", team = "somebody-else" }
  image           = "us-central1-docker.pkg.dev/ml-platform/images/checkpointed-training:v1"
  checkpoint      = { work_time = "1h" }
  task_timeout    = "1h"
  gpu_hour_budget = 100
  force_destroy   = true # the checkpoints of a test go with its bucket
  env = {
    TRAIN_STEPS            = "3"
    TRAIN_SECONDS_PER_STEP = "0"
  }
}

run "makes_everything_a_job_needs" {
  assert {
    condition     = output.job_id == "projects/ml-platform/locations/us-central1/jobs/vision-dev-segmenter"
    error_message = "The job is ${output.job_id}."
  }
  assert {
    condition     = endswith(output.service_account_email, "@ml-platform.iam.gserviceaccount.com")
    error_message = "The account is ${output.service_account_email}."
  }
  # The account may save checkpoints, and nothing else is granted.
  assert {
    condition = [for grant in resilientjob_gpu_job.this.grants : "${grant.role} on ${grant.resource}"] == [
      "roles/storage.objectUser on projects/_/buckets/ml-platform-vision-dev-segmenter",
    ]
    error_message = "The grants are ${jsonencode(resilientjob_gpu_job.this.grants)}."
  }
  assert {
    condition = alltrue([
      for labels in [resilientjob_gpu_job.this.effective_labels, resilientjob_checkpoint_bucket.this[0].effective_labels] :
      labels["team"] == "vision" && labels["environment"] == "dev" && labels["cost_center"] == "cc-1234" && labels["model"] == "segmenter-s"
    ])
    error_message = "The labels are ${jsonencode(resilientjob_gpu_job.this.effective_labels)}."
  }
  assert {
    condition     = output.checkpoint_url == "gs://ml-platform-vision-dev-segmenter"
    error_message = "The checkpoints are in ${output.checkpoint_url}."
  }
}

run "runs_to_the_end" {
  variables {
    run = {
      triggers = { dataset = "2026-11-01" }
      wait_for = "completed"
    }
  }

  assert {
    condition     = output.execution.state == "succeeded"
    error_message = "The run is ${output.execution.state}: ${resilientjob_execution.this[0].message}"
  }
  # What the program saved, as the module's own check reads it.
  assert {
    condition     = data.resilientjob_checkpoints.newest[0].checkpoint_count > 0
    error_message = "The program has saved nothing."
  }
}

run "changes_the_job_in_place" {
  variables {
    run = {
      triggers = { dataset = "2026-11-01" }
      wait_for = "completed"
    }
    labels = { model = "segmenter-m" }
  }

  assert {
    condition     = resilientjob_gpu_job.this.effective_labels["model"] == "segmenter-m"
    error_message = "The labels are ${jsonencode(resilientjob_gpu_job.this.effective_labels)}."
  }
  # The same triggers: the same run, and the change of the job does not end its record.
  assert {
    condition     = output.execution.state == "succeeded"
    error_message = "The run is ${output.execution.state}."
  }
}
