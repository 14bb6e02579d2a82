// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// Whatever the server makes of a job with everything, the plan is empty, and an update sends what was changed (cases 7, 13, 25).
func TestServerForms(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]run.Behaviour{
		"millicores, Cloud SQL last": {RespellQuantities: run.QuantitiesMillicores, CloudSQLLast: true, RunChangesEtag: true},
		"shortest, stage as sent":    {RespellQuantities: run.QuantitiesCanonical, LaunchStageAsSent: true, MetadataRaisesGeneration: true},
		"GPU not in the limits":      {GPULimits: run.GPULimitsMinimumWithoutGPU, GPUTimeoutStage: run.StageGA},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCore(t, func(o *emulator.Options) { o.Behaviour = b })
			config := c.job(everything())
			l := c.unchanged("after the create", c.apply(c.none(), config), config)
			live := jobFields(t, c.w.live(), true)
			set := everything()
			set["image"] = "train:2"
			since := acctest.Since(c.w.e)
			l = c.unchanged("after an update", c.apply(l, c.job(set)), c.job(set))
			sent := strings.Join(differences(live, jobFields(t, updated(t, since), true)), " ")
			equal(t, "sent", strings.TrimSuffix(sent, " launchStage=BETA"), "container.image=train:2")
			c.destroy(l)
			c.w.leavesNothing()
		})
	}
}

// A bucket or a secret that is used twice has one grant, which goes with the last use.
func TestSharedGrants(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	volume := func(kind string, v attrs) attrs { return attrs{"mount_path": "/" + kind, kind: v} }
	again := volume("gcs", attrs{"bucket": "ckpt-one"})
	l := c.none()
	for i, s := range []struct {
		set            attrs
		writes, grants string
	}{
		{attrs{"checkpoint": attrs{"bucket": "ckpt-one"}, "secret_env": attrs{"T": attrs{"secret": "token"}, "U": attrs{"secret": "token", "version": "1"}}, "volumes": attrs{"a": again, "b": volume("secret", attrs{"secret": "token"})}},
			"CreateServiceAccount setIamPolicy SetIamPolicy CreateJob", "objectUser secretAccessor"},
		{attrs{"checkpoint": attrs{"bucket": "ckpt-one"}, "volumes": attrs{"a": again, "b": volume("secret", attrs{"secret": "token"})}}, "UpdateJob", "objectUser secretAccessor"},
		{attrs{"volumes": attrs{"a": again}}, "UpdateJob SetIamPolicy", "objectUser"},
		{attrs{"checkpoint": attrs{"bucket": "ckpt-one"}, "volumes": attrs{"a": with(again, "read_only", true)}}, "setIamPolicy UpdateJob", "objectUser objectViewer"},
		{attrs{"checkpoint": attrs{"bucket": "ckpt-one"}}, "UpdateJob setIamPolicy", "objectUser"},
		// One that says no does not take it from one that says yes.
		{attrs{"checkpoint": attrs{"bucket": "ckpt-one"}, "volumes": attrs{"a": volume("gcs", attrs{"bucket": "ckpt-one", "grant": false})}}, "UpdateJob", "objectUser"},
		{attrs{"volumes": attrs{"a": volume("gcs", attrs{"bucket": "ckpt-one", "grant": false})}}, "UpdateJob setIamPolicy", ""},
	} {
		since := acctest.Since(c.w.e)
		config := c.job(s.set)
		l = c.unchanged("step "+string(rune('0'+i)), c.apply(l, config), config)
		equal(t, "writes of step "+string(rune('0'+i)), writes(since), s.writes)
		var held []string
		for _, g := range everyGrant(c.w.job.Project, c.w.email()) {
			if c.w.hasGrant(g) {
				held = append(held, g.Role[strings.LastIndex(g.Role, ".")+1:])
			}
		}
		equal(t, "grants of step "+string(rune('0'+i)), strings.Join(held, " "), s.grants)
	}
	c.destroy(l)
	c.w.leavesNothing()
}

