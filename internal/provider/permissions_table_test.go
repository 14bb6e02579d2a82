// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// needed is a permission that a method of the API asks for.
type needed struct {
	permission string
	// when narrows it to some calls; nil is all of them.
	when func(faults.Call) bool
}

const secretAPI = "google.cloud.secretmanager.v1.SecretManagerService/"

// methods are all methods that the provider calls, with what Google asks for:
// cloud.google.com/storage/docs/access-control/iam-json,
// cloud.google.com/run/docs/reference/iam/permissions, and the like of IAM and
// Secret Manager. A method that is not here is refused.
var methods = map[string][]needed{
	"google.cloud.run.v2.Jobs/GetJob":    {{permission: "run.jobs.get"}},
	"google.cloud.run.v2.Jobs/ListJobs":  {{permission: "run.jobs.list"}},
	"google.cloud.run.v2.Jobs/CreateJob": {{permission: "run.jobs.create"}, {permission: "iam.serviceAccounts.actAs"}},
	"google.cloud.run.v2.Jobs/UpdateJob": {{permission: "run.jobs.update"}, {permission: "iam.serviceAccounts.actAs"}},
	"google.cloud.run.v2.Jobs/DeleteJob": {{permission: "run.jobs.delete"}},
	"google.cloud.run.v2.Jobs/RunJob": {{permission: "run.jobs.run"}, {"run.jobs.runWithOverrides", func(c faults.Call) bool {
		r, ok := c.Request.(*runpb.RunJobRequest)
		return ok && r.GetOverrides() != nil
	}}},
	"google.cloud.run.v2.Executions/GetExecution":    {{permission: "run.executions.get"}},
	"google.cloud.run.v2.Executions/ListExecutions":  {{permission: "run.executions.list"}},
	"google.cloud.run.v2.Executions/CancelExecution": {{permission: "run.executions.cancel"}},
	"google.cloud.run.v2.Tasks/ListTasks":            {{permission: "run.tasks.list"}},
	"google.longrunning.Operations/GetOperation":     {{permission: "run.operations.get"}},
	"google.longrunning.Operations/WaitOperation":    {{permission: "run.operations.get"}},

	"google.iam.admin.v1.IAM/CreateServiceAccount": {{permission: "iam.serviceAccounts.create"}},
	"google.iam.admin.v1.IAM/GetServiceAccount":    {{permission: "iam.serviceAccounts.get"}},
	"google.iam.admin.v1.IAM/ListServiceAccounts":  {{permission: "iam.serviceAccounts.list"}},
	"google.iam.admin.v1.IAM/DeleteServiceAccount": {{permission: "iam.serviceAccounts.delete"}},

	"storage.buckets.insert":             {{permission: "storage.buckets.create"}},
	"storage.buckets.get":                {{permission: "storage.buckets.get"}},
	"storage.buckets.patch":              {{permission: "storage.buckets.update"}, {"storage.buckets.setIamPolicy", changesPublicAccess}},
	"storage.buckets.delete":             {{permission: "storage.buckets.delete"}},
	"storage.buckets.getIamPolicy":       {{permission: "storage.buckets.getIamPolicy"}},
	"storage.buckets.setIamPolicy":       {{permission: "storage.buckets.setIamPolicy"}},
	"storage.buckets.testIamPermissions": nil,
	"storage.objects.list":               {{permission: "storage.objects.list"}},
	"storage.objects.delete":             {{permission: "storage.objects.delete"}},
	"storage.folders.list":               {{permission: "storage.folders.list"}},
	"storage.folders.delete":             {{permission: "storage.folders.delete"}},
	"storage.managedFolders.list":        {{permission: "storage.managedFolders.list"}},
	"storage.managedFolders.delete":      {{permission: "storage.managedFolders.delete"}},

	"google.logging.v2.LoggingServiceV2/ListLogEntries": {{permission: "logging.logEntries.list"}},

	secretAPI + "GetSecret":          {{permission: "secretmanager.secrets.get"}},
	secretAPI + "GetIamPolicy":       {{permission: "secretmanager.secrets.getIamPolicy"}},
	secretAPI + "SetIamPolicy":       {{permission: "secretmanager.secrets.setIamPolicy"}},
	secretAPI + "TestIamPermissions": nil,
}

