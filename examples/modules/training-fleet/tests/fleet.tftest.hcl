# terraform init first: this module calls another one.

variables {
  project     = "ml-platform"
  region      = "us-central1"
  team        = "vision"
  environment = "dev"
  cost_center = "cc-1234"

  jobs = {
    segmenter = {
      image     = "us-central1-docker.pkg.dev/ml-platform/images/segmenter:v3"
      work_time = "24h"
    }
    classifier = {
      image        = "us-central1-docker.pkg.dev/ml-platform/images/classifier:v7"
      work_time    = "2h"
      task_timeout = "3h"
    }
  }

  gpu_hour_budget = 70
  watch           = false # what a check block cannot know yet fails a test of a plan
}

run "refuses_more_than_the_budget_of_all" {
  command = plan

  variables {
    gpu_hour_budget = 60 # enough for each, and not for both
  }

  expect_failures = [output.gpu_hours]
}

run "makes_all_jobs_on_one_bucket" {
  assert {
    condition     = output.gpu_hours == 66
    error_message = "60 GPU hours and 6 are not ${output.gpu_hours}."
  }
  assert {
    condition = output.checkpoint_urls == {
      classifier = "gs://ml-platform-vision-dev/vision-dev-classifier"
      segmenter  = "gs://ml-platform-vision-dev/vision-dev-segmenter"
    }
    error_message = "The checkpoints are in ${jsonencode(output.checkpoint_urls)}."
  }
}

run "takes_a_job_away_and_leaves_the_other" {
  variables {
    jobs = {
      segmenter = {
        image     = "us-central1-docker.pkg.dev/ml-platform/images/segmenter:v3"
        work_time = "24h"
      }
    }
  }

  assert {
    condition     = output.job_ids == { segmenter = "projects/ml-platform/locations/us-central1/jobs/vision-dev-segmenter" }
    error_message = "The jobs are ${jsonencode(output.job_ids)}."
  }
}
