// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// What users see of the provider block itself, with the real command line.

const anExecution = `
data "resilientjob_execution" "newest" {
  job = "train"
}
`

const aJob = `
resource "resilientjob_gpu_job" "train" {
  name  = "train"
  image = "us-docker.pkg.dev/cloudrun/container/job"
}
`

func TestAccValidate(t *testing.T) {
	t.Parallel()
	tf := acctest.CLI(t, acctest.Emulator(t))
	tf.Write(`
provider "resilientjob" {
  project        = "my-project"
  region         = "us-central1"
  default_labels = { team = "ml" }
}
` + anExecution)
	tf.Validate().Succeeds().SaysNot(provider.EmulatorWarning)

	tf.Write(`
provider "resilientjob" {
  project         = "My Project"
  access_token    = "a"
  credentials     = "b"
  request_timeout = "30"
  endpoints       = { run = "http://proxy.example.com" }
}
` + anExecution)
	tf.Validate().Fails(
		`Error: Invalid project`,
		`"My Project" is not a project: write its id, such as "my-project"`,
		`Error: Conflicting credentials`,
		`credentials and access_token are both set, and only one of them can be used. Remove one of them.`,
		`"30" is not a duration: write "30s"`,
		`The run endpoint "http://proxy.example.com" is plain http on another machine`,
	)
}

func TestAccNoProject(t *testing.T) {
	t.Parallel()
	tf := acctest.CLI(t, acctest.Emulator(t), "GOOGLE_PROJECT=", "GOOGLE_REGION=us-central1")
	tf.Write(anExecution)
	tf.Plan().Fails("names no project, and the provider has none: set project in the provider block or the environment variable GOOGLE_PROJECT")
}

func TestAccNoProjectForAResource(t *testing.T) {
	t.Parallel()
	tf := acctest.CLI(t, acctest.Emulator(t), "GOOGLE_PROJECT=", "GOOGLE_REGION=")
	tf.Write(aJob)
	tf.Plan().Fails(
		"Error: No project",
		`Neither this block nor the provider says in which Google Cloud project. Set project here, or project in the provider "resilientjob" block, or one of the environment variables GOOGLE_PROJECT, GOOGLE_CLOUD_PROJECT and CLOUDSDK_CORE_PROJECT.`,
		"Error: No location",
		`Set location here, or region in the provider "resilientjob" block, or one of the environment variables GOOGLE_REGION and CLOUDSDK_COMPUTE_REGION.`,
	)
}

// A provider block may depend on what the same apply makes: the plan waits, and
// says nothing.
func TestAccUnknownProviderConfiguration(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e, "GOOGLE_PROJECT=", "GOOGLE_REGION=")
	tf.Write(`
resource "terraform_data" "settings" {
  input = { project = "late-project", region = "us-central1", label = "ml" }
}
provider "resilientjob" {
  project        = terraform_data.settings.output.project
  region         = terraform_data.settings.output.region
  default_labels = { team = terraform_data.settings.output.label }
}
` + aJob)
	p := tf.Plan()
	if p.Code != 2 || p.Actions("resilientjob_gpu_job.train") != "create" {
		t.Fatalf("the plan ends with %d:\n%s", p.Code, p.Output())
	}
	tf.Apply().Succeeds()
	s := tf.State()
	if got := s.Attribute("resilientjob_gpu_job.train", "project"); got != "late-project" {
		t.Errorf("project is %v", got)
	}
	if got, ok := s.Attribute("resilientjob_gpu_job.train", "effective_labels").(map[string]any); !ok || got["team"] != "ml" {
		t.Errorf("labels are %v", got)
	}
	tf.Plan().IsEmpty()
	tf.Destroy().Succeeds()
}

func TestAccEmulatorWarning(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Write(`
provider "resilientjob" {
  credentials = "/no/such/file"
}
output "one" { value = 1 }
` + anExecution)
	res := tf.Plan().Fails(
		"Warning: "+provider.EmulatorWarning,
		"The environment variable RESILIENTJOB_EMULATOR_HOST is set: every call goes to "+e.Addr()+", and nothing in Google Cloud is read or changed.",
		"These settings of the provider block have no meaning there and are not used: credentials.",
		"Resource 'train' of kind 'JOB' in region 'us-central1' in project 'acctest-project' does not exist.",
	)
	if n := strings.Count(res.Text(), "Warning: "+provider.EmulatorWarning); n != 1 {
		t.Errorf("the warning stands there %d times:\n%s", n, res.Output())
	}
}

