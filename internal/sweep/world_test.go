// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	project  = acctest.EmulatorProject
	location = "projects/" + project + "/locations/" + acctest.EmulatorRegion
	trainer  = "trainer@" + project + ".iam.gserviceaccount.com"
	helper   = "helper@" + project + ".iam.gserviceaccount.com"
)

// world is an emulator in which somebody else has been before.
type world struct {
	t     testing.TB
	e     *emulator.Emulator
	core  *core.Core
	clock *core.Clock
	tasks *runner.Scripted
	// ends is true while a task that is looked at comes to its end. It does not
	// while a provider is about to die: that a run ended unseen is another story.
	ends   atomic.Bool
	watch  *faults.Handle
	before inventory
	// started are executions of our job that somebody else started.
	started inventory
	// keeps is the life's, when the provider is killed.
	keeps string
	// here is the point that is gone through, and violations how often something
	// was as it must not be.
	here       string
	violations int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, tasks: runner.NewScripted(), clock: core.NewClock(), started: inventory{}}
	w.tasks.OnStop(func(a *runner.ScriptedAttempt) { a.Exit(143) })
	w.e = acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = w.tasks })
	w.core = core.New(t, w.e, w.clock)
	w.ends.Store(true)
	w.watched()
	w.seed()
	w.before = w.look()
	return w
}

// watched lets tasks come to their end when somebody looks at their execution.
// Faults strike in the order in which they were added: what ends the provider must
// come before this.
func (w *world) watched() {
	if w.watch != nil {
		w.watch.Remove()
	}
	w.watch = w.e.Faults().Add(faults.Fault{Method: acctest.GetExecution, Times: -1, Do: func(faults.Call) {
		if w.ends.Load() {
			for _, a := range w.tasks.Attempts() {
				a.Exit(0)
			}
		}
	}})
}

// seed makes what others have: accounts, buckets with objects, labels and members,
// a secret, a job.
func (w *world) seed() {
	w.t.Helper()
	for _, id := range []string{"trainer", "helper", "somebody"} {
		if _, err := w.e.IAM().CreateServiceAccount(w.t.Context(), &adminpb.CreateServiceAccountRequest{Name: "projects/" + project, AccountId: id,
			ServiceAccount: &adminpb.ServiceAccount{Description: "of somebody else"}}); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range []string{"others-checkpoints", "others-data", "others-more-data"} {
		w.storage(http.MethodPost, "/storage/v1/b?project="+project, map[string]any{"name": name, "location": "US-CENTRAL1", "labels": map[string]string{"owner": "somebody"},
			"iamConfiguration": map[string]any{"uniformBucketLevelAccess": map[string]any{"enabled": true}}})
		w.member(name, "roles/storage.objectViewer", "serviceAccount:somebody@"+project+".iam.gserviceaccount.com")
		w.storage(http.MethodPost, "/upload/storage/v1/b/"+name+"/o?uploadType=media&name=theirs", nil)
	}
	if _, err := w.e.Secrets().AddSecret(project, "token", []byte("secret")); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.e.Secrets().SetIamPolicy(w.t.Context(), &iampb.SetIamPolicyRequest{Resource: "projects/" + project + "/secrets/token", Policy: &iampb.Policy{
		Bindings: []*iampb.Binding{{Role: "roles/secretmanager.secretAccessor", Members: []string{"serviceAccount:somebody@" + project + ".iam.gserviceaccount.com"}}}}}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.e.Run().CreateJob(w.t.Context(), &runpb.CreateJobRequest{Parent: location, JobId: "others", Job: &runpb.Job{Template: &runpb.ExecutionTemplate{
		Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{Image: "us-docker.pkg.dev/p/apps/theirs:1"}}, ServiceAccount: trainer}}}}); err != nil {
		w.t.Fatal(err)
	}
}

// storage makes one call to Cloud Storage as somebody else.
func (w *world) storage(method, path string, body any) map[string]any {
	w.t.Helper()
	var send io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		send = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.e.Addr()+path, send)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, raw, err)
	}
	out := map[string]any{}
	if len(raw) > 0 && json.Unmarshal(raw, &out) != nil {
		w.t.Fatalf("%s %s: %s", method, path, raw)
	}
	return out
}

// member adds a member to a bucket's policy.
func (w *world) member(bucket, role, member string) {
	w.t.Helper()
	p := w.storage(http.MethodGet, "/storage/v1/b/"+bucket+"/iam?optionsRequestedPolicyVersion=3", nil)
	bindings, _ := p["bindings"].([]any)
	p["bindings"] = append(bindings, map[string]any{"role": role, "members": []string{member}})
	w.storage(http.MethodPut, "/storage/v1/b/"+bucket+"/iam", p)
}

// chance is what differs from run to run.
var chance = regexp.MustCompile(`(executions/[a-z0-9-]+?)-[a-z0-9]{5}\b|(operations/)[0-9a-f-]+|(serviceAccounts/)[0-9]{10,}`)

func settled(s string) string { return chance.ReplaceAllString(s, "$1$2$3*") }

// point is a call that can go wrong: the nth of its kind in a step.
type point struct {
	method, resource string
	nth              int
}

func (p point) String() string {
	name := p.method[strings.LastIndexAny(p.method, "./")+1:]
	if service, _, ok := strings.Cut(p.method, "."); ok && service == "storage" {
		name = strings.TrimPrefix(p.method, "storage.")
	}
	resource := strings.TrimPrefix(strings.TrimPrefix(p.resource, location+"/"), "projects/"+project+"/")
	return fmt.Sprintf("%s %s #%d", name, resource, p.nth)
}

// polls are calls of which there are more or fewer, as things take their time.
var polls = []string{"GetOperation", "GetExecution", "ListTasks"}

// points are the calls that a step of a life makes.
func points(calls []faults.Call) []point {
	var out []point
	seen := map[point]int{}
	for _, c := range calls {
		if !core.Sent(c) {
			continue
		}
		p := point{method: c.Method, resource: settled(c.Resource)}
		seen[p]++
		n := seen[p]
		if n > 1 && isPoll(c.Method) {
			continue
		}
		p.nth = n
		out = append(out, p)
	}
	acctest.SortReads(out, func(p point) string { return p.method }, func(a, b point) int {
		return cmp.Or(strings.Compare(a.method, b.method), strings.Compare(a.resource, b.resource), a.nth-b.nth)
	})
	return out
}

func isPoll(method string) bool {
	for _, poll := range polls {
		if strings.HasSuffix(method, "/"+poll) {
			return true
		}
	}
	return false
}

// strikes makes a fault one of this point.
func (p point) strikes(f faults.Fault) faults.Fault {
	f.Method, f.After = p.method, p.nth-1
	f.Match = func(c faults.Call) bool { return core.Sent(c) && settled(c.Resource) == p.resource }
	return f
}
