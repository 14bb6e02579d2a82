// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// step is a change of the configuration and everything that comes of it.
type step struct {
	set attrs
	// action is what the plan does; "" is an update.
	action string
	// plan are the attributes that the plan changes, and no other.
	plan string
	// sent are the fields in which the job of the only UpdateJob differs from the live one, as fieldChanges writes them; none: nothing is sent.
	sent []string
	// writes are all writes, when there are more than that one.
	writes string
}

// row is the life of one attribute: a job is made with the base, and then each step is taken.
type row struct {
	base  attrs
	steps []step
	// made are the fields that a create with the first step's configuration sends more than one with the base; nil: those of the first step.
	made []string
	// keeps are the attributes that do not return to what they were, because the API gives them out or an account that is there stays.
	keeps string
}

// jobFields are the fields of a job that a client can set, by their path. With byName variables, volumes and mounts are told apart by their
// names, and not by their place.
func jobFields(t testing.TB, job *runpb.Job, byName bool) map[string]string {
	t.Helper()
	raw, err := protojson.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"name", "uid", "generation", "observedGeneration", "createTime", "updateTime", "etag", "terminalCondition", "conditions", "reconciling",
		"creator", "lastModifier", "executionCount", "latestCreatedExecution", "client", "clientVersion"} {
		delete(all, name)
	}
	out := map[string]string{}
	var walk func(path string, v any)
	put := func(path, v string) {
		path = strings.Replace(path, "template.template.containers[0].", "container.", 1)
		out[strings.Replace(path, "template.template.", "task.", 1)] = v
	}
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				put(path, "{}")
			}
			for k, e := range v {
				walk(join(path, k), e)
			}
		case []any:
			for i, e := range v {
				key := fmt.Sprint(i)
				if o, ok := e.(map[string]any); ok && byName && o["name"] != nil && !strings.HasSuffix(path, ".containers") {
					key = fmt.Sprint(o["name"])
				}
				walk(path+"["+key+"]", e)
			}
		default:
			put(path, fmt.Sprint(v))
		}
	}
	walk("", all)
	return out
}

// fieldChanges are the fields in which a job differs from another, as "path=value", or "-path" for one that is gone.
func fieldChanges(t testing.TB, before, after *runpb.Job) []string {
	t.Helper()
	return differences(jobFields(t, before, false), jobFields(t, after, false))
}

func differences(a, b map[string]string) []string {
	out := []string{}
	for _, path := range sortedNames(a, b) {
		old, was := a[path]
		now, is := b[path]
		switch {
		case !is:
			out = append(out, "-"+path)
		case !was || old != now:
			out = append(out, path+"="+now)
		}
	}
	slices.Sort(out)
	return out
}

// updated is the job of the only UpdateJob since a moment.
func updated(t testing.TB, r *acctest.Requests) *runpb.Job {
	t.Helper()
	calls := r.Find(acctest.UpdateJob)
	if len(calls) != 1 {
		t.Fatalf("%d UpdateJob in %v", len(calls), r.Methods())
	}
	req, ok := calls[0].Request.(*runpb.UpdateJobRequest)
	if !ok {
		t.Fatalf("request %T", calls[0].Request)
	}
	return req.GetJob()
}

func created(t testing.TB, r *acctest.Requests) *runpb.Job {
	t.Helper()
	calls := r.Find(acctest.CreateJob)
	if len(calls) != 1 {
		t.Fatalf("%d CreateJob in %v", len(calls), r.Methods())
	}
	req, ok := calls[0].Request.(*runpb.CreateJobRequest)
	if !ok {
		t.Fatalf("request %T", calls[0].Request)
	}
	return req.GetJob()
}

// attributePaths lists every attribute, with * for the key of a map or an element of a set; configurable tells which may be written.
func attributePaths(at string, schema []*tfprotov6.SchemaAttribute) (all []string, configurable map[string]bool) {
	configurable = map[string]bool{}
	for _, a := range schema {
		here := join(at, a.Name)
		all = append(all, here)
		configurable[here] = a.Optional || a.Required
		if a.NestedType == nil {
			continue
		}
		below := here
		if a.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSingle {
			below += ".*"
		}
		more, may := attributePaths(below, a.NestedType.Attributes)
		all = append(all, more...)
		maps.Copy(configurable, may)
	}
	return all, configurable
}

