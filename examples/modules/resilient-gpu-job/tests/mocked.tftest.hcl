# Without any API: the provider is there for its schema and its functions, and nothing is
# called. Right for the module's own logic: names, conditions, what goes where. What the
# platform decides is made up here.

mock_provider "resilientjob" {
  mock_resource "resilientjob_gpu_job" {
    defaults = {
      service_account_email = "vision-dev@ml-platform.iam.gserviceaccount.com"
    }
  }
}

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
  watch           = false # times are random text
}

run "names_and_functions_are_real" {
  assert {
    condition     = output.job_name == "vision-dev-segmenter" && output.max_retries == 4 && local.exposure.gpu_hours == 60
    error_message = "${output.job_name}, ${output.max_retries} retries, ${local.exposure.gpu_hours} GPU hours."
  }
}

# What the provider computes is not: a value of the mock's, zero, or random text.
run "computed_values_are_made_up" {
  assert {
    condition     = output.service_account_email == "vision-dev@ml-platform.iam.gserviceaccount.com"
    error_message = "The account is ${output.service_account_email}."
  }
  assert {
    condition     = output.exposure.gpu_hours == 0 && output.job_id != "projects/ml-platform/locations/us-central1/jobs/vision-dev-segmenter"
    error_message = "A mock has computed ${output.exposure.gpu_hours} GPU hours for ${output.job_id}."
  }
}

# The guard rail asks the function, and so it holds here as well.
run "refuses_more_than_the_budget" {
  command = plan

  variables {
    task_count = 2
  }

  expect_failures = [resilientjob_gpu_job.this]
}