// changesPublicAccess: Google asks for the right to set the policy of a bucket
// when its public access prevention changes.
func changesPublicAccess(c faults.Call) bool {
	var patch struct {
		IamConfiguration struct{ PublicAccessPrevention string }
	}
	return json.Unmarshal(c.Body, &patch) == nil && patch.IamConfiguration.PublicAccessPrevention != ""
}

// predefined are the roles that the guide names, with those of their permissions
// that the provider uses.
var predefined = map[string][]string{
	"roles/run.developer": {"run.jobs.create", "run.jobs.get", "run.jobs.update", "run.jobs.delete", "run.jobs.run", "run.jobs.runWithOverrides",
		"run.executions.get", "run.executions.list", "run.executions.cancel", "run.executions.delete", "run.tasks.list", "run.operations.get"},
	"roles/run.viewer":              {"run.jobs.get", "run.jobs.list", "run.executions.get", "run.executions.list", "run.tasks.list", "run.operations.get"},
	"roles/run.invoker":             {"run.jobs.run"},
	"roles/iam.serviceAccountAdmin": {"iam.serviceAccounts.create", "iam.serviceAccounts.get", "iam.serviceAccounts.list", "iam.serviceAccounts.delete"},
	"roles/iam.serviceAccountUser":  {"iam.serviceAccounts.actAs", "iam.serviceAccounts.get"},
	"roles/storage.admin": {"storage.buckets.create", "storage.buckets.get", "storage.buckets.update", "storage.buckets.delete", "storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy",
		"storage.objects.list", "storage.objects.delete", "storage.folders.list", "storage.folders.delete", "storage.managedFolders.list", "storage.managedFolders.delete"},
	"roles/storage.objectViewer": {"storage.objects.list", "storage.folders.list", "storage.managedFolders.list"},
	"roles/storage.objectUser": {"storage.objects.list", "storage.objects.delete", "storage.folders.list", "storage.folders.delete",
		"storage.managedFolders.list", "storage.managedFolders.delete"},
	"roles/logging.viewer":       {"logging.logEntries.list"},
	"roles/secretmanager.admin":  {"secretmanager.secrets.get", "secretmanager.secrets.getIamPolicy", "secretmanager.secrets.setIamPolicy"},
	"roles/secretmanager.viewer": {"secretmanager.secrets.get", "secretmanager.secrets.getIamPolicy"},
}

// The texts of the guide's gcloud lines. MEMBER is the account that Terraform
// runs as.
const (
	onProject = "gcloud projects add-iam-policy-binding PROJECT --member=MEMBER --role="
	onBucket  = "gcloud storage buckets add-iam-policy-binding gs://BUCKET --member=MEMBER --role="
	onSecret  = "gcloud secrets add-iam-policy-binding SECRET --project=PROJECT --member=MEMBER --role="
	onAccount = "gcloud iam service-accounts add-iam-policy-binding ACCOUNT --project=PROJECT --member=MEMBER --role="
)

// right is a permission that a use needs.
type right struct {
	name string
	// at is the attribute at which its absence is reported; empty for the
	// resource as a whole.
	at string
	// without says what happens when it is missing and the apply goes on; empty
	// when it does not.
	without string
}

// use is something that a configuration does, with what the account that
// Terraform runs as needs for it.
type use struct {
	// key names it in tests, title in the guide.
	key, title string
	// also are the uses whose permissions it needs as well.
	also   []string
	rights []right
	// roles are predefined roles that have these permissions, each with the
	// gcloud line that gives it.
	roles  []string
	course course
}

