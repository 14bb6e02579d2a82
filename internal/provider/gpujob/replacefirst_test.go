// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// Of what a failed create has granted, the replacement keeps what it needs. The
// rest goes with the old object, of which nobody else knows.
func TestReplacementFirstTakesOnlyWhatItNeeds(t *testing.T) { // row 28
	t.Parallel()
	w, tf := newLife(t)
	config := func(attributes string) string {
		return w.config(attributes + "\n  lifecycle { create_before_destroy = true }")
	}
	more := w.grantOn("data-one", w.email())
	more.Role = "roles/storage.objectUser"
	token := w.secretGrant("token", w.email())
	h := w.e.Faults().Add(refuse(acctest.CreateJob, 0))
	res := tf.Apply(config(`volumes = { data = { mount_path = "/data", gcs = { bucket = "data-one" } } }
  secret_env = { TOKEN = { secret = "token" } }`))
	if !res.Failed() || h.Struck() == 0 {
		t.Fatal("the create does not fail")
	}
	w.has(more, true)
	w.has(token, true)
	res = tf.Apply(config(`secret_env = { TOKEN = { secret = "token" } }`))
	if res.Failed() {
		t.Fatal(res)
	}
	w.has(more, false)
	w.has(token, true)
	w.has(w.grant(w.email()), true)
	ends(t, w, tf, res, config(`secret_env = { TOKEN = { secret = "token" } }`))
}

// An old object that could not be destroyed to its end meets a job that was made
// anew under its name: it leaves that job alone, though it looks like its own.
func TestReplacementFirstAndBack(t *testing.T) { // row 28
	t.Parallel()
	l := newLosing(t)
	l.ok(l.core.Apply(l.replacing("first")))
	stuck := func(name string, f faults.Fault) {
		h := l.e.Faults().Add(f)
		defer h.Remove()
		if res := l.core.Apply(l.replacing(name)); !res.Failed() || h.Struck() == 0 {
			t.Fatalf("the old object is destroyed to its end: %s", res)
		}
	}
	no := status.New(codes.PermissionDenied, "Permission denied.")
	stuck("second", faults.Fault{Method: acctest.DeleteServiceAccount, Times: -1, Status: no})
	var made atomic.Bool
	l.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Do: func(faults.Call) { made.Store(true) }})
	stuck("first", faults.Fault{Method: acctest.GetJob, Times: -1, Status: no, Match: func(faults.Call) bool { return made.Load() }})
	l.ok(l.core.Apply(l.replacing("first")))
	deleted := 0
	for _, c := range l.e.Faults().Find(acctest.DeleteJob) {
		if strings.HasSuffix(c.Resource, "/first") {
			deleted++
		}
	}
	if deleted != 1 {
		t.Errorf("the job was deleted %d times, want once, before it was made again", deleted)
	}
	if n := len(l.core.State[losingAddress].Deposed); n != 0 {
		t.Errorf("%d old objects are left", n)
	}
	if plan := l.core.Plan(l.replacing("first")); !plan.Empty() {
		t.Errorf("something is left to do: %s", plan)
	}
	l.ok(l.core.Destroy(l.replacing("first")))
	l.has("after the destroy")
}
