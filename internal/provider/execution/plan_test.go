// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// What a plan does with each change: nothing, an update that makes no call, or
// a replacement, which runs the job again.
func TestPlanOfEachChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	s := w.server(nil)
	base := attributes{
		"job": "train", "wait_for": "completed", "args": []string{"--epochs", "9"}, "env": map[string]any{"LR": "0.1", "EMPTY": ""},
		"task_count": 3, "task_timeout": "90m", "triggers": map[string]any{"data": "v1"},
	}
	l, diags := s.apply(w.ctx, s.nothing(), base)
	s.check(nil, diags)
	since := acctest.Since(w.Emulator)
	for name, c := range map[string]struct {
		change   attributes
		replaces []string
		noop     bool
		warns    string
	}{
		"nothing":                  {change: attributes{}, noop: true},
		"job, full name":           {change: attributes{"job": jobFull}, noop: true},
		"job, with its location":   {change: attributes{"job": "US-Central1/train"}, noop: true},
		"job, with project":        {change: attributes{"job": acctest.EmulatorProject + "/us-central1/train"}, noop: true},
		"another job":              {change: attributes{"job": "other"}, replaces: []string{"job"}},
		"a job elsewhere":          {change: attributes{"job": "europe-west4/train"}, replaces: []string{"job"}},
		"job unknown":              {change: attributes{"job": unknown{}}, replaces: []string{"job"}, warns: "job holds a value that is known only after apply"},
		"args":                     {change: attributes{"args": []string{"--epochs", "8"}}, replaces: []string{"args"}},
		"args in another order":    {change: attributes{"args": []string{"9", "--epochs"}}, replaces: []string{"args"}},
		"no arguments":             {change: attributes{"args": []string{}}, replaces: []string{"args"}},
		"the job's own arguments":  {change: attributes{"args": nil}, replaces: []string{"args"}},
		"env":                      {change: attributes{"env": map[string]any{"LR": "0.2", "EMPTY": ""}}, replaces: []string{"env"}},
		"env, one less":            {change: attributes{"env": map[string]any{"LR": "0.1"}}, replaces: []string{"env"}},
		"no env":                   {change: attributes{"env": nil}, replaces: []string{"env"}},
		"task count":               {change: attributes{"task_count": 4}, replaces: []string{"task_count"}},
		"the job's own task count": {change: attributes{"task_count": nil}, replaces: []string{"task_count"}},
		"timeout":                  {change: attributes{"task_timeout": "91m"}, replaces: []string{"task_timeout"}},
		"timeout, spelt anew":      {change: attributes{"task_timeout": "1h30m"}, noop: true},
		"timeout, in seconds":      {change: attributes{"task_timeout": "5400s"}, noop: true},
		"trigger":                  {change: attributes{"triggers": map[string]any{"data": "v2"}}, replaces: []string{"triggers"}},
		"trigger, one more":        {change: attributes{"triggers": map[string]any{"data": "v1", "more": ""}}, replaces: []string{"triggers"}},
		"trigger, null":            {change: attributes{"triggers": map[string]any{"data": nil}}, replaces: []string{"triggers"}},
		"a trigger unknown": {
			change: attributes{"triggers": map[string]any{"data": unknown{}}}, replaces: []string{"triggers"}, warns: "triggers holds a value that is known only after apply",
		},
		"triggers unknown":  {change: attributes{"triggers": unknown{}}, replaces: []string{"triggers"}, warns: "triggers holds a value that is known only after apply"},
		"several at once":   {change: attributes{"task_count": 1, "args": []string{}, "triggers": nil}, replaces: []string{"args", "task_count", "triggers"}},
		"wait_for":          {change: attributes{"wait_for": "created"}},
		"allow_concurrent":  {change: attributes{"allow_concurrent": true}},
		"cancel_on_destroy": {change: attributes{"cancel_on_destroy": true}},
		"timeouts":          {change: attributes{"timeouts": map[string]string{"create": "1h"}}},
	} {
		a := maps.Clone(base)
		for k, v := range c.change {
			if v == nil {
				delete(a, k)
			} else {
				a[k] = v
			}
		}
		p := s.plan(l, a)
		if text := errorsOf(p.Diagnostics); text != "" {
			t.Errorf("%s: %s", name, text)
			continue
		}
		slices.Sort(p.replaces)
		if !slices.Equal(p.replaces, c.replaces) || p.noop != c.noop {
			t.Errorf("%s: replaces for %v, no-op %t; want %v, %t", name, p.replaces, p.noop, c.replaces, c.noop)
		}
		if text := warnings(p.Diagnostics); (c.warns == "") != (text == "") || !strings.Contains(text, c.warns) {
			t.Errorf("%s: warns %q, want %q", name, text, c.warns)
		}
		// Without a replacement nothing of the execution is planned to change.
		if len(c.replaces) == 0 && !p.state.IsFullyKnown() {
			t.Errorf("%s: the update plans unknown values: %s", name, p.state)
		}
	}
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("a plan makes calls: %v", calls)
	}

	// No map and an empty one are the same run, written in two ways.
	bare, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "wait_for": "completed"})
	s.check(nil, diags)
	if p := s.plan(bare, attributes{"job": "train", "wait_for": "completed", "env": map[string]any{}, "triggers": map[string]any{}}); len(p.replaces) != 0 || p.noop {
		t.Errorf("empty maps: replaces for %v, no-op %t", p.replaces, p.noop)
	}
}

