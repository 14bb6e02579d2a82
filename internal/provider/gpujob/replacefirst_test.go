// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// replacing is the configuration of a job that is made before the one of another
// name goes.
func (l *losing) replacing(name string) string {
	return strings.Replace(l.config("lifecycle { create_before_destroy = true }"), `"train"`+"\n  image", `"`+name+`"`+"\n  image", 1)
}

// A replacement that is made first and is cut short has a way on, and the error
// names it: the address holds the old job, so that the new one cannot be
// imported (row 4).
func TestInterruptedReplacementFirst(t *testing.T) {
	t.Parallel()
	const second = "projects/" + acctest.EmulatorProject + "/locations/" + acctest.EmulatorRegion + "/jobs/second"
	for how, c := range map[string]struct {
		strike func(*losing, faults.Call)
		remedy func(*losing)
		says   string
	}{
		"killed": {
			strike: func(l *losing, call faults.Call) { l.core.Kill(call) },
			remedy: func(l *losing) {
				if _, err := l.e.Run().DeleteJob(l.t.Context(), &runpb.DeleteJobRequest{Name: second}); err != nil {
					l.t.Fatal(err)
				}
			},
			says: "gcloud run jobs delete second --region=" + acctest.EmulatorRegion + " --project=" + acctest.EmulatorProject,
		},
		"Ctrl-C": {
			strike: func(l *losing, _ faults.Call) { l.core.Interrupt() },
			remedy: func(l *losing) { l.core.Untaint(losingAddress) },
			says:   `When Terraform calls this resource tainted, run "terraform untaint ADDRESS" and apply again.`,
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLosing(t)
			l.ok(l.core.Apply(l.replacing("first")))
			h := l.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Do: func(call faults.Call) { c.strike(l, call) }})
			if res := l.core.Apply(l.replacing("second")); !res.Failed() {
				t.Fatal("the replacement is not cut short")
			}
			h.Remove()
			res := l.core.Apply(l.replacing("second"))
			if !res.Failed() || !strings.Contains(res.String(), c.says) {
				t.Fatalf("it does not say %q:\n%s", c.says, res)
			}
			c.remedy(l)
			l.ok(l.core.Apply(l.replacing("second")))
			if plan := l.core.Plan(l.replacing("second")); !plan.Empty() {
				t.Errorf("something is left to do: %s", plan)
			}
			jobs, err := l.e.Run().ListJobs(t.Context(), &runpb.ListJobsRequest{Parent: second[:strings.Index(second, "/jobs/")]})
			if err != nil || len(jobs.GetJobs()) != 1 || jobs.GetJobs()[0].GetName() != second {
				t.Errorf("the jobs are %v, %v", jobs.GetJobs(), err)
			}
			l.ok(l.core.Destroy(l.replacing("second")))
			l.has("after the destroy")
		})
	}
}