// names are the permissions of a use alone.
func (u use) names() []string {
	var out []string
	for _, r := range u.rights {
		out = append(out, r.name)
	}
	return out
}

// whole are the permissions of a use with those of the uses that it builds on.
func (u use) whole() []string {
	out := u.names()
	for _, key := range u.also {
		out = append(out, useNamed(key).whole()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func useNamed(key string) use {
	return uses[slices.IndexFunc(uses, func(u use) bool { return u.key == key })]
}

// roleOf is the role of a gcloud line.
func roleOf(line string) string { return line[strings.LastIndex(line, "=")+1:] }

func withSecret(name string) string {
	return `secret_env = { TOKEN = { secret = "` + name + `", version = "1" } }`
}

var jobRights = []right{
	{name: "run.jobs.get"}, {name: "run.jobs.create"}, {name: "run.jobs.update"}, {name: "run.jobs.delete"},
	{name: "run.operations.get", without: "the job itself is read instead, until it is ready"}, {name: "run.executions.list"},
}

// uses are the rows of the guide.
var uses = []use{
	{
		key: "owned", title: "`resilientjob_gpu_job` with an account of its own: create, read, update, destroy",
		rights: append(slices.Clone(jobRights), right{name: "iam.serviceAccounts.create", at: "service_account_id"}, right{name: "iam.serviceAccounts.get", at: "service_account_id"},
			right{name: "iam.serviceAccounts.delete", at: "service_account_unique_id"}, right{name: "iam.serviceAccounts.actAs"}),
		roles:  []string{onProject + "roles/run.developer", onProject + "roles/iam.serviceAccountAdmin", onProject + "roles/iam.serviceAccountUser"},
		course: jobCourse(""),
	},
	{
		key: "named", title: "`resilientjob_gpu_job` with `service_account`: create, read, update, destroy",
		rights: append(slices.Clone(jobRights), right{name: "iam.serviceAccounts.actAs", at: "service_account"}),
		roles:  []string{onProject + "roles/run.developer", onAccount + "roles/iam.serviceAccountUser"},
		course: jobCourse(`service_account = "` + theTrainer + `"`),
	},
	{
		key: "bucket grant", title: "… with `checkpoint` or a bucket in `volumes`, and `grant` on", also: []string{"owned"},
		rights: []right{
			{name: "storage.buckets.getIamPolicy", at: "checkpoint.bucket"}, {name: "storage.buckets.setIamPolicy", at: "checkpoint.bucket"},
			{name: "storage.buckets.get", without: "whether the bucket exists, and lies where the job does, is not checked"},
		},
		roles:  []string{onBucket + "roles/storage.admin"},
		course: jobCourse(`checkpoint = { bucket = "others-checkpoints" }`),
	},
	{
		key: "secret grant", title: "… with `secret_env` or a secret in `volumes`, and `grant` on", also: []string{"owned"},
		rights: []right{
			{name: "secretmanager.secrets.getIamPolicy", at: "secret_env.TOKEN.secret"}, {name: "secretmanager.secrets.setIamPolicy", at: "secret_env.TOKEN.secret"},
		},
		roles:  []string{onSecret + "roles/secretmanager.admin"},
		course: jobCourse(withSecret("token")),
	},
	{
		key: "secret respelled", title: "… with a secret, when the project of a secret is written as its number instead of its id, or the other way round", also: []string{"secret grant"},
		rights: []right{{name: "secretmanager.secrets.get", without: "the two names are taken for the same secret"}},
		roles:  []string{onSecret + "roles/secretmanager.admin"},
		course: course{
			applies("create", jobBlock(withSecret("projects/"+theProject+"/secrets/token"))), applies("change", jobBlock(withSecret("projects/NUMBER/secrets/token"))),
			destroys(jobBlock(withSecret("projects/NUMBER/secrets/token"))),
		},
	},
	{
		key: "cancel", title: "… with `cancel_running_executions`", also: []string{"owned"},
		rights: []right{{name: "run.executions.cancel"}, {name: "run.executions.get"}},
		roles:  []string{onProject + "roles/run.developer"},
		course: jobCourse("cancel_running_executions = true").before("destroy", (*permissionWorld).startRun),
	},
	{
		key: "taint", title: "… when it is tainted", also: []string{"owned"},
		rights: []right{{name: "iam.serviceAccounts.list", without: "accounts of the job that a failed change of its account has left are not found"}},
		roles:  []string{onProject + "roles/iam.serviceAccountAdmin"},
		course: jobCourse("").before("change", func(w *permissionWorld) { w.core.Taint("resilientjob_gpu_job.j") }),
	},
	{
		key: "job import", title: "`resilientjob_gpu_job`: import",
		rights: []right{
			{name: "run.jobs.get"},
			{name: "iam.serviceAccounts.get", without: "an account that the provider made is taken for one that was named in `service_account`"},
			{name: "storage.buckets.getIamPolicy", without: "the roles on buckets are not recorded, and not revoked later"},
			{name: "secretmanager.secrets.getIamPolicy", without: "the roles on secrets are not recorded, and not revoked later"},
		},
		roles:  []string{onProject + "roles/run.viewer", onProject + "roles/iam.serviceAccountAdmin", onBucket + "roles/storage.admin", onSecret + "roles/secretmanager.viewer"},
		course: imports("resilientjob_gpu_job.j", "others", jobBlock("name = \"others\"")),
	},
	{
		key: "bucket", title: "`resilientjob_checkpoint_bucket`: create, read, update, destroy",
		rights: []right{
			{name: "storage.buckets.create", at: "name"}, {name: "storage.buckets.get", at: "name"},
			{name: "storage.buckets.update", at: "name"}, {name: "storage.buckets.delete", at: "name"},
			{name: "run.jobs.list", without: "a destroy warns, and does not see executions that save to the bucket"},
		},
		roles:  []string{onProject + "roles/storage.admin", onProject + "roles/run.viewer"},
		course: bucketCourse(""),
	},
	{
		key: "members", title: "… with `readers` or `writers`", also: []string{"bucket"},
		rights: []right{{name: "storage.buckets.getIamPolicy", at: "readers"}, {name: "storage.buckets.setIamPolicy", at: "readers"}},
		roles:  []string{onProject + "roles/storage.admin"},
		course: bucketCourse(`readers = ["serviceAccount:` + theTrainer + `"]`),
	},
	{
		key: "public access", title: "… when somebody has taken the public access prevention away, and Terraform puts it back", also: []string{"bucket"},
		rights: []right{{name: "storage.buckets.setIamPolicy", at: "name"}},
		roles:  []string{onProject + "roles/storage.admin"},
		course: bucketCourse("").before("change", (*permissionWorld).openBucket),
	},
	{
		key: "refused destroy", title: "… for a destroy without `force_destroy` of a bucket that is not empty, which is refused", also: []string{"bucket"},
		rights: []right{{name: "storage.objects.list", at: "force_destroy", without: "how much the bucket holds is not said"}},
		roles:  []string{onProject + "roles/storage.admin"},
		course: bucketCourse("").before("destroy", (*permissionWorld).fill).fails("destroy", "Bucket is not empty"),
	},
	{
		key: "force_destroy", title: "… with `force_destroy`, when the bucket is not empty", also: []string{"bucket"},
		rights: []right{
			{name: "storage.objects.list", at: "name"}, {name: "storage.objects.delete", at: "name"}, {name: "storage.folders.list", at: "name"},
			{name: "storage.folders.delete", at: "name"}, {name: "storage.managedFolders.list", at: "name"}, {name: "storage.managedFolders.delete", at: "name"},
		},
		roles:  []string{onProject + "roles/storage.admin"},
		course: bucketCourse("force_destroy = true").before("destroy", (*permissionWorld).fill),
	},
	{
		key: "bucket import", title: "`resilientjob_checkpoint_bucket`: import",
		rights: []right{{name: "storage.buckets.get"}},
		roles:  []string{onBucket + "roles/storage.admin"},
		course: imports("resilientjob_checkpoint_bucket.b", "others-checkpoints", providerBlock+"resource \"resilientjob_checkpoint_bucket\" \"b\" {\n  name = \"others-checkpoints\"\n}\n"),
	},
	{
		key: "execution", title: "`resilientjob_execution`: create, read, destroy",
		rights: []right{
			{name: "run.jobs.get", at: "job"}, {name: "run.executions.list"}, {name: "run.jobs.run"}, {name: "run.jobs.runWithOverrides"},
			{name: "run.executions.get"},
		},
		roles:  []string{onProject + "roles/run.developer"},
		course: executionCourse(""),
	},
	{
		key: "failed execution", title: "… when a task failed", also: []string{"execution"},
		rights: []right{{name: "run.tasks.list", without: "the error does not say which tasks failed, and why"}},
		roles:  []string{onProject + "roles/run.developer"},
		course: executionCourse("").before("create", (*permissionWorld).failTasks).fails("create", "Execution ended without success"),
	},
	{
		key: "cancel_on_destroy", title: "… with `cancel_on_destroy`, when the run goes on", also: []string{"execution"},
		rights: []right{{name: "run.executions.cancel"}},
		roles:  []string{onProject + "roles/run.developer"},
		course: executionCourse("wait_for = \"started\"\n  cancel_on_destroy = true").before("create", (*permissionWorld).endless),
	},
	{
		key: "execution import", title: "`resilientjob_execution`: import",
		rights: []right{{name: "run.executions.get"}, {name: "run.tasks.list"}},
		roles:  []string{onProject + "roles/run.viewer"},
		course: imports("resilientjob_execution.x", "others/ID", executionBlock("")).before("import", (*permissionWorld).runAndFailOthers),
	},
	{
		key: "data source", title: "data source `resilientjob_execution`",
		rights: []right{
			{name: "run.executions.list"}, {name: "run.executions.get"}, {name: "run.tasks.list"},
			{name: "run.jobs.get"},
		},
		roles:  []string{onProject + "roles/run.viewer"},
		course: course{{name: "read", do: (*permissionWorld).readDataSource}},
	},
	{
		key: "executions", title: "data source `resilientjob_executions`",
		rights: []right{{name: "run.executions.list"}, {name: "run.jobs.get"}},
		roles:  []string{onProject + "roles/run.viewer"},
		course: course{{name: "read", do: (*permissionWorld).readExecutions}},
	},
	{
		key: "interruptions", title: "data source `resilientjob_interruptions`",
		rights: []right{
			{name: "logging.logEntries.list"},
			{name: "run.jobs.get", without: "a job without interruptions cannot be told from one that does not exist"},
			{name: "run.executions.get", without: "an `execution` without interruptions cannot be told from one that does not exist"},
		},
		roles:  []string{onProject + "roles/logging.viewer", onProject + "roles/run.viewer"},
		course: course{{name: "read", do: (*permissionWorld).readInterruptions}},
	},
	{
		key: "job data source", title: "data source `resilientjob_gpu_job`",
		rights: []right{{name: "run.jobs.get", at: "job"}},
		roles:  []string{onProject + "roles/run.viewer"},
		course: reads("resilientjob_gpu_job", "job", "others"),
	},
	{
		key: "checkpoints", title: "data source `resilientjob_checkpoints`",
		rights: []right{{name: "storage.objects.list", at: "bucket"}},
		roles:  []string{onBucket + "roles/storage.objectViewer"},
		course: reads("resilientjob_checkpoints", "bucket", "others-checkpoints"),
	},
}
