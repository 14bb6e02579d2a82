// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Schema describes the provider block. Nothing is validated by the attributes
// themselves: check and resolve in config.go see the values that become known
// only after validation too, so that each rule stands in one place.
func (p *Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	endpoint := func(api, address string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Base address of " + api + ". Default: `" + address + "`.",
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes long GPU jobs on Google Cloud Run survive interruption: the checkpoint bucket, the job with its identity and grants, and runs that happen exactly once.\n\n" +
			"Every setting is optional. What the block leaves out is taken from the environment variables that Google's own tools and provider read, and credentials at last from Application Default Credentials. " +
			"An empty environment variable counts as unset.\n\n" +
			"With the environment variable `RESILIENTJOB_EMULATOR_HOST=host:port` every call goes to a local emulator instead, without credentials; the provider says so in a warning each time.",
		Attributes: map[string]schema.Attribute{
			"project": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Id of the Google Cloud project of resources that name none. " +
					"Environment, in this order: `GOOGLE_PROJECT`, `GOOGLE_CLOUD_PROJECT`, `CLOUDSDK_CORE_PROJECT`.",
			},
			"region": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Region of resources that name no location, such as `us-central1`. " +
					"Environment, in this order: `GOOGLE_REGION`, `CLOUDSDK_COMPUTE_REGION`.",
			},
			"credentials": schema.StringAttribute{
				Optional:  true,
				Sensitive: true,
				MarkdownDescription: "Path of a credentials file, or its content: JSON of a service account key, a workload identity federation or a user. Not together with `access_token`. " +
					"Environment: `GOOGLE_CREDENTIALS` (path or content), then `GOOGLE_APPLICATION_CREDENTIALS` (path). Default: Application Default Credentials.",
			},
			"access_token": schema.StringAttribute{
				Optional:  true,
				Sensitive: true,
				MarkdownDescription: "OAuth 2.0 access token, for example from `gcloud auth print-access-token`. It is not renewed and is valid for an hour as a rule: too short to wait for a long execution. Not together with `credentials`. " +
					"Environment: `GOOGLE_OAUTH_ACCESS_TOKEN`, which counts before the variables for credentials.",
			},
			"impersonate_service_account": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "E-mail of a service account to act as. The credentials above need `roles/iam.serviceAccountTokenCreator` on it. " +
					"Environment: `GOOGLE_IMPERSONATE_SERVICE_ACCOUNT`.",
			},
			"billing_project": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Project whose quota the API calls use, and which is billed for them, while `user_project_override` is `true`. " +
					"Environment: `GOOGLE_BILLING_PROJECT`.",
			},
			"user_project_override": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether API calls use the quota of `billing_project`, or without one of `project`, instead of the quota of the credentials' own project. Default: `false`. " +
					"Environment: `USER_PROJECT_OVERRIDE`.",
			},
			"default_labels": schema.MapAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Labels for every resource that has labels. A resource's own label of the same key counts before it.",
			},
			"request_timeout": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Longest time for one API request, as a duration such as `30s`. Waiting for an operation takes many requests and is limited by the `timeouts` of the resource instead. Default: `" +
					defaultRequestTimeout.String() + "`.",
			},
			"plan_validation": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "`local` refuses what the platform is known to refuse, in `terraform validate` already where the configuration alone shows it. `warn` turns each refusal that comes from a dated table of the platform's limits into a warning of the plan: " +
					"the way out when Google has raised a limit that this version of the provider does not know yet. What can never work is refused all the same. The guide *Limits and GPU types* lists the rules. Default: `local`.",
			},
			"endpoints": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Base addresses of the APIs, for private or restricted access. An address is `https://HOST`, with a port where it needs one. " +
					"`http://` is accepted for this machine only (`localhost`, `127.0.0.1`, `[::1]`), and no credentials are sent there.",
				Attributes: map[string]schema.Attribute{
					"run":           endpoint("the Cloud Run Admin API", "https://run.googleapis.com"),
					"iam":           endpoint("the IAM API", "https://iam.googleapis.com"),
					"storage":       endpoint("Cloud Storage", "https://storage.googleapis.com"),
					"secretmanager": endpoint("Secret Manager, called for the policies of the secrets that a job names, never for what is in them", "https://secretmanager.googleapis.com"),
					"logging":       endpoint("Cloud Logging", "https://logging.googleapis.com"),
				},
			},
		},
	}
}
