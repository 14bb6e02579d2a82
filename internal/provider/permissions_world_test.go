// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/run/apiv2/runpb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	theProject    = acctest.EmulatorProject
	theLocation   = "projects/" + theProject + "/locations/" + acctest.EmulatorRegion
	theTrainer    = "trainer@" + theProject + ".iam.gserviceaccount.com"
	theOwned      = "train-runner@" + theProject + ".iam.gserviceaccount.com"
	theImage      = "us-docker.pkg.dev/p/apps/train:"
	providerBlock = "provider \"resilientjob\" {\n  project = \"" + theProject + "\"\n  region  = \"us-central1\"\n}\n"
)

// permissionWorld is an emulator that refuses what its caller may not do.
type permissionWorld struct {
	t     *testing.T
	e     *emulator.Emulator
	core  *core.Core
	tasks *runner.Scripted
	// run is the short name of an execution that somebody else started.
	run string

	mu    sync.Mutex
	held  []string        // nil: every permission
	asked map[string]bool // permissions that a call needed
}

func newPermissionWorld(t *testing.T) *permissionWorld {
	t.Helper()
	w := &permissionWorld{t: t, tasks: runner.NewScripted(), asked: map[string]bool{}}
	w.tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
	w.tasks.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
	w.e = acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = w.tasks })
	w.core = core.New(t, w.e, core.NewClock())
	w.seed()
	for method, all := range methods {
		for _, n := range all {
			w.e.Faults().Add(faults.Fault{Method: method, Times: -1, Status: refusalOf(method, n.permission, theOwned), Match: func(c faults.Call) bool { return w.lacks(c, n, theOwned) }})
			if n.permission == "iam.serviceAccounts.actAs" {
				w.e.Faults().Add(faults.Fault{Method: method, Times: -1, Status: refusalOf(method, n.permission, theTrainer), Match: func(c faults.Call) bool { return w.lacks(c, n, theTrainer) }})
			}
		}
	}
	w.e.Faults().Add(faults.Fault{Times: -1, Status: status.New(codes.Unimplemented, "No permission is known for this method."), Match: func(c faults.Call) bool {
		_, known := methods[c.Method]
		return core.Sent(c) && !known
	}})
	return w
}

