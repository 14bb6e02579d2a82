terraform {
  required_version = ">= 1.8" # as resilient-gpu-job

  required_providers {
    resilientjob = {
      source  = "resilientjob/resilientjob"
      version = ">= 0.1.0"
    }
  }
}
