// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// patient is a core whose provider does not really wait.
func patient(t *testing.T, behaviour run.Behaviour) (c *core, waited func() time.Duration) {
	t.Helper()
	c = newCore(t, func(o *emulator.Options) { o.Behaviour = behaviour })
	clock := ticking(t)
	c.spoken = speak(t, c.w, provider.WithClock(clock))
	start := clock.Now()
	return c, func() time.Duration { return clock.Since(start) }
}

// behaviours are both answers to an update that changes nothing of a job that is not ready.
var behaviours = map[string]run.Behaviour{"an equal update sets up again": {}, "an equal update keeps what is": {EqualUpdateKeepsReady: true}}

// denied is what Cloud Run says of secrets that an account may not read.
func denied(account string, secrets ...string) *status.Status {
	var lines []string
	for i, s := range secrets {
		lines = append(lines, fmt.Sprintf("spec.template.spec.containers[0].env[%d].value_from.secret_key_ref.name: Permission denied on secret: %s/versions/latest for Revision service account %s. "+
			"The service account used must be granted the 'Secret Manager Secret Accessor' role (roles/secretmanager.secretAccessor) at the secret, project or higher level.", i, s, account))
	}
	return status.New(codes.Internal, strings.Join(lines, "\n"))
}

const setSecretPolicy = "google.cloud.secretmanager.v1.SecretManagerService/SetIamPolicy"

const tokenName = "projects/123456/secrets/token"

func reads(secret string, more ...string) attrs {
	env := attrs{"TOKEN": attrs{"secret": secret}}
	for _, s := range more {
		env[strings.ToUpper(s)] = attrs{"secret": s, "grant": false}
	}
	return attrs{"secret_env": env}
}

// A create whose account may not read a secret goes on for a while where this very apply made the grant, and only there (case 35).
func TestSecretIsReadableLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set     attrs
		secrets []string
		other   bool // another account is named
		times   int
		creates int // 0: until the time is over
		fails   bool
	}{
		"twice":                        {set: reads("token"), secrets: []string{tokenName}, times: 2, creates: 3},
		"by its short name":            {set: reads("token"), secrets: []string{"token"}, times: 1, creates: 2},
		"for ever":                     {set: reads("token"), secrets: []string{tokenName}, times: -1, fails: true},
		"not granted here":             {set: attrs{"secret_env": attrs{"TOKEN": attrs{"secret": "token", "grant": false}}}, secrets: []string{tokenName}, times: 1, creates: 1, fails: true},
		"one of two not granted here":  {set: reads("token", "key"), secrets: []string{tokenName, "projects/123456/secrets/key"}, times: 1, creates: 1, fails: true},
		"a secret that is not granted": {set: reads("token"), secrets: []string{"projects/123456/secrets/key"}, times: 1, creates: 1, fails: true},
		"another account":              {set: reads("token"), secrets: []string{tokenName}, other: true, times: 1, creates: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, waited := patient(t, run.Behaviour{})
			account := core.w.email()
			if c.other {
				account = "somebody@else.iam.gserviceaccount.com"
			}
			core.w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Times: c.times, Operation: &faults.OperationFault{Status: denied(account, c.secrets...)}})
			since := acctest.Since(core.w.e)
			l, errs, warnings := core.carryOut(core.plan(core.none(), core.job(c.set)))
			creates := since.Count(acctest.CreateJob)
			switch {
			case c.creates > 0:
				equal(t, "creates", creates, c.creates)
			case creates < 5 || creates > 40 || waited() > 6*time.Minute:
				t.Errorf("%d creates in %s", creates, waited())
			}
			equal(t, "deletes", since.Count(acctest.DeleteJob), creates-1)
			equal(t, "warnings", warnings, []string(nil))
			equal(t, "uid in the state", elements(t, l.state)["uid"].String(), toValue(t, elements(t, l.state)["uid"].Type(), core.w.live().GetUid()).String())
			if !c.fails {
				equal(t, "errors", errs, []string(nil))
				core.unchanged("afterwards", l, core.job(c.set))
				return
			}
			if len(errs) != 1 || !strings.Contains(errs[0], "a secret cannot be used") || !strings.Contains(errs[0], "Give "+account+" the role roles/secretmanager.secretAccessor on the secret") {
				t.Errorf("errors %q", errs)
			}
		})
	}
}