// lacks reports whether a call is to be refused for want of a permission.
func (w *permissionWorld) lacks(c faults.Call, n needed, account string) bool {
	if !core.Sent(c) || n.when != nil && !n.when(c) {
		return false
	}
	if n.permission == "iam.serviceAccounts.actAs" && accountIn(c) != account {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[n.permission] = true
	return w.held != nil && !slices.Contains(w.held, n.permission)
}

func accountIn(c faults.Call) string {
	if r, ok := c.Request.(interface{ GetJob() *runpb.Job }); ok {
		return r.GetJob().GetTemplate().GetTemplate().GetServiceAccount()
	}
	return ""
}

// refusalOf is how Google words that a permission is missing.
func refusalOf(method, permission, account string) *status.Status {
	switch {
	case permission == "iam.serviceAccounts.actAs":
		return status.Newf(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account %s (or it may not exist).", account)
	case strings.HasPrefix(method, "storage."):
		return status.Newf(codes.PermissionDenied,
			"me@example.com does not have %s access to the Google Cloud Storage bucket. Permission '%[1]s' denied on resource (or it may not exist).", permission)
	}
	return status.Newf(codes.PermissionDenied, "Permission '%s' denied on resource (or it may not exist).", permission)
}

// hold gives the caller these permissions and no others; nil is every one.
func (w *permissionWorld) hold(permissions []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = permissions
	for method, all := range methods {
		for _, n := range all {
			set := w.e.Storage().Allow
			if strings.HasPrefix(method, secretAPI) {
				set = w.e.Secrets().Allow
			}
			if permissions != nil && !slices.Contains(permissions, n.permission) && strings.HasSuffix(n.permission, "IamPolicy") {
				set = w.e.Storage().Deny
				if strings.HasPrefix(method, secretAPI) {
					set = w.e.Secrets().Deny
				}
			}
			set("", n.permission)
		}
	}
}

// seed makes what others have: accounts, a bucket, a secret, and a job that this
// provider made elsewhere.
func (w *permissionWorld) seed() {
	w.t.Helper()
	ctx := w.t.Context()
	for id, description := range map[string]string{"trainer": "somebody's", "others-runner": theLocation + "/jobs/others"} {
		if _, err := w.e.IAM().CreateServiceAccount(ctx, &adminpb.CreateServiceAccountRequest{Name: "projects/" + theProject, AccountId: id,
			ServiceAccount: &adminpb.ServiceAccount{Description: description}}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.storage(http.MethodPost, "/storage/v1/b?project="+theProject, `{"name":"others-checkpoints","location":"US-CENTRAL1","iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}}`)
	w.storage(http.MethodPut, "/storage/v1/b/others-checkpoints/iam", `{"bindings":[{"role":"roles/storage.objectUser","members":["serviceAccount:others-runner@`+theProject+`.iam.gserviceaccount.com"]}]}`)
	if _, err := w.e.Secrets().AddSecret(theProject, "token", []byte("payload")); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.e.Secrets().SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: "projects/" + theProject + "/secrets/token", Policy: &iampb.Policy{
		Bindings: []*iampb.Binding{{Role: "roles/secretmanager.secretAccessor", Members: []string{"serviceAccount:others-runner@" + theProject + ".iam.gserviceaccount.com"}}}}}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.e.Run().CreateJob(ctx, &runpb.CreateJobRequest{Parent: theLocation, JobId: "others", Job: &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Retries:        &runpb.TaskTemplate_MaxRetries{},
		ServiceAccount: "others-runner@" + theProject + ".iam.gserviceaccount.com",
		Containers: []*runpb.Container{{Image: theImage + "1", VolumeMounts: []*runpb.VolumeMount{{Name: "checkpoint", MountPath: "/mnt/checkpoint"}}, Env: []*runpb.EnvVar{{Name: "TOKEN",
			Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{SecretKeyRef: &runpb.SecretKeySelector{Secret: "token", Version: "1"}}}}}}},
		Volumes: []*runpb.Volume{{Name: "checkpoint", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: "others-checkpoints"}}}},
	}}}}); err != nil {
		w.t.Fatal(err)
	}
}

// storage makes one call to Cloud Storage as somebody else, who may do
// everything.
func (w *permissionWorld) storage(method, path, body string) string {
	w.t.Helper()
	return callEmulator(w.t, w.e, method, path, body)
}

// The things that others do before a step.

func (w *permissionWorld) endless() { w.tasks.OnLaunch(func(*runner.ScriptedAttempt) {}) }

func (w *permissionWorld) failTasks() {
	w.tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(1) })
}

