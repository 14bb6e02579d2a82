// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// case 53: the operation ends well, and Ready has failed for want of a quota. That is an error, told once and at once with region and
// quota, and the job stays in the state.
func TestGPUQuotaAtProvisioning(t *testing.T) {
	t.Parallel()
	const text = "Quota exceeded for total allowable count of GPUs per project per region."
	unready := &faults.OperationFault{Unready: status.New(codes.ResourceExhausted, text)}
	tells := func(t *testing.T, errs []string, summary string) {
		t.Helper()
		if len(errs) != 1 {
			t.Fatalf("errors %q", errs)
		}
		for _, words := range []string{"gpu_type: " + summary + ": no GPU quota", "in region " + acctest.EmulatorRegion, "quota NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion",
			"Google answered: " + text, "--dimensions=region=" + acctest.EmulatorRegion} {
			if !strings.Contains(errs[0], words) {
				t.Errorf("%q is not in %s", words, errs[0])
			}
		}
	}
	known := func(t *testing.T, c *core, l *life) {
		t.Helper()
		var uid string
		if err := elements(t, l.state)["uid"].As(&uid); err != nil {
			t.Fatal(err)
		}
		equal(t, "uid in the state", uid, c.w.live().GetUid())
		equal(t, "Ready", c.w.live().GetTerminalCondition().GetState(), runpb.Condition_CONDITION_FAILED)
	}
	t.Run("create", func(t *testing.T) {
		t.Parallel()
		c, waited := patient(t, run.Behaviour{})
		c.w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Times: -1, Operation: unready})
		since := acctest.Since(c.w.e)
		l, errs, _ := c.carryOut(c.plan(c.none(), c.job(nil)))
		tells(t, errs, "Cannot create the Cloud Run job")
		equal(t, "creates", since.Count(acctest.CreateJob), 1)
		if waited() > time.Minute {
			t.Errorf("it took %s", waited())
		}
		known(t, c, l)
	})
	for form, behaviour := range behaviours {
		t.Run("update, "+form, func(t *testing.T) {
			t.Parallel()
			c, _ := patient(t, behaviour)
			l := c.apply(c.none(), c.job(nil))
			fault := c.w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Times: -1, Operation: unready})
			since := acctest.Since(c.w.e)
			more := c.job(attrs{"task_count": 2})
			l, errs, _ := c.carryOut(c.plan(l, more))
			tells(t, errs, "Cannot update the Cloud Run job")
			equal(t, "updates", since.Count(acctest.UpdateJob), 1)
			known(t, c, l)
			fault.Remove()
			p := c.plan(c.read(l), more)
			equal(t, "the next plan", p.action(t), "update")
			l, errs, _ = c.carryOut(p)
			equal(t, "errors", errs, []string(nil))
			c.unchanged("afterwards", l, more)
		})
	}
}

// case 58: an API that does not know the switch for redundancy. Without it nobody can promise what the configuration says, so that the
// refusal names the attribute and the way out, and that way works. case 56: the switch is sent otherwise.
func TestAPIWithoutRedundancySwitch(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	switched := func(call faults.Call) bool {
		switch r := call.Request.(type) {
		case *runpb.CreateJobRequest:
			return r.GetJob().GetTemplate().GetTemplate().GpuZonalRedundancyDisabled != nil
		case *runpb.UpdateJobRequest:
			return r.GetJob().GetTemplate().GetTemplate().GpuZonalRedundancyDisabled != nil
		}
		return false
	}
	c.w.e.Faults().Add(faults.Fault{Method: "google.cloud.run.v2.Jobs/*", Match: switched, Times: -1,
		Status: status.New(codes.InvalidArgument, `Invalid JSON payload received. Unknown name "gpuZonalRedundancyDisabled" at 'job.template.template': Cannot find field.`)})
	since := acctest.Since(c.w.e)
	l, errs, _ := c.carryOut(c.plan(c.none(), c.job(nil)))
	if len(errs) != 1 || !strings.HasPrefix(errs[0], "gpu_zonal_redundancy: Cannot create the Cloud Run job: no switch for zonal redundancy") || !strings.Contains(errs[0], "Set gpu_zonal_redundancy = true") {
		t.Errorf("errors %q", errs)
	}
	equal(t, "creates", since.Count(acctest.CreateJob), 1)
	c.destroy(l)

	// The ways out, and a job without a GPU, which never has the switch.
	for _, set := range []attrs{{"gpu_zonal_redundancy": true}, {"gpu_zonal_redundancy": true, "max_retries": 1}, {"gpu_type": "none"}} {
		l := c.apply(c.none(), c.job(set))
		l = c.unchanged("afterwards", l, c.job(set))
		set["max_retries"] = 2
		l = c.apply(l, c.job(set))
		c.unchanged("after an update", l, c.job(set))
		c.destroy(l)
	}
}
