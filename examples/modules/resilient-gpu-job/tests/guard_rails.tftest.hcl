# What the module refuses, and what it plans. Nothing is made: these are plans of the real
# provider, which asks the emulator (RESILIENTJOB_EMULATOR_HOST in the environment).

variables {
  project         = "ml-platform"
  region          = "us-central1"
  team            = "vision"
  environment     = "dev"
  workload        = "segmenter"
  cost_center     = "cc-1234"
  image           = "us-central1-docker.pkg.dev/ml-platform/images/checkpointed-training:v1"
  checkpoint      = { work_time = "24h" }
  gpu_hour_budget = 100
  watch           = false # what a check block cannot know yet fails a test of a plan
}

run "plans_within_the_budget" {
  command = plan

  assert {
    condition     = resilientjob_gpu_job.this.name == "vision-dev-segmenter" && resilientjob_checkpoint_bucket.this[0].name == "ml-platform-vision-dev-segmenter"
    error_message = "The names are ${resilientjob_gpu_job.this.name} and ${resilientjob_checkpoint_bucket.this[0].name}."
  }
  assert {
    condition     = output.max_retries == 4 && output.checkpoint_interval == "37m17s"
    error_message = "24 hours in attempts of 12 hours take 4 retries, not ${output.max_retries}; the interval is ${output.checkpoint_interval}."
  }
  assert {
    condition     = resilientjob_gpu_job.this.env["CHECKPOINT_INTERVAL"] == "2237"
    error_message = "The program is told ${resilientjob_gpu_job.this.env["CHECKPOINT_INTERVAL"]} seconds for ${output.checkpoint_interval}."
  }
  # The exposure of a job is known at plan.
  assert {
    condition     = output.exposure.gpu_hours == 60 && output.exposure.attempts == 5
    error_message = "5 attempts of 12 hours are 60 GPU hours, not ${output.exposure.gpu_hours}."
  }
  assert {
    condition     = output.execution == null && length(resilientjob_execution.this) == 0
    error_message = "The job is run without being asked for."
  }
}

run "refuses_more_than_the_budget" {
  command = plan

  variables {
    task_count = 2 # 120 GPU hours
  }

  expect_failures = [resilientjob_gpu_job.this]
}

run "needs_no_budget_without_a_gpu" {
  command = plan

  variables {
    gpu_type        = "none"
    gpu_hour_budget = 0
  }
}

run "refuses_an_image_that_moves" {
  command = plan

  variables {
    image = "us-central1-docker.pkg.dev/ml-platform/images/checkpointed-training:latest"
  }

  expect_failures = [var.image]
}

run "refuses_names_and_labels_that_do_not_fit" {
  command = plan

  variables {
    team        = "Vision"
    environment = "test"
    workload    = "a-segmenter-of-more-than-27-characters"
    cost_center = "CC 1234"
  }

  expect_failures = [var.team, var.environment, var.workload, var.cost_center]
}

run "shortens_the_name_of_the_bucket" {
  command = plan

  variables {
    project     = "a-project-of-thirty-characters"
    team        = "foundation-mdls"
    environment = "stage"
    workload    = "a-workload-of-27-characters"
  }

  assert {
    condition     = length(resilientjob_gpu_job.this.name) == 49
    error_message = "The longest name of a job has ${length(resilientjob_gpu_job.this.name)} characters."
  }
  assert {
    condition     = length(resilientjob_checkpoint_bucket.this[0].name) == 63 && startswith(resilientjob_checkpoint_bucket.this[0].name, "a-project-of-thirty-characters-foundation-mdls-stage-a")
    error_message = "The name of the bucket is ${resilientjob_checkpoint_bucket.this[0].name}."
  }
}
