terraform {
  required_providers {
    resilientjob = {
      source = "resilientjob/resilientjob"
    }
  }
}

provider "resilientjob" {
  project = "my-project"
  region  = "us-central1"

  default_labels = {
    team = "research"
  }
}