// case 34: the service agent may read the image a little later, and a create waits for that; when it never may, the error names the
// principal and the image.
func TestImageIsReadableLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ times, creates int }{"the third create": {2, 3}, "never": {-1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, waited := patient(t, run.Behaviour{})
			core.w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Times: c.times, Operation: &faults.OperationFault{Status: status.New(codes.Internal, unreadable)}})
			since := acctest.Since(core.w.e)
			l, errs, _ := core.carryOut(core.plan(core.none(), core.job(nil)))
			creates := since.Count(acctest.CreateJob)
			if c.creates > 0 {
				equal(t, "creates", creates, c.creates)
				equal(t, "errors", errs, []string(nil))
				core.unchanged("afterwards", l, core.job(nil))
				return
			}
			if creates < 3 || creates > 30 || waited() > 3*time.Minute {
				t.Errorf("%d creates in %s", creates, waited())
			}
			if len(errs) != 1 || !strings.Contains(errs[0], "service-999000000000@serverless-robot-prod.iam.gserviceaccount.com") || !strings.Contains(errs[0], "us-docker.pkg.dev/p/r/train:1 could not be read") {
				t.Errorf("errors %q", errs)
			}
		})
	}
}

// case 67: what this very create has made, or found, is not given up because one read does not see it.
func TestCreateDoesNotBelieveOneNotFound(t *testing.T) {
	t.Parallel()
	core, _ := patient(t, run.Behaviour{})
	account := core.w.addAccount(resourcename.ServiceAccountID(core.w.job.Project, core.w.job.Location, core.w.job.Name), core.w.job.String())
	for method, resource := range map[string]string{acctest.GetServiceAccount: account.GetName(), acctest.GetJob: core.w.job.String()} {
		// The first look at each is before the create: the account is found, and the name of the job is free.
		core.w.e.Faults().Add(faults.Fault{Method: method, After: 1, Status: status.New(codes.NotFound, resource+" does not exist.")})
	}
	core.w.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Operation: &faults.OperationFault{NoResponse: true}})
	since := acctest.Since(core.w.e)
	l := core.apply(core.none(), core.job(nil))
	equal(t, "reads of the job", since.Count(acctest.GetJob), 3)
	equal(t, "creates of the job", since.Count(acctest.CreateJob), 1)
	equal(t, "creates of the account, which is taken", since.Count(acctest.CreateServiceAccount), 1)
	var id string
	if err := elements(t, l.state)["service_account_unique_id"].As(&id); err != nil || id != account.GetUniqueId() {
		t.Errorf("account %q, want %q (%v)", id, account.GetUniqueId(), err)
	}
	core.unchanged("afterwards", l, core.job(nil))
}

// cases 71 and 73: the account was deleted and made again, and the policies hold the entry of the deleted one. The grants are given again, on
// bucket and secret, and those entries, which would have the write refused, go.
func TestAccountMadeAgainIsGrantedAgain(t *testing.T) {
	t.Parallel()
	core, _ := patient(t, run.Behaviour{})
	w, ctx := core.w, t.Context()
	set := reads("token")
	set["checkpoint"] = attrs{"bucket": "ckpt-one"}
	l := core.apply(core.none(), core.job(set))
	old, _ := w.e.IAM().Lookup(w.email())
	if err := w.client.DeleteServiceAccount(ctx, w.job.Project, old.GetUniqueId()); err != nil {
		t.Fatal(err)
	}
	again := w.addAccount(resourcename.ServiceAccountID(w.job.Project, w.job.Location, w.job.Name), w.job.String())
	held := func(resource, role, member string) bool {
		has, err := w.client.HasMember(ctx, gcp.Grant{Resource: resource, Role: role, Member: member})
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	places := map[string]string{"projects/_/buckets/ckpt-one": "roles/storage.objectUser", "projects/" + w.job.Project + "/secrets/token": "roles/secretmanager.secretAccessor"}
	member, twin := "serviceAccount:"+w.email(), "deleted:serviceAccount:"+w.email()+"?uid="+old.GetUniqueId()
	for resource, role := range places {
		if held(resource, role, member) || !held(resource, role, twin) {
			t.Errorf("%s: the new account has the grant of the old one", resource)
		}
	}
	p := core.plan(core.read(l), core.job(set))
	equal(t, "the plan", p.action(t), "update")
	l, errs, _ := core.carryOut(p)
	equal(t, "errors", errs, []string(nil))
	for resource, role := range places {
		if !held(resource, role, member) || held(resource, role, twin) {
			t.Errorf("%s: the new account has no grant, or the old one's entry is left", resource)
		}
	}
	var id string
	if err := elements(t, l.state)["service_account_unique_id"].As(&id); err != nil || id != again.GetUniqueId() {
		t.Errorf("account %q, want %q (%v)", id, again.GetUniqueId(), err)
	}
	core.unchanged("afterwards", l, core.job(set))
}

// The same of an update: the job stays the one it is, whether Cloud Run sets up again what an equal update sends or not.
func TestSecretIsReadableLateInAnUpdate(t *testing.T) {
	t.Parallel()
	for form, behaviour := range behaviours {
		for name, c := range map[string]struct {
			set     attrs
			times   int
			updates int
			fails   bool
		}{
			"twice":            {set: reads("token"), times: 2, updates: 3},
			"thrice":           {set: reads("token"), times: 3, updates: 4},
			"for ever":         {set: reads("token"), times: -1, fails: true},
			"not granted here": {set: attrs{"secret_env": attrs{"TOKEN": attrs{"secret": "token", "grant": false}}}, times: 1, updates: 1, fails: true},
		} {
			t.Run(name+", "+form, func(t *testing.T) {
				t.Parallel()
				core, waited := patient(t, behaviour)
				l := core.apply(core.none(), core.job(nil))
				uid, begun := core.w.live().GetUid(), waited()
				fault := core.w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Times: c.times, Operation: &faults.OperationFault{Status: denied(core.w.email(), tokenName)}})
				since := acctest.Since(core.w.e)
				l, errs, _ := core.carryOut(core.plan(l, core.job(c.set)))
				updates := since.Count(acctest.UpdateJob)
				switch {
				case c.updates > 0:
					equal(t, "updates", updates, c.updates)
				case updates < 5 || updates > 40 || waited()-begun > 6*time.Minute:
					t.Errorf("%d updates in %s", updates, waited()-begun)
				}
				fault.Remove()
				if c.fails {
					if len(errs) != 1 || !strings.Contains(errs[0], "a secret cannot be used") {
						t.Errorf("errors %q", errs)
					}
					equal(t, "Ready", core.w.live().GetTerminalCondition().GetState(), runpb.Condition_CONDITION_FAILED)
					// The next apply, when all is well, mends it in place. Somebody else may have granted it meanwhile.
					core.w.mayRead("token")
					p := core.plan(core.read(l), core.job(c.set))
					equal(t, "the next plan", p.action(t), "update")
					l, errs, _ = core.carryOut(p)
				}
				equal(t, "errors", errs, []string(nil))
				core.unchanged("afterwards", l, core.job(c.set))
				live := core.w.live()
				equal(t, "Ready", live.GetTerminalCondition().GetState(), runpb.Condition_CONDITION_SUCCEEDED)
				equal(t, "uid", live.GetUid(), uid)
				equal(t, "creates and deletes", since.Count(acctest.CreateJob)+since.Count(acctest.DeleteJob), 0)

				// What made the updates differ goes with the next change.
				next := core.job(attrs{"secret_env": c.set["secret_env"], "max_retries": 1})
				l = core.apply(l, next)
				equal(t, "annotations of the template", len(core.w.live().GetTemplate().GetAnnotations()), 0)
				core.unchanged("at the end", l, next)
			})
		}
	}
}

