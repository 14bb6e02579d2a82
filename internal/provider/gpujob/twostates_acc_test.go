// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// rivals are two Terraforms with a state each, and configurations that name the
// same job.
type rivals struct {
	*world
	loser, winner *terraform.Core
}

func newRivals(t *testing.T) *rivals {
	t.Helper()
	w, loser := newLife(t)
	return &rivals{w, loser, terraform.New(t, w.e, terraform.NewClock())}
}

// race applies both at once: the loser has looked and made what comes before the
// job when the winner begins, and its job is sent when the winner's is there.
func (r *rivals) race(t *testing.T, loses, wins string) *terraform.Result {
	t.Helper()
	made := make(chan struct{})
	var (
		begun atomic.Bool
		once  sync.Once
		both  sync.WaitGroup
		won   *terraform.Result
	)
	r.e.Faults().Watch(func(c faults.Call) {
		if c.Method == acctest.CreateJob && begun.Load() {
			once.Do(func() { close(made) })
		}
	})
	r.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Do: func(faults.Call) {
		begun.Store(true)
		both.Go(func() { won = r.winner.Apply(wins) })
		<-made
	}})
	lost := r.loser.Apply(loses)
	both.Wait()
	if won == nil || won.Failed() {
		t.Fatalf("the other does not win: %s", won)
	}
	fails(t, lost, "Job exists already", "while this apply was under way", "terraform import ADDRESS "+r.job.String())
	return lost
}

// leaves asserts that the loser takes nothing of the winner's away, whatever it
// does next, and that the winner has nothing to do and goes on to the end.
func (r *rivals) leaves(t *testing.T, loses, wins string) {
	t.Helper()
	uid, since := r.live().GetUid(), acctest.Since(r.e)
	for range 2 {
		fails(t, r.loser.Apply(loses), "Job exists already", "terraform import ADDRESS "+r.job.String())
		if res := r.winner.Plan(wins); !res.Empty() {
			t.Errorf("the other has something to do: %s", res)
		}
	}
	equal(t, "the loser's writes", writes(since), "")
	if res := r.loser.Destroy(loses); res.Failed() {
		t.Errorf("%s", res)
	}
	equal(t, "the loser's writes with its destroy", writes(since), "")
	equal(t, "resources in the loser's state", len(r.loser.State), 0)
	equal(t, "uid of the winner's job", r.live().GetUid(), uid)
	ends(t, r.world, r.winner, r.winner.Apply(wins), wins)
}

// Two Terraforms apply one configuration at once. The one that is slower is told,
// and touches neither the job nor the account and the grants, although it has made
// them before the other adopted them.
func TestAccTwoStatesRace(t *testing.T) { // row 29
	t.Parallel()
	for name, of := range map[string]func(*rivals) string{
		"account of its own": func(r *rivals) string { return r.config("") },
		"named account":      func(r *rivals) string { return r.named("checkpoint = { bucket = \"" + r.bucket + "\", grant = true }") },
		"nothing but a job":  func(r *rivals) string { return r.named("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRivals(t)
			config := of(r)
			r.race(t, config, config)
			r.leaves(t, config, config)
		})
	}
}

// named is a job that runs as an account which was there before.
func (r *rivals) named(attributes string) string {
	return r.bare("service_account = \"trainer@" + acctest.EmulatorProject + ".iam.gserviceaccount.com\"\n" + attributes)
}

// The destroy of what lost, without an apply in between, leaves the winner alone.
func TestAccTwoStatesDestroyAtOnce(t *testing.T) { // row 29
	t.Parallel()
	r := newRivals(t)
	config := r.config("")
	r.race(t, config, config)
	since := acctest.Since(r.e)
	if res := r.loser.Destroy(config); res.Failed() || len(warnings(res)) != 1 || !strings.Contains(res.String(), "left alone") {
		t.Errorf("%s", res)
	}
	equal(t, "the loser's writes", writes(since), "")
	ends(t, r.world, r.winner, r.winner.Apply(config), config)
}

// The winner had made the account and the grants, and the loser adopted them: it
// looked before the job was there.
func TestAccTwoStatesAdopted(t *testing.T) { // row 29
	t.Parallel()
	r := newRivals(t)
	config := r.config("")
	if res := r.winner.Apply(config); res.Failed() {
		t.Fatal(res)
	}
	h := r.e.Faults().Add(faults.Fault{Method: acctest.GetJob, Status: status.New(codes.NotFound, "Requested entity was not found.")})
	fails(t, r.loser.Apply(config), "Job exists already", "while this apply was under way")
	equal(t, "looks before the job was there", h.Struck(), 1)
	r.leaves(t, config, config)
}

// A create that was refused has made no job: one that another makes afterwards is
// the other's, with the account that it adopted.
func TestAccTwoStatesAfterARefusal(t *testing.T) { // row 29
	t.Parallel()
	r := newRivals(t)
	config := r.config("")
	h := r.e.Faults().Add(refuse(acctest.CreateJob, 0))
	if res := r.loser.Apply(config); !res.Failed() || h.Struck() == 0 {
		t.Fatal("the create does not fail")
	}
	h.Remove()
	if res := r.winner.Apply(config); res.Failed() {
		t.Fatal(res)
	}
	r.leaves(t, config, config)
}

// What the winner does not use is the loser's own, and goes with it: a grant of
// the shared account, and an account of another name. An account of the winner's
// is not taken for one that a failed change left, though it carries the mark.
func TestAccTwoStatesThatDiffer(t *testing.T) { // rows 8, 29
	t.Parallel()
	t.Run("grant", func(t *testing.T) {
		t.Parallel()
		r := newRivals(t)
		wins, loses := r.config(""), r.config(`volumes = { data = { mount_path = "/data", gcs = { bucket = "data-one" } } }`)
		r.race(t, loses, wins)
		more := r.grantOn("data-one", r.email())
		more.Role = "roles/storage.objectUser"
		r.has(more, true)
		since := acctest.Since(r.e)
		if res := r.loser.Destroy(loses); res.Failed() {
			t.Error(res)
		}
		equal(t, "the loser's writes", writes(since), "setIamPolicy")
		r.has(more, false)
		r.has(r.grant(r.email()), true)
		ends(t, r.world, r.winner, r.winner.Apply(wins), wins)
	})
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		r := newRivals(t)
		wins, loses := r.config(""), r.config(`service_account_id = "acct-loser-1"`)
		r.race(t, loses, wins)
		fails(t, r.loser.Apply(loses), "Job exists already")
		r.gone("acct-loser-1")
		r.leaves(t, loses, wins)
	})
}

// The job of a state that holds everything was deleted, and another Terraform is
// faster to make it again.
func TestAccTwoStatesMakeAgain(t *testing.T) { // rows 25, 29
	t.Parallel()
	r := newRivals(t)
	config := r.config("")
	if res := r.loser.Apply(config); res.Failed() {
		t.Fatal(res)
	}
	r.deleteJob()
	r.race(t, config, config)
	r.leaves(t, config, config)
}
