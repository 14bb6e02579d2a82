// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// choices are the valid values that the rows of the attributes know, by attribute.
func choices() map[string][]any {
	out := map[string][]any{}
	rows := attributeRows()
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		r := rows[path]
		// Without a grant a job that names secrets is not set up.
		if strings.HasSuffix(path, ".grant") && !strings.HasPrefix(path, "checkpoint") && !strings.Contains(path, "gcs") {
			continue
		}
		for _, s := range append([]step{{set: r.base}}, r.steps...) {
			if s.action == "replace" || s.action == "refused" {
				continue
			}
			for attribute, v := range s.set {
				out[attribute] = append(out[attribute], v)
			}
		}
	}
	for attribute, v := range everything() {
		out[attribute] = append(out[attribute], v)
	}
	return out
}

// From any configuration to any other: the plan is one that Terraform accepts, it comes true, the next one is empty, what is granted is what the
// plan said, at most one UpdateJob is sent, and in the end nothing is left (cases 116, 121, 125).
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	all := choices()
	names := slices.Sorted(maps.Keys(all))
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			c := newCore(t)
			for _, email := range []string{trainer, another} {
				for _, g := range everyGrant(c.w.job.Project, email) {
					if _, err := c.w.client.AddMember(t.Context(), g); err != nil {
						t.Fatal(err)
					}
				}
			}
			l := c.none()
			steps := 0
			for range 60 {
				set := attrs{}
				for _, name := range names {
					if r.IntN(3) > 0 {
						set[name] = all[name][r.IntN(len(all[name]))]
					}
				}
				config := c.job(set)
				p := c.plan(l, config)
				if len(p.errors) > 0 {
					continue // parts that do not go together
				}
				if len(p.replaces) > 0 {
					t.Fatalf("%v is replaced for %v", set, p.replaces)
				}
				steps++
				since := acctest.Since(c.w.e)
				next, errs, warnings := c.carryOut(p)
				if len(errs)+len(warnings) > 0 {
					t.Fatalf("%v: the apply says %q %q", set, errs, warnings)
				}
				if n := since.Count(acctest.UpdateJob) + since.Count(acctest.CreateJob); n > 1 {
					t.Errorf("%v: the job is written %d times", set, n)
				}
				l = c.unchanged(fmt.Sprintf("step %d, %v", steps, set), next, config)
				for _, g := range everyGrant(c.w.job.Project, c.w.email()) {
					if recorded := strings.Contains(elements(t, l.state)["grants"].String(), fmt.Sprintf("%q", g.Resource)); !recorded {
						c.w.has(g, false)
					}
				}
			}
			if steps < 10 {
				t.Errorf("only %d configurations were valid", steps)
			}
			c.destroy(l)
			if c.w.e.Run().Job(c.w.job.String()) != nil {
				t.Error("the job is left")
			}
			for _, email := range c.w.accountsMade() {
				for _, g := range everyGrant(c.w.job.Project, email) {
					c.w.has(g, email == trainer || email == another)
				}
			}
		})
	}
}
