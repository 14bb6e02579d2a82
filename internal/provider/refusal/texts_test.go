// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal_test

import (
	"github.com/hashicorp/terraform-plugin-framework/path"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/refusal"
)

// sample is a text of Google's as it was seen, or a variant of one.
type sample struct {
	title string
	text  string
	// code is that of an answer; operation says that an operation ended in it,
	// reason is the machine-readable reason. With ready the text is that of the
	// Ready condition of a job.
	code      codes.Code
	operation bool
	reason    string
	ready     bool
	// about changes the job that the text is about.
	about func(*refusal.Subject)

	kind refusal.Kind
	at   string
	// says and not are words that the explanation must have and must not have.
	says, not []string
}

// example is the job that the texts are about.
func example() *refusal.Subject {
	secret := func(root, key string) path.Path {
		p := path.Root(root).AtMapKey(key).AtName("secret")
		if root == "volumes" {
			p = p.AtName("secret")
		}
		return p
	}
	return &refusal.Subject{
		Project: "my-project", Location: "us-central1", Account: "train-1a2b3c4d@my-project.iam.gserviceaccount.com", Owned: true,
		Image: "us-central1-docker.pkg.dev/my-project/images/train:1", GPUType: "nvidia-l4", CPU: 8000, Memory: 32 << 30, Tasks: 8, Parallelism: 4,
		Bucket: "my-checkpoints",
		Secrets: []refusal.SecretUse{
			{At: secret("secret_env", "HF_TOKEN"), Name: "hf-token", Versions: []string{"latest"}},
			{At: secret("secret_env", "HF_TOKEN_OLD"), Name: "hf-token", Versions: []string{"3"}},
			{At: secret("secret_env", "WANDB"), Name: "projects/other-project/secrets/wandb", Versions: []string{"latest"}},
			{At: secret("volumes", "keys"), Name: "ssh-keys", Versions: []string{"latest", "7"}, Volume: true},
		},
	}
}

func named(s *refusal.Subject) {
	s.Owned, s.Account = false, "trainer@other-project.iam.gserviceaccount.com"
}

func rtx(s *refusal.Subject) {
	s.GPUType, s.CPU, s.Memory, s.Parallelism, s.Tasks = "nvidia-rtx-pro-6000", 20000, 80<<30, 0, 3
}

const (
	moreCapacity = "Consider running your workload in a region with greater capacity, or requesting an increase in quota for this region if you are seeing sustained usage near this limit, see https://cloud.google.com/run/quotas."
	maxScalePath = "spec.template.metadata.annotations[autoscaling.knative.dev/maxScale]: "
	envPath      = "spec.template.spec.containers[0].env[1].value_from.secret_key_ref.name: "
)