func (w *permissionWorld) startRun() {
	w.t.Helper()
	w.endless()
	if _, err := w.e.Run().RunJob(w.t.Context(), &runpb.RunJobRequest{Name: theLocation + "/jobs/train"}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *permissionWorld) runAndFailOthers() {
	w.failTasks()
	w.runOthers()
}

func (w *permissionWorld) runOthers() {
	w.t.Helper()
	job := theLocation + "/jobs/others"
	if _, err := w.e.Run().RunJob(w.t.Context(), &runpb.RunJobRequest{Name: job}); err != nil {
		w.t.Fatal(err)
	}
	list, err := w.e.Run().ListExecutions(w.t.Context(), &runpb.ListExecutionsRequest{Parent: job})
	if err != nil {
		w.t.Fatal(err)
	}
	name := list.GetExecutions()[0].GetName()
	if _, err := w.e.Run().Await(w.t.Context(), name, run.Finished); err != nil {
		w.t.Fatal(err)
	}
	w.run = name[strings.LastIndex(name, "/")+1:]
}

func (w *permissionWorld) openBucket() {
	w.storage(http.MethodPatch, "/storage/v1/b/our-checkpoints", `{"iamConfiguration":{"publicAccessPrevention":"inherited"}}`)
}

func (w *permissionWorld) fill() {
	w.storage(http.MethodPost, "/upload/storage/v1/b/our-checkpoints/o?uploadType=media&name=step-1/model", "{}")
	w.storage(http.MethodPost, "/storage/v1/b/our-checkpoints/managedFolders", `{"name":"managed/"}`)
}

// stock is everything that there is, one line each. The records of executions
// that have ended stay behind, and do not count.
func (w *permissionWorld) stock() []string {
	w.t.Helper()
	w.hold(nil)
	ctx := w.t.Context()
	var out []string
	jobs, err := w.e.Run().ListJobs(ctx, &runpb.ListJobsRequest{Parent: theLocation})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, j := range jobs.GetJobs() {
		out = append(out, "job "+j.GetName())
	}
	executions, err := w.e.Run().ListExecutions(ctx, &runpb.ListExecutionsRequest{Parent: theLocation + "/jobs/-"})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range executions.GetExecutions() {
		if !run.Finished(e) {
			out = append(out, "execution "+e.GetName())
		}
	}
	accounts, err := w.e.IAM().ListServiceAccounts(ctx, &adminpb.ListServiceAccountsRequest{Name: "projects/" + theProject, PageSize: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range accounts.GetAccounts() {
		out = append(out, "account "+a.GetEmail())
	}
	for _, name := range strings.Split(w.storage(http.MethodGet, "/storage/v1/b?project="+theProject+"&fields=items(name)", ""), "\"name\": ") {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "\""), "\"")
		if !strings.Contains(name, "-checkpoints") {
			continue
		}
		out = append(out, "bucket "+name)
		policy := w.storage(http.MethodGet, "/storage/v1/b/"+name+"/iam", "")
		for _, member := range []string{theTrainer, theOwned} {
			if strings.Contains(policy, member) {
				out = append(out, "grant "+name+" "+member)
			}
		}
	}
	policy, err := w.e.Secrets().GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: "projects/" + theProject + "/secrets/token"})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range policy.GetBindings() {
		out = append(out, fmt.Sprint("grant token ", b.GetMembers()))
	}
	slices.Sort(out)
	return out
}

// course is what a use goes through.
type course []step

type step struct {
	name   string
	before func(*permissionWorld)
	do     func(*permissionWorld) *core.Result
	// fails is the summary of the error with which the step ends also for
	// somebody who may do everything; empty for none.
	fails string
}

// before makes others do something before a step.
func (l course) before(name string, do func(*permissionWorld)) course {
	return l.change(name, func(s *step) { s.before = do })
}

// fails makes a step one that ends with an error.
func (l course) fails(name, summary string) course {
	return l.change(name, func(s *step) { s.fails = summary })
}

func (l course) change(name string, change func(*step)) course {
	l = slices.Clone(l)
	change(&l[slices.IndexFunc(l, func(s step) bool { return s.name == name })])
	return l
}

func applies(name, config string) step {
	return step{name: name, do: func(w *permissionWorld) *core.Result { return w.core.Apply(w.numbered(config)) }}
}

func destroys(config string) step {
	return step{name: "destroy", do: func(w *permissionWorld) *core.Result { return w.core.Destroy(w.numbered(config)) }}
}

// numbered puts the number of the project for NUMBER.
func (w *permissionWorld) numbered(config string) string {
	if !strings.Contains(config, "NUMBER") {
		return config
	}
	secret, err := w.e.Secrets().GetSecret(w.t.Context(), &secretmanagerpb.GetSecretRequest{Name: "projects/" + theProject + "/secrets/token"})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.ReplaceAll(config, "NUMBER", strings.Split(secret.GetName(), "/")[1])
}

func jobBlock(attributes string) string {
	if !strings.Contains(attributes, "name =") {
		attributes = "name = \"train\"\n  " + attributes
	}
	if !strings.Contains(attributes, "image =") {
		attributes += "\n  image = \"" + theImage + "1\""
	}
	if !strings.Contains(attributes, "service_account") {
		attributes += "\n  service_account_id = \"train-runner\""
	}
	return providerBlock + "resource \"resilientjob_gpu_job\" \"j\" {\n  " + attributes + "\n}\n"
}

func jobCourse(attributes string) course {
	return course{
		applies("create", jobBlock(attributes)),
		applies("change", jobBlock("image = \""+theImage+"2\"\n  "+attributes)),
		destroys(jobBlock(attributes)),
	}
}