// The plan says what delete would refuse, or cancel. It does not see every
// delete, and cannot know whether the execution has ended by then.
func TestPlanWarnsOfARunningExecution(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	for _, cancel := range []bool{false, true} {
		a := attributes{"job": "train", "allow_concurrent": true, "cancel_on_destroy": cancel, "triggers": map[string]any{"cancel": fmt.Sprint(cancel)}}
		l, diags := s.apply(w.ctx, s.nothing(), a)
		s.check(nil, diags)
		w.attempt()
		want := "Execution is still running"
		if cancel {
			want = "Execution may be cancelled"
		}
		changed := maps.Clone(a)
		changed["args"] = []string{"x"}
		for what, text := range map[string]string{"destroy": warnings(s.plan(l, nil).Diagnostics), "replace": warnings(s.plan(l, changed).Diagnostics)} {
			if !strings.Contains(text, want) {
				t.Errorf("%s, cancel_on_destroy %t: %q", what, cancel, text)
			}
		}
		if text := warnings(s.plan(l, a).Diagnostics); text != "" {
			t.Errorf("no change: %s", text)
		}
	}
}

// Mistakes are refused at plan, once each, at the attribute, without any call.
func TestRefusedAtPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	s := w.server(nil)
	for name, c := range map[string]struct {
		attributes attributes
		want       string
	}{
		"platform's variable":  {attributes{"env": map[string]any{"CLOUD_RUN_JOB": "x"}}, `"CLOUD_RUN_JOB" is set by Cloud Run itself`},
		"the key":              {attributes{"env": map[string]any{"RESILIENTJOB_RUN_KEY": "x"}}, "is reserved: the provider marks its executions with it"},
		"malformed variable":   {attributes{"env": map[string]any{"A-B": "x"}}, `"A-B" cannot be the name of an environment variable`},
		"null variable":        {attributes{"env": map[string]any{"A": nil}}, `Leave the element out, or write "" for an empty text`},
		"no tasks":             {attributes{"task_count": 0}, "task_count is 0; an execution has from 1 to 10000 tasks. Write a number in this range, or leave task_count out"},
		"fewer than none":      {attributes{"task_count": -3}, "task_count is -3; an execution has from 1 to 10000 tasks"},
		"more than is read":    {attributes{"task_count": 3000000000}, "task_count is 3000000000; an execution has from 1 to 10000 tasks"},
		"too many tasks":       {attributes{"task_count": 10001}, "a job has at most 10000 tasks"},
		"timeout without unit": {attributes{"task_timeout": "600"}, `write "600s"`},
		"timeout of nothing":   {attributes{"task_timeout": "0s"}, "not more than zero"},
		"timeout too long":     {attributes{"task_timeout": "169h"}, "at most 168h"},
		"wait_for":             {attributes{"wait_for": "finished"}, `"finished" is nothing that create can wait for: write "created" to wait for nothing`},
		"timeouts":             {attributes{"timeouts": map[string]string{"create": "soon"}}, "soon"},
		"job":                  {attributes{"job": "a/b/c/d/e"}, "is not the name of a Cloud Run job"},
		"empty job":            {attributes{"job": ""}, "is not the name of a Cloud Run job"},
	} {
		a := attributes{"job": "train"}
		maps.Copy(a, c.attributes)
		diags := s.validate(a)
		if errorsOf(diags) == "" {
			diags = s.plan(s.nothing(), a).Diagnostics
		}
		n := 0
		for _, d := range diags {
			n++
			if d.Attribute == nil {
				t.Errorf("%s: no attribute: %s", name, d.Summary)
			}
		}
		if text := errorsOf(diags); n != 1 || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d messages, want one with %q:\n%s", name, n, c.want, text)
		}
	}
	// A value that is not known yet is never an error.
	for _, name := range []string{"job", "args", "env", "task_count", "task_timeout", "triggers", "wait_for", "allow_concurrent", "cancel_on_destroy", "timeouts"} {
		a := attributes{"job": "train"}
		a[name] = unknown{}
		if diags := append(s.validate(a), s.plan(s.nothing(), a).Diagnostics...); len(diags) != 0 {
			t.Errorf("%s unknown: %s%s", name, errorsOf(diags), warnings(diags))
		}
	}
	if calls := w.Faults().Calls(); len(calls) != 0 {
		t.Errorf("a plan makes calls: %v", calls)
	}
}