// samples are the rows of known refusals, one after the other as in the rules.
var samples = []sample{
	{title: "GPU quota, without zonal redundancy (case 53)", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type",
		text: maxScalePath + "You do not have quota for using GPUs without zonal redundancy. Learn more about GPU zonal redundancy: g.co/cloudrun/gpu-redundancy-help\n\nTo request quota: g.co/cloudrun/gpu-quota",
		says: []string{"nvidia-l4 GPUs without zonal redundancy in region us-central1", "Project my-project has no quota", "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion", "4 GPUs", "--preferred-value=4 ", "https://g.co/cloudrun/gpu-quota"}, not: []string{"metadata.annotations", "retry"}},
	{title: "GPU quota, with zonal redundancy", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type", about: func(s *refusal.Subject) { s.ZonalRedundancy = true },
		text: "You do not have quota for using GPUs with zonal redundancy. Learn more about GPU zonal redundancy: g.co/cloudrun/gpu-redundancy-help\nTo request quota: g.co/cloudrun/gpu-quota",
		says: []string{"GPUs with zonal redundancy", "quota NvidiaL4GpuAllocPerProjectRegion", "gpu_zonal_redundancy = false"}},
	{title: "GPU quota, no number, RTX", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type", about: rtx,
		text: "You do not have quota for using GPUs without zonal redundancy.", says: []string{"--quota-id=NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion --preferred-value=3000 ", "3 GPUs"}},
	{title: "GPU quota, unknown GPU type", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type", about: func(s *refusal.Subject) { s.GPUType = "nvidia-x1" },
		text: "You do not have quota for using GPUs without zonal redundancy.", says: []string{"nvidia-x1 GPUs", "https://g.co/cloudrun/gpu-quota)."}, not: []string{"quota-id", "NvidiaL4"}},
	{title: "the switch for redundancy is not known (case 58)", code: codes.InvalidArgument, kind: refusal.Value, at: "gpu_zonal_redundancy",
		text: `Invalid JSON payload received. Unknown name "gpuZonalRedundancyDisabled" at 'job.template.template': Cannot find field.`,
		says: []string{"for jobs in region us-central1", "Set gpu_zonal_redundancy = true: then the field is left out"}},
	{title: "the switch for redundancy is not known, in other words (case 58)", code: codes.InvalidArgument, kind: refusal.Value, at: "gpu_zonal_redundancy",
		text: "unknown field gpuZonalRedundancyDisabled", says: []string{"does not know it"}},
	{title: "GPU quota, at provisioning (case 53)", ready: true, kind: refusal.Quota, at: "gpu_type",
		text: "Quota exceeded for total allowable count of GPUs per project per region.", says: []string{"other jobs and services use it up", "without zonal redundancy", "The next apply sends it again"}},
	{title: "GPU quota, at provisioning, as an operation", code: codes.ResourceExhausted, operation: true, kind: refusal.Quota, at: "gpu_type",
		text: "Quota exceeded for total allowable count of GPUs per project per region.", says: []string{"region us-central1"}, not: []string{"a minute"}},
	{title: "GPU quota with numbers, L4 in whole GPUs", code: codes.InvalidArgument, kind: refusal.Quota, at: "parallelism",
		text: "Quota violated: NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 4 allowed: 1", says: []string{"4 GPUs requested, 1 GPU allowed", "set parallelism = 1", "parallelism is 4 now"}, not: []string{"0.004"}},
	{title: "GPU quota with numbers, RTX in thousandths", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type", about: rtx,
		text: "Quota violated:\nNvidiaRtxPro6000GpuAllocPerProjectRegion requested: 3000 allowed: 0", says: []string{"3 GPUs requested, 0 GPUs allowed", "Not even one task"}, not: []string{"3000 GPU"}},
	{title: "GPU quota with numbers, family not known", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type",
		text: "Quota violated:\nNvidiaX1GpuAllocPerProjectRegion requested: 3000 allowed: 16", says: []string{"3000 requested, 16 allowed (quota NvidiaX1GpuAllocPerProjectRegion, in its own unit)"}},
	{title: "CPU and memory quota (case 55)", code: codes.InvalidArgument, kind: refusal.Quota, at: "cpu", about: func(s *refusal.Subject) { s.CPU, s.Memory = 24000, 80<<30 },
		text: maxScalePath + "Max instances must be set to 0 or fewer to set the requested total CPU.\n" + moreCapacity + "\n\nQuota violated:\nCpuAllocPerProjectRegion requested: 60000 allowed: 20000\nMemAllocPerProjectRegion requested: 85899345920 allowed: 42949672960",
		says: []string{"60 vCPU requested, 20 vCPU allowed (quota CpuAllocPerProjectRegion)", "80 GiB requested, 40 GiB allowed (quota MemAllocPerProjectRegion)", "us-central1", "my-project", "Not even one task", "max instances is, for a job,"}, not: []string{"60000 requested", "maxScale"}},
	{title: "memory quota that one task fits into, line broken", code: codes.InvalidArgument, kind: refusal.Quota, at: "parallelism",
		text: "Quota violated:\n- MemAllocPerProjectRegion requested: 137438953472\n  allowed: 42949672960", says: []string{"128 GiB requested, 40 GiB allowed", "set parallelism = 1 (parallelism is 4 now)"}},
	{title: "CPU quota, parallelism not set", code: codes.InvalidArgument, kind: refusal.Quota, at: "task_count", about: func(s *refusal.Subject) { s.Parallelism = 0 },
		text: "Quota violated:\nCpuAllocPerProjectRegion requested: 64000 allowed: 20000", says: []string{"set parallelism = 2 (it is not set, and task_count is 8)"}},
	{title: "a quota that is not known", code: codes.InvalidArgument, kind: refusal.Quota, at: "",
		text: "Quota violated:\nMaxInstancesLimitPerProjectRegion requested: 10 allowed: 5", says: []string{"10 requested, 5 allowed (quota MaxInstancesLimitPerProjectRegion"}},
	{title: "max instances without numbers", code: codes.InvalidArgument, kind: refusal.Quota, at: "parallelism",
		text: maxScalePath + "Max instances must be set to 2 or fewer in order to set the requested total memory.", says: []string{"at most 2 tasks at the same time", "Set parallelism = 2 or less (parallelism is 4 now)"}},
	{title: "max instances for GPUs", code: codes.InvalidArgument, kind: refusal.Quota, at: "gpu_type",
		text: "Max instances must be set to 2 or fewer to set the requested total GPU.", says: []string{"at most 2 tasks", "--quota-id=NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"}},
	{title: "CPU quota that looks like a wrong value (case 64)", code: codes.InvalidArgument, kind: refusal.Quota, at: "parallelism",
		text: "spec.template.spec.containers.resources.limits.cpu: Invalid value specified for cpu. For the specified value, maxScale may not exceed 2.\nConsider running your workload in a region with greater capacity, decreasing your requested cpu-per-instance, or requesting an increase in quota for this region if you are seeing sustained usage near this limit, see https://cloud.google.com/run/quotas. Your project may gain access to further scaling by adding billing information to your account.",
		says: []string{"The value of cpu is not wrong", "with 8 vCPU a task", "at most 2 tasks", "Set parallelism = 2 or less (parallelism is 4 now)", "--preferred-value=32000 ", "billing"}, not: []string{"maxScale", "correct cpu"}},
	{title: "CPU quota of nothing", code: codes.InvalidArgument, kind: refusal.Quota, at: "cpu",
		text: "Invalid value specified for cpu. For the specified value, maxScale may not exceed 0.", says: []string{"at most 0 tasks", "No parallelism fits"}},
	{title: "a quota of all of Google's APIs", code: codes.ResourceExhausted, reason: "QUOTA_EXCEEDED", kind: refusal.Quota,
		text: "Quota exceeded for quota metric 'Jobs' and limit 'Jobs per project per region' of service 'run.googleapis.com' for consumer 'project_number:123'.", says: []string{`quota "Jobs"`, "run.googleapis.com"}, not: []string{"a minute"}},
	{title: "rate limit with details", code: codes.ResourceExhausted, reason: "RATE_LIMIT_EXCEEDED", kind: refusal.RateLimit,
		text: "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region' of service 'run.googleapis.com' for consumer 'project_number:123'.", says: []string{"so many calls a minute", "Wait a minute", "terraform apply -parallelism=3"}, not: []string{"used up"}},
	{title: "rate limit without details", code: codes.ResourceExhausted, kind: refusal.RateLimit, text: "Too Many Requests", says: []string{"The configuration is valid"}},
	{title: "too many service accounts", code: codes.ResourceExhausted, kind: refusal.Quota, text: "Maximum number of service accounts on project reached.", says: []string{"as many accounts as it may", "service_account = EMAIL"}, not: []string{"Wait a minute"}},

	{title: "image missing", code: codes.NotFound, operation: true, kind: refusal.Image, at: "image",
		text: "Image 'us-central1-docker.pkg.dev/my-project/images/train:1' not found.", says: []string{"Push us-central1-docker.pkg.dev/my-project/images/train:1, or correct the image", "gcloud artifacts docker images list us-central1-docker.pkg.dev/my-project/images", "the next apply sends it again"}},
	{title: "image missing, by its reason", ready: true, reason: "CONTAINER_MISSING", kind: refusal.Image, at: "image", text: "The image could not be pulled.", says: []string{"There is no image us-central1-docker.pkg.dev/my-project/images/train:1"}},
	{title: "image unreadable (case 34)", code: codes.Internal, operation: true, kind: refusal.Image, at: "image",
		text: "Google Cloud Run Service Agent service-123@serverless-robot-prod.iam.gserviceaccount.com must have permission to read the image, europe-docker.pkg.dev/other/r/i:1. Ensure that the provided container image URL is correct and that the above account has permission to access the image. If you just enabled the Cloud Run API, the permissions might take a few minutes to propagate. Note that the image is from project [other], which is not the same as this project [my-project]. Permission must be granted to the Google Cloud Run Service Agent service-123@serverless-robot-prod.iam.gserviceaccount.com from this project.",
		says: []string{"gcloud artifacts repositories add-iam-policy-binding r --location=europe --project=other --member=serviceAccount:service-123@serverless-robot-prod.iam.gserviceaccount.com --role=roles/artifactregistry.reader", "take some minutes"}, not: []string{"PROJECT_NUMBER", "PROJECT_ID"}},
	{title: "image unreadable, older spelling", code: codes.Internal, operation: true, kind: refusal.Image, at: "image",
		text: "Google Cloud Run Service Agent must have permission to read the image, gcr.io/p/i. Ensure that the provided container image URL is correct and that the above account has permission to access the image.", says: []string{"gcr.io/p/i could not be read", "PROJECT_NUMBER is that of project my-project: gcloud projects describe my-project"}},
	{title: "image of another registry", code: codes.InvalidArgument, kind: refusal.Image, at: "image",
		text: "spec.template.spec.containers[0].image: Expected an image path like [host/]repo-path[:tag and/or @digest], where host is one of [region.]gcr.io, [region-]docker.pkg.dev or docker.io but obtained ghcr.io/me/train:1. To deploy container images from other public or private registries, set up an Artifact Registry remote repository.", says: []string{"ghcr.io/me/train:1 is elsewhere", "remote repository"}, not: []string{"containers[0]"}},
	{title: "image not authorized", ready: true, reason: "CONTAINER_IMAGE_UNAUTHORIZED", kind: refusal.Image, at: "image", text: "Container image is not authorized by policy.", says: []string{"Binary Authorization"}},

	{title: "one secret missing", code: codes.FailedPrecondition, operation: true, kind: refusal.Secret, at: `secret_env["HF_TOKEN"].secret`,
		text: envPath + "Secret projects/123/secrets/hf-token/versions/latest was not found", says: []string{"secret hf-token, version latest (secret_env[\"HF_TOKEN\"].secret)", "gcloud secrets versions list hf-token --project=123"}, not: []string{"env[1]", "HF_TOKEN_OLD"}},
	{title: "another version of the same secret", code: codes.Internal, operation: true, kind: refusal.Secret, at: `secret_env["HF_TOKEN_OLD"].secret`,
		text: envPath + "Secret projects/123/secrets/hf-token/versions/3 was not found", says: []string{"version 3"}},
	{title: "a secret in a volume", code: codes.FailedPrecondition, operation: true, kind: refusal.Secret, at: `volumes["keys"].secret.secret`,
		text: "spec.template.spec.volumes[0].secret.items[0].key: Secret projects/123/secrets/ssh-keys/versions/7 was not found", says: []string{`secret ssh-keys, version 7 (volumes["keys"].secret.secret)`}, not: []string{"items[0]"}},
	{title: "several secrets", code: codes.FailedPrecondition, operation: true, kind: refusal.Secret, at: "secret_env",
		text: envPath + "Secret projects/123/secrets/hf-token/versions/latest was not found\nspec.template.spec.containers[0].env[2].value_from.secret_key_ref.name: Secret projects/456/secrets/wandb/versions/latest was not found",
		says: []string{"2 secrets", `secret_env["HF_TOKEN"].secret`, `secret_env["WANDB"].secret`, "list hf-token --project=123", "list wandb --project=456"}},
	{title: "secrets of a variable and of a volume", code: codes.Internal, operation: true, kind: refusal.Secret, at: "",
		text: envPath + "Permission denied on secret: projects/123/secrets/hf-token/versions/latest for Revision service account train-1a2b3c4d@my-project.iam.gserviceaccount.com. The service account used must be granted the 'Secret Manager Secret Accessor' role (roles/secretmanager.secretAccessor) at the secret, project or higher level.\nspec.template.spec.volumes[0].secret.items[0].key: Secret projects/123/secrets/ssh-keys/versions/latest was not found",
		says: []string{"may not read it", "there is no such secret or version", `volumes["keys"]`}},
	{title: "secret unreadable (case 35)", code: codes.Internal, operation: true, kind: refusal.Secret, at: `secret_env["WANDB"].secret`,
		text: envPath + "Permission denied on secret: projects/456/secrets/wandb/versions/latest for Revision service account train-1a2b3c4d@my-project.iam.gserviceaccount.com.",
		says: []string{"Give train-1a2b3c4d@my-project.iam.gserviceaccount.com the role roles/secretmanager.secretAccessor on the secret wandb", "grant = true", "gcloud secrets add-iam-policy-binding wandb --project=456 --member=serviceAccount:train-1a2b3c4d@my-project.iam.gserviceaccount.com --role=roles/secretmanager.secretAccessor"}},
	{title: "a secret that the configuration does not name", code: codes.FailedPrecondition, operation: true, kind: refusal.Secret, at: "",
		text: "Secret projects/123/secrets/unheard-of/versions/1 was not found", says: []string{"secret unheard-of, version 1: there is no such"}},
	{title: "Secret Manager is off", code: codes.FailedPrecondition, operation: true, kind: refusal.API, at: "",
		text: envPath + "Secret Manager API has not been used in project 123 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/secretmanager.googleapis.com/overview?project=123 then retry.", says: []string{"gcloud services enable secretmanager.googleapis.com --project=123"}},
	{title: "secrets, by the reason", ready: true, reason: "SECRETS_ACCESS_CHECK_FAILED", kind: refusal.Secret, text: "Could not check.", says: []string{"roles/secretmanager.secretAccessor"}},

	{title: "CPU and memory do not fit (case 62)", code: codes.InvalidArgument, kind: refusal.Size, at: "memory",
		text: "spec.template.spec.containers.resources.limits.memory: Invalid value specified for memory with gen2 execution environment. For 1.0 CPU, memory must be between 512Mi and 4Gi inclusive.", says: []string{"A task with 1 vCPU has 512Mi to 4Gi of memory. The job asks for 32 GiB.", "Set memory to 512Mi to 4Gi"}, not: []string{"quota"}},
	{title: "CPU below one (case 61)", code: codes.InvalidArgument, kind: refusal.Size, at: "cpu",
		text: "spec.template.spec.containers.resources.limits.cpu: Invalid value specified for cpu. Total cpu < 1 is not supported with gen2 execution environment.", says: []string{"no tasks with this cpu"}, not: []string{"quota"}},
	{title: "memory below what the GPU needs", code: codes.InvalidArgument, kind: refusal.Size, at: "memory", text: "In order to set GPU, memory must be at least 16Gi.", says: []string{`Set memory = "16Gi" or more`}},
	{title: "launch stage (case 16)", code: codes.InvalidArgument, kind: refusal.Stage, at: "launch_stage",
		text: "The feature 'GPU timeout' is not supported in the declared launch stage on resource R. The launch stage annotation should be specified at least as ALPHA.", says: []string{`"GPU timeout"`, `launch_stage = "ALPHA"`}},
	{title: "launch stage, no stage named", code: codes.InvalidArgument, kind: refusal.Stage, at: "launch_stage", text: "The feature 'X' is not supported in the declared launch stage", says: []string{`launch_stage = "BETA"`}},
	{title: "first generation (case 17)", code: codes.InvalidArgument, kind: refusal.Value, at: "annotations",
		text: "template.annotations: Annotation 'run.googleapis.com/execution-environment' with value 'gen1' is not supported on resources of kind Execution.", says: []string{"always run in the second"}},
	{title: "reserved variable", code: codes.InvalidArgument, kind: refusal.Value, at: "env", text: "spec.template.spec.containers[0].env: The following reserved env names were provided: PORT. These values are automatically set by the system.", says: []string{"PORT."}},
	{title: "conflict", code: codes.Aborted, kind: refusal.Conflict, text: "Conflict for resource 'train': version '1756928524485880' was specified but current version is '1756928530112233'.", says: []string{`"train"`, "nothing was overwritten"}, not: []string{"1756928524485880"}},
	{title: "job gone", code: codes.NotFound, kind: refusal.Missing, text: "Resource 'train' of kind 'JOB' in region 'us-central1' in project 'my-project' does not exist.", says: []string{"no job train in region us-central1 of project my-project"}},
	{title: "execution has ended", code: codes.FailedPrecondition, kind: refusal.Conflict, text: "Execution 'train-bx4kz' cannot be cancelled because it is not running.", says: []string{"train-bx4kz ended before"}},
	{title: "bare precondition", code: codes.FailedPrecondition, kind: refusal.Conflict, text: "Precondition check failed.", says: []string{"does not say which condition"}},
	{title: "network", ready: true, reason: "VPC_NETWORK_NOT_FOUND", kind: refusal.Network, at: "network", text: "VPC network not found.", says: []string{"gcloud compute networks subnets list --regions=us-central1"}},
	{title: "encryption key", ready: true, reason: "ENCRYPTION_KEY_PERMISSION_DENIED", kind: refusal.Key, at: "encryption_key", text: "Permission denied on the key.", says: []string{"roles/cloudkms.cryptoKeyEncrypterDecrypter", "service-PROJECT_NUMBER@"}},
	{title: "Cloud Run itself", ready: true, reason: "INTERNAL", kind: refusal.Platform, text: "Internal error.", says: []string{"does not blame the configuration"}},

	{title: "actAs, named account", code: codes.PermissionDenied, kind: refusal.Permission, at: "service_account", about: named,
		text: "Permission 'iam.serviceaccounts.actAs' denied on service account trainer@other-project.iam.gserviceaccount.com (or it may not exist).",
		says: []string{"roles/iam.serviceAccountUser on trainer@other-project.iam.gserviceaccount.com,", "gcloud iam service-accounts add-iam-policy-binding trainer@other-project.iam.gserviceaccount.com --member=MEMBER --role=roles/iam.serviceAccountUser --project=other-project", "MEMBER is the account that Terraform runs as"}},
	{title: "actAs, account of the provider's", code: codes.PermissionDenied, kind: refusal.Permission,
		text: "Permission 'iam.serviceAccounts.actAs' denied on service account train-1a2b3c4d@my-project.iam.gserviceaccount.com (or it may not exist).",
		says: []string{"gcloud projects add-iam-policy-binding my-project --member=MEMBER --role=roles/iam.serviceAccountUser"}, not: []string{"correct service_account"}},
	{title: "service agent, account of another project (case 83)", code: codes.PermissionDenied, kind: refusal.Permission, at: "service_account", about: named,
		text: "Google Cloud Run Service Agent does not have permission to get access tokens for the service account trainer@other-project.iam.gserviceaccount.com. Please give service-123@serverless-robot-prod.iam.gserviceaccount.com permission iam.serviceAccounts.getAccessToken on the service account. Alternatively, if the service account is unspecified or in the same project you are deploying in, ensure that the Service Agent is assigned the Google Cloud Run Service Agent role roles/run.serviceAgent.",
		says: []string{"service-123@serverless-robot-prod.iam.gserviceaccount.com", "roles/iam.serviceAccountTokenCreator on trainer@other-project.iam.gserviceaccount.com", "--project=other-project"}, not: []string{"PROJECT_NUMBER"}},
	{title: "service agent, account of the same project", code: codes.PermissionDenied, kind: refusal.Permission,
		text: "Google Cloud Run Service Agent does not have permission to get access tokens for the service account train-1a2b3c4d@my-project.iam.gserviceaccount.com;", says: []string{"roles/run.serviceAgent", "PROJECT_NUMBER is that of project my-project"}},
	{title: "an API is off", code: codes.PermissionDenied, reason: "SERVICE_DISABLED", kind: refusal.API,
		text: "Cloud Run Admin API has not been used in project 123 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/run.googleapis.com/overview?project=123 then retry.", says: []string{"gcloud services enable run.googleapis.com --project=123"}, not: []string{"console.developers.google.com --"}},
	{title: "no billing", code: codes.PermissionDenied, kind: refusal.Billing, text: "The project to be billed is associated with an absent billing account.", says: []string{"my-project has none"}},
	{title: "VPC Service Controls", code: codes.PermissionDenied, kind: refusal.Policy, text: "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: MdZIaeqiC4dBZdUq", says: []string{"MdZIaeqiC4dBZdUq."}},
	{title: "member outside the organization", code: codes.InvalidArgument, kind: refusal.Policy, text: "One or more users named in the policy do not belong to a permitted customer, perhaps due to an organization policy.", says: []string{"iam.allowedPolicyMemberDomains"}},
	{title: "no new accounts", code: codes.FailedPrecondition, kind: refusal.Policy, text: "Service account creation is not allowed on this project.", says: []string{"service_account"}},
	{title: "location not permitted", code: codes.FailedPrecondition, kind: refusal.Policy, at: "location", text: "'us' violates constraint 'constraints/gcp.resourceLocations'", says: []string{"us is none of them"}},
	{title: "another constraint", code: codes.FailedPrecondition, kind: refusal.Policy, text: "Constraint constraints/run.allowedVPCEgress violated for projects/my-project attempting to create a job.", says: []string{"run.allowedVPCEgress", "gcloud org-policies describe run.allowedVPCEgress"}},
	{title: "account does not exist, the provider's (case 65)", code: codes.InvalidArgument, kind: refusal.Account, text: "Service account train-1a2b3c4d@my-project.iam.gserviceaccount.com does not exist.", says: []string{"Apply again"}, not: []string{"Correct the address"}},
	{title: "account does not exist, a named one", code: codes.InvalidArgument, kind: refusal.Account, at: "service_account", about: named, text: "Service account trainer@other-project.iam.gserviceaccount.com does not exist.", says: []string{"gcloud iam service-accounts list --project=other-project"}},
	{title: "no right to make jobs", code: codes.PermissionDenied, kind: refusal.Permission, text: "Permission 'run.jobs.create' denied on resource 'projects/my-project/locations/us-central1/jobs/train' (or resource may not exist).", says: []string{"run.jobs.create", "--member=MEMBER --role=roles/run.developer"}},
	{title: "no right to make buckets, caller named", code: codes.PermissionDenied, kind: refusal.Permission, text: "ci@my-project.iam.gserviceaccount.com does not have storage.buckets.create access to the Google Cloud project. Permission 'storage.buckets.create' denied on resource (or it may not exist).", says: []string{"--member=serviceAccount:ci@my-project.iam.gserviceaccount.com --role=roles/storage.admin"}, not: []string{"MEMBER is"}},
	{title: "a right that no role is known for", code: codes.PermissionDenied, kind: refusal.Permission, text: "Permission 'compute.networks.use' denied on 'projects/p/global/networks/n'", says: []string{"compute.networks.use", "Ask whoever administers"}, not: []string{"gcloud"}},

	{title: "role of another kind", code: codes.InvalidArgument, kind: refusal.Policies, text: "Role roles/pubsub.viewer is not supported for this resource.", says: []string{"roles/pubsub.viewer is no role"}},
	{title: "member without type", code: codes.InvalidArgument, kind: refusal.Policies, text: "The member someone@example.com is of an unknown type. Please set a valid type prefix for the member.", says: []string{"serviceAccount:"}},
	{title: "deleted member", code: codes.InvalidArgument, kind: refusal.Policies, text: "Inconsistent representation of deleted member: 'deleted:serviceAccount:a@p.iam.gserviceaccount.com?uid=1' and 'serviceAccount:a@p.iam.gserviceaccount.com'.", says: []string{"gs://my-checkpoints --member='deleted:serviceAccount:a@p.iam.gserviceaccount.com?uid=1'"}},
	{title: "concurrent changes of a policy", code: codes.Aborted, kind: refusal.Conflict, text: "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.", says: []string{"somebody else changed the policy"}},
	{title: "secret without a policy", code: codes.NotFound, kind: refusal.Secret, at: `secret_env["WANDB"].secret`, text: "Secret [projects/456/secrets/wandb] not found.", says: []string{"There is no secret wandb"}},
	{title: "public access", code: codes.FailedPrecondition, kind: refusal.Policies, text: "The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced.", says: []string{"my-checkpoints"}},
	{title: "hierarchical namespace and access", code: codes.InvalidArgument, kind: refusal.Value, at: "hierarchical_namespace", text: "Hierarchical namespace buckets must use uniform bucket-level access."},
	{title: "hierarchical namespace and versioning", code: codes.InvalidArgument, kind: refusal.Value, at: "hierarchical_namespace", text: "Versioning is not supported for hierarchical namespace buckets.", says: []string{"exclude each other"}},
	{title: "location of a bucket", code: codes.InvalidArgument, kind: refusal.Value, at: "location", text: "The specified location constraint is not valid.", says: []string{"cloud.google.com/storage/docs/locations"}},
	{title: "key of a bucket", code: codes.PermissionDenied, kind: refusal.Key, at: "kms_key_name", text: "Permission denied on Cloud KMS key. Please ensure that your Cloud Storage service account has been authorized to use this key.", says: []string{"--authorize-cmek=KEY"}},

	{title: "a text that is not known", code: codes.InvalidArgument, text: "The moon is in the wrong phase.", says: []string{"does not know this text"}, not: []string{"quota", "role"}},
	{title: "a text that is not known, at a field", code: codes.InvalidArgument, at: "task_timeout", text: "template.template.timeout: must be between 1s and 604800s.", says: []string{"does not know this text"}},
	{title: "a field of the first version of the API", code: codes.InvalidArgument, at: "max_retries", text: "spec.template.spec.template.spec.maxRetries: Value is out of range.", says: []string{"correct what it names"}},
	{title: "region without the GPU, a text that nobody has seen", code: codes.InvalidArgument, text: "nvidia-l4 is not available here.", says: []string{"does not know this text"}},
	{title: "unavailable", code: codes.Unavailable, text: "Service Unavailable", says: []string{"https://status.cloud.google.com"}},
	{title: "a used up quota without words", code: codes.ResourceExhausted, reason: "QUOTA_EXCEEDED", text: "No more of it.", says: []string{"A quota or a rate limit is used up"}},
}