// Things change places in one update, and each plan afterwards is empty: names between the two maps of variables, mount paths between volumes,
// the folder of the checkpoint between prefix and mount options, a volume becomes the checkpoint and another the volume.
func TestRearrangements(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	scratch := func(path string) attrs { return attrs{"mount_path": path, "empty_dir": attrs{}} }
	data := func(bucket, path string) attrs { return attrs{"mount_path": path, "gcs": attrs{"bucket": bucket}} }
	l := c.none()
	for _, s := range []struct {
		what     string
		set      attrs
		jobCalls int
	}{
		{"at first", attrs{"env": attrs{"A": "1", "B": "2"}, "volumes": attrs{"a": scratch("/a"), "b": scratch("/b")}}, 0},
		{"a variable becomes a secret", attrs{"env": attrs{"B": "2"}, "secret_env": attrs{"A": attrs{"secret": "token"}}, "volumes": attrs{"a": scratch("/a"), "b": scratch("/b")}}, 1},
		{"the secret and the variable change names", attrs{"env": attrs{"A": "2"}, "secret_env": attrs{"B": attrs{"secret": "token"}}, "volumes": attrs{"a": scratch("/a"), "b": scratch("/b")}}, 1},
		{"mount paths change places", attrs{"env": attrs{"A": "2"}, "volumes": attrs{"a": scratch("/b"), "b": scratch("/a")}}, 1},
		{"a volume has another name", attrs{"volumes": attrs{"c": scratch("/b"), "b": scratch("/a")}}, 1},
		{"a checkpoint by prefix", attrs{"checkpoint": attrs{"bucket": "ckpt-one", "prefix": "runs"}}, 1},
		{"the same by an option", attrs{"checkpoint": attrs{"bucket": "ckpt-one", "mount_options": []string{"only-dir=runs"}}}, 0},
		{"and back, with another option", attrs{"checkpoint": attrs{"bucket": "ckpt-one", "prefix": "runs", "mount_options": []string{"implicit-dirs"}}}, 1},
		{"the checkpoint becomes a volume", attrs{"volumes": attrs{"old": data("ckpt-one", "/checkpoints")}}, 1},
		{"and a volume the checkpoint", attrs{"checkpoint": attrs{"bucket": "ckpt-one"}}, 1},
		{"buckets change places", attrs{"checkpoint": attrs{"bucket": "data-one"}, "volumes": attrs{"data": data("ckpt-one", "/data")}}, 1},
		{"mounts change places", attrs{"checkpoint": attrs{"bucket": "data-one", "mount_path": "/data"}, "volumes": attrs{"data": data("ckpt-one", "/checkpoints")}}, 1},
		{"everything", everything(), 1},
		{"nothing", nil, 1},
	} {
		config := c.job(s.set)
		since := acctest.Since(c.w.e)
		l = c.unchanged(s.what, c.apply(l, config), config)
		equal(t, s.what+": updates", since.Count(acctest.UpdateJob), s.jobCalls)
		equal(t, s.what+": volumes and mounts", len(taskOf(c.w.live()).GetVolumes()), len(containerOf(c.w.live()).GetVolumeMounts()))
	}
	if v := taskOf(c.w.live()).GetVolumes(); len(v) > 0 {
		t.Errorf("volumes are left: %v", v)
	}
}

// A job that somebody deleted is made again with everything, beside the account and the grants that are there (case 22).
func TestEverythingIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	config := c.job(everything())
	l := c.unchanged("at first", c.apply(c.none(), config), config)
	want := jobFields(t, c.w.live(), true)
	c.w.deleteJob()
	l = c.read(l)
	p := c.plan(l, config)
	equal(t, "action", p.action(t), "update")
	equal(t, "the plan changes", strings.Join(changed(t, "", l.state, p.state), " "), "effective_labels uid")
	since := acctest.Since(c.w.e)
	next, errs, warnings := c.carryOut(p)
	equal(t, "said", len(errs)+len(warnings), 0)
	equal(t, "writes", writes(since), "CreateJob")
	c.unchanged("made again", next, config)
	equal(t, "the job differs in", differences(want, jobFields(t, c.w.live(), true)), []string{})
}

// With a named account nothing is granted, and what others gave it is nobody's here. A job may go from one to the other and back.
func TestNamedAccountOfEverything(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	for _, g := range everyGrant(c.w.job.Project, trainer) {
		if _, err := c.w.client.AddMember(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	named, owned := c.job(with(everything(), "service_account", trainer)), c.job(everything())
	since := acctest.Since(c.w.e)
	l := c.unchanged("named", c.apply(c.none(), named), named)
	equal(t, "writes", writes(since), "CreateJob")
	equal(t, "policy calls", since.Count("*etIamPolicy")+since.Count("*estIamPermissions"), 0)
	l = c.unchanged("owned", c.apply(l, owned), owned)
	since = acctest.Since(c.w.e)
	l = c.unchanged("named again", c.apply(l, named), named)
	equal(t, "updates", since.Count(acctest.UpdateJob), 1)
	c.destroy(l)
	if c.w.e.Run().Job(c.w.job.String()) != nil {
		t.Error("the job is left")
	}
	for _, g := range everyGrant(c.w.job.Project, trainer) {
		c.w.has(g, true)
		g.Member = "serviceAccount:" + c.w.email()
		c.w.has(g, false)
	}
}

// The account that the resource made cannot become the named one, however it is
// spelt: it would be deleted, and the job would go on to name it. Nor can one that
// a failed change left.
func TestOwnAccountIsNotNamed(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	owned := c.job(nil)
	l := c.unchanged("owned", c.apply(c.none(), owned), owned)
	for _, email := range []string{c.w.email(), strings.Replace(c.w.email(), "train", "Train", 1)} {
		for what, set := range map[string]attrs{"in place": {"service_account": email}, "replaced": {"service_account": email, "name": "another"}} {
			p := c.plan(l, c.job(set))
			if len(p.errors) != 1 || !strings.Contains(p.errors[0], "Service account is the job's own") && !strings.Contains(p.errors[0], "Invalid service account") {
				t.Errorf("%s, %s: %q", what, email, p.errors)
			}
		}
	}
	h := c.w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Times: -1, Status: status.New(codes.PermissionDenied, "Permission 'run.jobs.update' denied.")})
	next, errs, _ := c.carryOut(c.plan(l, c.job(attrs{"service_account_id": "another-one"})))
	h.Remove()
	equal(t, "errors of the change", len(errs), 1)
	p := c.plan(c.read(next), c.job(attrs{"service_account": "another-one@" + c.w.job.Project + ".iam.gserviceaccount.com"}))
	if len(p.errors) != 1 || !strings.Contains(p.errors[0], "This resource made another-one@") {
		t.Errorf("left of a change: %q", p.errors)
	}
	c.destroy(c.read(next))
	c.w.leavesNothing()
}