// mayRead grants the job's account a secret, as somebody else would.
func (w *world) mayRead(secret string) {
	w.t.Helper()
	_, err := w.client.AddMember(w.t.Context(), gcp.Grant{Resource: "projects/" + w.job.Project + "/secrets/" + secret, Role: "roles/secretmanager.secretAccessor", Member: "serviceAccount:" + w.email()})
	if err != nil {
		w.t.Fatal(err)
	}
}

// An update that makes the account waits, as a create does, until policies and Cloud Run see it (cases 65, 67).
func TestUpdateMakesAnAccountThatIsSeenLate(t *testing.T) {
	t.Parallel()
	core, _ := patient(t, run.Behaviour{})
	trainer := "trainer@" + core.w.job.Project + ".iam.gserviceaccount.com"
	checkpoint := attrs{"bucket": "ckpt-one"}
	l := core.apply(core.none(), core.job(attrs{"service_account": trainer, "checkpoint": checkpoint}))

	account := core.w.email()
	missing := status.New(codes.InvalidArgument, "Service account "+account+" does not exist.")
	for method, refusal := range map[string]*status.Status{
		acctest.SetBucketPolicy: missing, setSecretPolicy: missing,
		acctest.UpdateJob: status.New(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account "+account+" (or it may not exist)."),
	} {
		core.w.e.Faults().Add(faults.Fault{Method: method, Times: 2, Status: refusal})
	}
	since := acctest.Since(core.w.e)
	owned := core.job(attrs{"checkpoint": checkpoint, "secret_env": reads("token")["secret_env"]})
	l = core.apply(l, owned)
	for _, method := range []string{acctest.SetBucketPolicy, setSecretPolicy, acctest.UpdateJob} {
		equal(t, method, since.Count(method), 3)
	}
	core.unchanged("afterwards", l, owned)

	// A named account is not ours: a refusal is told at once.
	core.w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Status: status.New(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account "+trainer+" (or it may not exist).")})
	since = acctest.Since(core.w.e)
	_, errs, _ := core.carryOut(core.plan(l, core.job(attrs{"service_account": trainer, "checkpoint": checkpoint})))
	if len(errs) != 1 || !strings.Contains(errs[0], "iam.serviceaccounts.actAs") {
		t.Errorf("errors %q", errs)
	}
	equal(t, "updates", since.Count(acctest.UpdateJob), 1)
}
