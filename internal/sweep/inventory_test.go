// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// inventory is everything that there is, each thing as one line.
type inventory map[string]bool

// look lists what the emulator holds: jobs, executions that go on, accounts,
// buckets with their labels and objects, and the members of all policies.
func (w *world) look() inventory {
	w.t.Helper()
	out := inventory{}
	add := func(format string, a ...any) {
		line := fmt.Sprintf(format, a...)
		if out[line] {
			w.t.Errorf("twice: %s", line)
		}
		out[line] = true
	}
	for _, e := range w.executions("-") {
		if !run.Finished(e) {
			add("execution %s", strings.TrimPrefix(e.GetName(), location+"/"))
		}
	}
	jobs, err := w.e.Run().ListJobs(w.t.Context(), &runpb.ListJobsRequest{Parent: location})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, j := range jobs.GetJobs() {
		add("job %s", j.GetName())
	}
	accounts, err := w.e.IAM().ListServiceAccounts(w.t.Context(), &adminpb.ListServiceAccountsRequest{Name: "projects/" + project, PageSize: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range accounts.GetAccounts() {
		add("account %s", a.GetEmail())
	}
	buckets, _ := w.storage(http.MethodGet, "/storage/v1/b?project="+project, nil)["items"].([]any)
	for _, b := range buckets {
		bucket, _ := b.(map[string]any)
		name := fmt.Sprint(bucket["name"])
		add("bucket %s", name)
		labels, _ := bucket["labels"].(map[string]any)
		for k, v := range labels {
			add("label %s %s=%v", name, k, v)
		}
		objects, _ := w.storage(http.MethodGet, "/storage/v1/b/"+name+"/o", nil)["items"].([]any)
		for _, o := range objects {
			object, _ := o.(map[string]any)
			add("object %s %v", name, object["name"])
		}
		bindings, _ := w.storage(http.MethodGet, "/storage/v1/b/"+name+"/iam?optionsRequestedPolicyVersion=3", nil)["bindings"].([]any)
		for _, b := range bindings {
			binding, _ := b.(map[string]any)
			members, _ := binding["members"].([]any)
			for _, m := range members {
				if role := fmt.Sprint(binding["role"]); !strings.HasPrefix(role, "roles/storage.legacy") {
					add("grant projects/_/buckets/%s %s %v", name, role, m)
				}
			}
		}
	}
	secret := "projects/" + project + "/secrets/token"
	policy, err := w.e.Secrets().GetIamPolicy(w.t.Context(), &iampb.GetIamPolicyRequest{Resource: secret})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range policy.GetBindings() {
		for _, m := range b.GetMembers() {
			add("grant %s %s %s", secret, b.GetRole(), m)
		}
	}
	return out
}

// executions are those of a job, or of all jobs ("-").
func (w *world) executions(job string) []*runpb.Execution {
	w.t.Helper()
	list, err := w.e.Run().ListExecutions(w.t.Context(), &runpb.ListExecutionsRequest{Parent: location + "/jobs/" + job})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.GetExecutions()
}

// thing is an object of a state.
type thing struct {
	kind    string
	values  map[string]any
	private []byte
}

func (o thing) text(name string) string {
	s, _ := o.values[name].(string)
	return s
}

// things are the objects of the core's state.
func (w *world) things() []thing {
	var out []thing
	for _, r := range w.core.State {
		for _, o := range r.Objects() {
			out = append(out, thing{r.Type, o.Values(), o.Private})
		}
	}
	return out
}

// known is what a state knows of: its objects, what is noted beside them, and
// what may go with them.
func known(state []thing) inventory {
	out := inventory{}
	for _, o := range state {
		switch o.kind {
		case "resilientjob_checkpoint_bucket":
			name := o.text("name")
			out["bucket "+name] = true
			labels, _ := o.values["effective_labels"].(map[string]any)
			for k, v := range labels {
				out[fmt.Sprintf("label %s %s=%v", name, k, v)] = true
			}
			for attribute, role := range map[string]string{"readers": "roles/storage.objectViewer", "writers": "roles/storage.objectUser"} {
				members, _ := o.values[attribute].([]any)
				for _, m := range members {
					out[fmt.Sprintf("grant projects/_/buckets/%s %s %v", name, role, m)] = true
				}
			}
		case "resilientjob_gpu_job":
			out["job "+o.text("id")] = true
			if id := o.text("service_account_id"); id != "" && o.text("service_account_unique_id") != "" {
				out["account "+id+"@"+project+".iam.gserviceaccount.com"] = true
			}
			grants, _ := o.values["grants"].([]any)
			for _, g := range grants {
				grant, _ := g.(map[string]any)
				out[fmt.Sprintf("grant %v %v %v", grant["resource"], grant["role"], grant["member"])] = true
			}
			var noted struct{ Note []byte }
			var note struct{ Accounts []struct{ ID string } }
			if json.Unmarshal(o.private, &noted) == nil && json.Unmarshal(noted.Note, &note) == nil {
				for _, a := range note.Accounts {
					out["account "+a.ID+"@"+project+".iam.gserviceaccount.com"] = true
				}
			}
		case "resilientjob_execution":
			out["execution "+strings.TrimPrefix(o.text("id"), location+"/")] = true
		}
	}
	return out
}

// wrong is what is there, is not in the state, and was not there before; and what
// was there before and is not any more.
func (w *world) wrong(state []thing) []string {
	w.t.Helper()
	var out []string
	ours, now := known(state), w.look()
	forced := slices.ContainsFunc(state, func(o thing) bool { return o.values["force_destroy"] == true })
	for line := range now {
		if !w.before[line] && !ours[line] && !w.started[line] && (w.keeps == "" || !strings.HasSuffix(line, w.keeps)) {
			out = append(out, "not in the state: "+line)
		}
	}
	for line := range w.before {
		if forced && strings.HasPrefix(line, "object our-checkpoints ") {
			continue // a destroy that did not come to its end has begun with it
		}
		// What others have put into our bucket goes with it.
		if inOurs := strings.Contains(line, "our-checkpoints"); !now[line] && (!inOurs || now["bucket our-checkpoints"]) {
			out = append(out, "gone, and somebody else's: "+line)
		}
	}
	slices.Sort(out)
	return out
}