// Every attribute, also the nested ones, from unset over one value and another one back to unset: what the plan changes and what it leaves
// alone, what is sent, which calls write, that the state is as planned, that each plan after an apply is empty, and that unset means the
// documented default again. A create with a value sends it, too, and a destroy leaves nothing. An attribute without a row fails the test
// (cases 100, 116, 121, 124).
func TestAttributes(t *testing.T) {
	t.Parallel()
	rows := attributeRows()
	all, configurable := attributePaths("", newCore(t).schema.Block.Attributes)
	for _, path := range all {
		if !configurable[path] {
			continue
		}
		r, ok := rows[path]
		if !ok {
			t.Errorf("%s has no row", path)
			continue
		}
		delete(rows, path)
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			newCore(t).live(path, r)
		})
	}
	for path := range rows {
		t.Errorf("there is no attribute %s", path)
	}
}

// live takes the steps of a row.
func (c *core) live(path string, r row) {
	set := func(s attrs) tftypes.Value {
		merged := maps.Clone(r.base)
		if merged == nil {
			merged = attrs{}
		}
		maps.Copy(merged, s)
		return c.job(merged)
	}
	base := set(nil)
	since := acctest.Since(c.w.e)
	l := c.apply(c.none(), base)
	first, firstJob, firstSent := l, c.w.live(), created(c.t, since)
	l = c.unchanged("after the create", l, base)
	var config tftypes.Value
	for i, s := range r.steps {
		config = set(s.set)
		l = c.take(fmt.Sprintf("step %d", i), l, config, s)
	}
	if config.Equal(base) {
		equal(c.t, "unset again, the state differs in", strings.Join(changed(c.t, "", first.state, l.state), " "), sortedWords(r.keeps))
		if d := fieldChanges(c.t, firstJob, c.w.live()); len(d) > 0 && r.keeps == "" {
			c.t.Errorf("unset again, the job differs in %v", d)
		}
	} else if !c.required(path) && path != "secret_env.*.secret" { // that one is required by a validator
		c.t.Error("the last step does not unset it")
	}
	c.destroy(l)
	c.w.leavesNothing()

	// The first value from the beginning.
	s := r.steps[0]
	if s.action == "replace" || s.action == "refused" {
		return
	}
	since = acctest.Since(c.w.e)
	config = set(s.set)
	l = c.apply(c.none(), config)
	want := r.made
	if want == nil {
		want = s.sent
	}
	equal(c.t, "a create sends", fieldChanges(c.t, firstSent, created(c.t, since)), c.fields(want))
	c.unchanged("after a create with the value", l, config)
}

// required tells whether the attribute of a path must be written.
func (c *core) required(path string) bool {
	attributes := c.schema.Block.Attributes
	for _, name := range strings.Split(path, ".") {
		if name == "*" {
			continue
		}
		i := slices.IndexFunc(attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == name })
		if attributes[i].NestedType == nil {
			return attributes[i].Required
		}
		attributes = attributes[i].NestedType.Attributes
	}
	return false
}