// Google, and the emulator, can tell which programs call. As users have it: the
// provider is a process, and reads its own environment.
func TestAccUserAgent(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e, "TF_APPEND_USER_AGENT=my-module/2").Processes()
	tf.Write(anExecution)
	tf.Plan().Fails("does not exist")
	calls := e.Faults().Calls()
	if len(calls) == 0 {
		t.Fatal("no call was made")
	}
	for _, c := range calls {
		for _, want := range []string{"Terraform/", "terraform-provider-resilientjob/test", "my-module/2"} {
			if !strings.Contains(c.UserAgent, want) {
				t.Errorf("%s came from %q; want %q in it", c.Method, c.UserAgent, want)
			}
		}
	}
}

// The credentials stay out of every message, and out of the plan.
func TestAccCredentialsAreNotShown(t *testing.T) {
	t.Parallel()
	acctest.Emulator(t) // declares that no cloud is needed
	tf := acctest.CLI(t, nil, "GOOGLE_PROJECT=p", "GOOGLE_REGION=us-central1", "GOOGLE_CREDENTIALS=", "GOOGLE_OAUTH_ACCESS_TOKEN=")
	tf.Write(`
provider "resilientjob" {
  credentials = "hunter2-no-such-file"
}
` + anExecution)
	tf.Plan().Fails("Error: Invalid credentials", "the text is neither JSON nor the path of a file that can be read")
}

// A limit of a dated table is refused by validate already, once, also where a
// value comes from the default or from a variable; with plan_validation = "warn"
// validate is silent and the plan warns, once.
func TestAccPlanValidation(t *testing.T) {
	t.Parallel()
	tf := acctest.CLI(t, acctest.Emulator(t))
	config := `
variable "plan_validation" { type = string }
variable "retries" { type = number }
provider "resilientjob" {
  alias           = "asked"
  plan_validation = var.plan_validation
}
resource "resilientjob_gpu_job" "default" {
  name   = "default"
  image  = "us-docker.pkg.dev/cloudrun/container/job"
  memory = "32Gi"
}
resource "resilientjob_gpu_job" "asked" {
  provider    = resilientjob.asked
  name        = "asked"
  image       = "us-docker.pkg.dev/cloudrun/container/job"
  max_retries = 11
}
resource "resilientjob_gpu_job" "later" {
  provider    = resilientjob.asked
  name        = "later"
  image       = "us-docker.pkg.dev/cloudrun/container/job"
  max_retries = var.retries
}
`
	tf.Write(config)
	retries := "Number of retries outside the platform's range"
	// The variables are not known here, and the alias has a process of its own.
	validated := tf.Validate().Fails("Error: Memory does not go with this CPU value", "with resilientjob_gpu_job.default").SaysNot(retries)
	count(t, validated.Text(), "Error: ", 1)

	tf.Write(strings.ReplaceAll(config, `memory = "32Gi"`, ""))
	tf.Validate().Succeeds().SaysNot(retries)
	refused := tf.Plan("-var", "plan_validation=local", "-var", "retries=12").Fails("max_retries is 11", "max_retries is 12", `plan_validation = "warn" in the provider block makes this error a warning`)
	count(t, refused.Text(), "Error: ", 2)

	p := tf.Plan("-var", "plan_validation=warn", "-var", "retries=10")
	if p.Code != 2 {
		t.Fatalf("the plan ends with %d:\n%s", p.Code, p.Output())
	}
	count(t, p.Text(), "Warning: "+retries, 1)
}

func count(t *testing.T, text, part string, want int) {
	t.Helper()
	if n := strings.Count(text, part); n != want {
		t.Errorf("%q stands there %d times, want %d:\n%s", part, n, want, text)
	}
}
