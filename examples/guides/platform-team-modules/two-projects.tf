# Two configurations of the provider in one root. A module takes the one that it is given.
provider "resilientjob" {
  alias                       = "vision"
  project                     = "ml-vision"
  region                      = "us-central1"
  impersonate_service_account = "deployer@ml-vision.iam.gserviceaccount.com"
}

provider "resilientjob" {
  alias                       = "speech"
  project                     = "ml-speech"
  region                      = "europe-west4"
  impersonate_service_account = "deployer@ml-speech.iam.gserviceaccount.com"
}

module "segmenter" {
  source    = "../../modules/resilient-gpu-job"
  providers = { resilientjob = resilientjob.vision }

  project         = "ml-vision"
  region          = "us-central1"
  team            = "vision"
  environment     = "dev"
  workload        = "segmenter"
  cost_center     = "cc-1234"
  image           = "us-central1-docker.pkg.dev/ml-images/images/segmenter:v3"
  checkpoint      = { work_time = "24h" }
  gpu_hour_budget = 60
}

module "recognizer" {
  source    = "../../modules/resilient-gpu-job"
  providers = { resilientjob = resilientjob.speech }

  project         = "ml-speech"
  region          = "europe-west4"
  team            = "speech"
  environment     = "dev"
  workload        = "recognizer"
  cost_center     = "cc-4321"
  image           = "us-central1-docker.pkg.dev/ml-images/images/recognizer:v8"
  gpu_type        = "nvidia-rtx-pro-6000"
  checkpoint      = { work_time = "40h", write_time = "5m" }
  gpu_hour_budget = 100
}