// take takes a step.
func (c *core) take(what string, l *life, config tftypes.Value, s step) *life {
	c.t.Helper()
	p := c.plan(l, config)
	want := s.action
	if want == "" {
		want = "update"
	}
	if got := p.action(c.t); got != want {
		c.t.Errorf("%s: the plan is %s of %v, want %s; %q", what, got, changed(c.t, "", l.state, p.state), want, p.errors)
	}
	if len(p.errors) > 0 || want == "refused" {
		return l
	}
	if want == "replace" {
		equal(c.t, what+": replaced for", strings.Join(p.replaces, " "), s.plan)
		return l
	}
	equal(c.t, what+": the plan changes", strings.Join(changed(c.t, "", l.state, p.state), " "), sortedWords(s.plan))
	live := c.w.live()
	since := acctest.Since(c.w.e)
	next, errs, warnings := c.carryOut(p)
	if len(errs)+len(warnings) > 0 {
		c.t.Fatalf("%s: the apply says %q %q", what, errs, warnings)
	}
	expected := s.writes
	if expected == "" && len(s.sent) > 0 {
		expected = "UpdateJob"
	}
	equal(c.t, what+": writes", writes(since), expected)
	if len(s.sent) > 0 {
		sent := c.fields(s.sent)
		equal(c.t, what+": sent", strings.Join(fieldChanges(c.t, live, updated(c.t, since)), "\n"), strings.Join(sent, "\n"))
	}
	return c.unchanged(what, next, config)
}

// fields are the fields of a row in order, with the e-mail of the account that is made by default for DEFAULT.
func (c *core) fields(all []string) []string {
	out := []string{}
	for _, field := range all {
		out = append(out, strings.ReplaceAll(field, "DEFAULT", c.w.email()))
	}
	slices.Sort(out)
	return out
}

func sortedWords(s string) string {
	words := strings.Fields(s)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// leavesNothing fails the test unless job, account and grants are gone.
func (w *world) leavesNothing() {
	w.t.Helper()
	if w.e.Run().Job(w.job.String()) != nil {
		w.t.Error("the job is left")
	}
	accounts := append([]string{w.email()}, w.accountsMade()...)
	for _, email := range accounts {
		for _, g := range everyGrant(w.job.Project, email) {
			if w.hasGrant(g) {
				w.t.Errorf("a grant is left: %v", g)
			}
		}
	}
	for _, email := range accounts {
		if account, ok := w.e.IAM().Lookup(email); ok && account.GetDescription() != "" {
			w.t.Errorf("the account %s is left", email)
		}
	}
}

// accountsMade are the accounts that somebody made so far.
func (w *world) accountsMade() []string {
	var out []string
	for _, call := range w.e.Faults().Find(acctest.CreateServiceAccount) {
		if req, ok := call.Request.(*adminpb.CreateServiceAccountRequest); ok {
			out = append(out, req.GetAccountId()+"@"+w.job.Project+".iam.gserviceaccount.com")
		}
	}
	return out
}

// everyGrant is what an account may have been granted on the buckets and secrets of these tests.
func everyGrant(project, email string) []gcp.Grant {
	var out []gcp.Grant
	member := "serviceAccount:" + email
	for _, name := range testBuckets {
		for _, role := range []string{"roles/storage.objectUser", "roles/storage.objectViewer", "roles/storage.objectAdmin"} {
			out = append(out, gcp.Grant{Resource: "projects/_/buckets/" + name, Role: role, Member: member})
		}
	}
	for _, name := range testSecrets {
		out = append(out, gcp.Grant{Resource: "projects/" + project + "/secrets/" + name, Role: "roles/secretmanager.secretAccessor", Member: member})
	}
	return out
}

// Whatever may be left out says what it is then.
func TestDefaultsAreDocumented(t *testing.T) {
	t.Parallel()
	var walk func(at string, schema []*tfprotov6.SchemaAttribute)
	walk = func(at string, schema []*tfprotov6.SchemaAttribute) {
		for _, a := range schema {
			here := join(at, a.Name)
			if here == "timeouts" {
				continue // its attributes say it
			}
			if a.Optional && !strings.Contains(a.Description, "Default: ") && !strings.Contains(a.Description, "Default, by ") && here != "secret_env.secret" {
				t.Errorf("%s does not say what its default is: %s", here, a.Description)
			}
			if !a.Optional && a.Description == "" {
				t.Errorf("%s has no description", here)
			}
			if a.NestedType != nil {
				walk(here, a.NestedType.Attributes)
			}
		}
	}
	s := newCore(t).schema
	walk("", s.Block.Attributes)
	i := slices.IndexFunc(s.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == "timeouts" })
	walk("timeouts.", s.Block.Attributes[i].NestedType.Attributes)
}