func bucketCourse(attributes string) course {
	config := func(label string) string {
		return providerBlock + "resource \"resilientjob_checkpoint_bucket\" \"b\" {\n  name = \"our-checkpoints\"\n  labels = { team = \"" + label + "\" }\n  " + attributes + "\n}\n"
	}
	return course{applies("create", config("a")), applies("change", config("b")), destroys(config("b"))}
}

func executionBlock(attributes string) string {
	return providerBlock + "resource \"resilientjob_execution\" \"x\" {\n  job = \"others\"\n  " + attributes + "\n}\n"
}

func executionCourse(attributes string) course {
	return course{applies("create", executionBlock(attributes)), destroys(executionBlock(attributes))}
}

// imports imports, and forgets. ID in the id is the execution of somebody else.
func imports(address, id, config string) course {
	return course{{name: "import", do: func(w *permissionWorld) *core.Result {
		defer func() { w.core.State = map[string]*core.Resource{} }()
		return w.core.Import(config, address, strings.Replace(id, "ID", w.run, 1))
	}}}
}

// readDataSource reads the newest execution, the one of a name, and one that is
// not there.
func (w *permissionWorld) readDataSource() *core.Result {
	w.t.Helper()
	if w.run == "" {
		w.runOthers()
	}
	out := &core.Result{}
	for _, name := range []string{"", w.run, "others-none"} {
		attributes := map[string]tftypes.Value{"job": str("others")}
		if name != "" {
			attributes["name"] = str(name)
		}
		w.readData(out, "resilientjob_execution", attributes, "Execution does not exist")
	}
	return out
}

// readExecutions lists those of a job that has not been run.
func (w *permissionWorld) readExecutions() *core.Result {
	w.t.Helper()
	out := &core.Result{}
	w.readData(out, "resilientjob_executions", map[string]tftypes.Value{"job": str("others")})
	return out
}

// readInterruptions reads those of a job and of an execution that have none.
func (w *permissionWorld) readInterruptions() *core.Result {
	w.t.Helper()
	if w.run == "" {
		w.runOthers()
	}
	out := &core.Result{}
	w.readData(out, "resilientjob_interruptions", map[string]tftypes.Value{"job": str("others")}, "Cannot check that the job exists")
	w.readData(out, "resilientjob_interruptions", map[string]tftypes.Value{"job": str("others"), "execution": str(w.run)}, "Cannot check that the execution exists")
	return out
}

// readData reads a data source. Its errors are added, but for those with an
// expected summary.
func (w *permissionWorld) readData(out *core.Result, typeName string, attributes map[string]tftypes.Value, expected ...string) {
	w.t.Helper()
	p := acctest.NewProtocol(w.t, env("RESILIENTJOB_EMULATOR_HOST", w.e.Addr(), "GOOGLE_PROJECT", theProject, "GOOGLE_REGION", acctest.EmulatorRegion, "TF_APPEND_USER_AGENT", "process/0"))
	p.Configure(nil)
	resp, err := p.ReadDataSource(w.t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: p.Object(p.Schema.DataSourceSchemas[typeName], attributes)})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		if !slices.Contains(expected, d.Summary) {
			out.Errors = append(out.Errors, core.Diagnostic{Address: "data." + typeName, Attribute: core.Dotted(d.Attribute), Summary: d.Summary, Detail: d.Detail})
		}
	}
}

// play goes through a life from a step on, and returns the step that did not end
// as it does for somebody who may do everything, with its result; the length of
// the life when there is none.
func (w *permissionWorld) play(l course, from int) (int, *core.Result) {
	w.t.Helper()
	for i := from; i < len(l); i++ {
		s := l[i]
		if s.before != nil {
			s.before(w)
		}
		res := s.do(w)
		expected := s.fails != "" && len(res.Errors) == 1 && res.Errors[0].Summary == s.fails
		if res.Failed() != (s.fails != "") || res.Failed() && !expected {
			return i, res
		}
	}
	return len(l), nil
}

// used are the permissions that calls have needed.
func (w *permissionWorld) used() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.asked))
}