// Import records and never runs: full id, the short forms, and identity.
func TestImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	e := w.ended(w.runByHand())
	s := w.server(nil)
	for name, c := range map[string]struct {
		id       string
		identity map[string]any
	}{
		"full id":                  {id: e.GetName()},
		"job/execution":            {id: "train/" + short(e)},
		"location/job/execution":   {id: "us-central1/train/" + short(e)},
		"project/…":                {id: acctest.EmulatorProject + "/us-central1/train/" + short(e)},
		"identity":                 {identity: map[string]any{"project": acctest.EmulatorProject, "location": "us-central1", "job": "train", "name": short(e)}},
		"identity of the provider": {identity: map[string]any{"job": "train", "name": short(e)}},
		"identity in another case": {identity: map[string]any{"location": "US-CENTRAL1", "job": "train", "name": short(e)}},
	} {
		l, diags := s.importAs(c.id, c.identity)
		if text := errorsOf(diags); text != "" {
			t.Errorf("%s: %s", name, text)
			continue
		}
		for attribute, want := range map[string]any{
			"id": e.GetName(), "job": "train", "name": short(e), "state": "succeeded", "wait_for": "started", "allow_concurrent": false, "cancel_on_destroy": false,
			"args": nil, "env": nil, "triggers": nil, "succeeded_count": 1.0,
		} {
			if got := l.attribute(attribute); got != want {
				t.Errorf("%s: %s is %v, want %v", name, attribute, got, want)
			}
		}
		want := map[string]string{"project": acctest.EmulatorProject, "location": "us-central1", "job": "train", "name": short(e)}
		if got := s.identityOf(l); !maps.Equal(got, want) {
			t.Errorf("%s: identity %v", name, got)
		}
		if p := s.plan(l, attributes{"job": "train"}); !p.noop {
			t.Errorf("%s: the plan after the import is not empty: %s", name, p.state)
		}
	}
	for id, want := range map[string]string{
		"train/train-zzzzz": "Cannot import an execution that does not exist",
		"train":             "is not the name of an execution",
		"":                  "is not the name of an execution",
	} {
		var identity map[string]any
		if id == "" {
			identity = map[string]any{"job": "train", "name": ""}
		}
		if _, diags := s.importAs(id, identity); !strings.Contains(errorsOf(diags), want) {
			t.Errorf("%q: %s", id, errorsOf(diags))
		}
	}
	w.requests(0, 0)
}

// After an import overrides and triggers are recorded in place; the next change
// runs the job.
func TestImportRecordsInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	e := w.runByHand()
	w.attempt()
	s := w.server(nil)
	l, diags := s.importAs("train/"+short(e), nil)
	s.check(nil, diags)
	a := attributes{"job": jobFull, "args": []string{"--epochs", "1"}, "triggers": map[string]any{"data": "v1"}}
	p := s.plan(l, a)
	if len(p.replaces) != 0 || p.noop || !strings.Contains(warnings(p.Diagnostics), "Imported execution is recorded, not run") {
		t.Fatalf("replaces %v, no-op %t, %s", p.replaces, p.noop, warnings(p.Diagnostics))
	}
	since := acctest.Since(w.Emulator)
	l, diags = s.apply(w.ctx, l, a)
	s.check(nil, diags)
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("recording makes calls: %v", calls)
	}
	if l.attribute("job") != "train" || l.attribute("name") != short(e) || l.attribute("args") == nil {
		t.Errorf("the state is %s", l.state)
	}
	if got := s.identityOf(l)["name"]; got != short(e) {
		t.Errorf("identity of %q", got)
	}
	if p = s.plan(l, a); !p.noop {
		t.Error("the next plan is not empty")
	}
	a["triggers"] = map[string]any{"data": "v2"}
	if p = s.plan(l, a); !slices.Equal(p.replaces, []string{"triggers"}) {
		t.Errorf("a change after the recording replaces for %v", p.replaces)
	}
	// What was imported while it ran is read until it ends.
	if !run.Finished(w.ended(w.stop(e))) {
		t.Error("it does not end")
	}
	l, diags = s.read(l)
	s.check(nil, diags)
	if l.attribute("state") != "cancelled" {
		t.Errorf("state is %v", l.attribute("state"))
	}
	w.requests(0, 0)
}

// case 130: what only this resource knows is changed in the state alone: no call is made, nothing is run again, and the execution stays what it is.
func TestClientSideChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.succeed()
	s := w.server(nil)
	l, diags := s.apply(w.ctx, s.nothing(), attributes{"job": "train", "wait_for": "completed", "triggers": map[string]any{"data": "v1"}})
	s.check(nil, diags)
	name := l.attribute("name")
	since := acctest.Since(w.Emulator)
	next := attributes{"job": "train", "wait_for": "created", "triggers": map[string]any{"data": "v1"}, "allow_concurrent": true, "cancel_on_destroy": true, "timeouts": map[string]string{"create": "1h"}}
	l, diags = s.apply(w.ctx, l, next)
	s.check(nil, diags)
	if calls := since.Methods(); len(calls) != 0 {
		t.Errorf("calls: %v", calls)
	}
	if l.attribute("name") != name || l.attribute("cancel_on_destroy") != true || l.attribute("wait_for") != "created" {
		t.Errorf("the state is %s", l.state)
	}
	w.only()
	if p := s.plan(l, next); !p.noop {
		t.Errorf("the next plan replaces for %v and changes %s", p.replaces, p.state)
	}
}
