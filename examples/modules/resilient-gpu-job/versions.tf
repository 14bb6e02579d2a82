terraform {
  required_version = ">= 1.8" # provider functions

  required_providers {
    resilientjob = {
      source  = "resilientjob/resilientjob"
      version = ">= 0.1.0"
    }
  }
}
