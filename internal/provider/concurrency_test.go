// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	"google.golang.org/genproto/googleapis/type/expr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const (
	crowdBucket = "ckpt-crowd"
	crowdSecret = "projects/" + acctest.EmulatorProject + "/secrets/token"
	crowdJobs   = 50

	getSecretPolicy = "google.cloud.secretmanager.v1.SecretManagerService/GetIamPolicy"
	setSecretPolicy = "google.cloud.secretmanager.v1.SecretManagerService/SetIamPolicy"
)

func byProvider(c faults.Call) bool {
	return strings.Contains(c.UserAgent, "terraform-provider-resilientjob/")
}

// crowdConfig is one bucket, and many jobs that are granted it and one secret.
const crowdConfig = `
resource "resilientjob_checkpoint_bucket" "crowd" {
  name          = "ckpt-crowd"
  force_destroy = true
}
resource "resilientjob_gpu_job" "crowd" {
  count      = 50
  name       = "crowd-${count.index}"
  image      = "us-docker.pkg.dev/cloudrun/container/job"
  gpu_type   = "none"
  secret_env = { TOKEN = { secret = "token" } }
  checkpoint = { bucket = resilientjob_checkpoint_bucket.crowd.name, mount_path = "/mnt/ckpt" }
}
`

// policies is another writer of the two policies: it reads, changes its own members and writes with the etag, as everybody should.
type policies struct {
	t       *testing.T
	e       *emulator.Emulator
	storage *storage.Service
}

func newPolicies(t *testing.T, e *emulator.Emulator) *policies {
	t.Helper()
	s, err := storage.NewService(t.Context(), option.WithEndpoint("http://"+e.Addr()+"/storage/v1/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return &policies{t, e, s}
}

// entries are the members of the bucket's and the secret's policy: "role member", with the condition behind it.
func (p *policies) entries() (bucket, secret []string) {
	p.t.Helper()
	b, err := p.storage.Buckets.GetIamPolicy(crowdBucket).OptionsRequestedPolicyVersion(3).Context(context.Background()).Do()
	if err != nil {
		p.t.Error(err)
		return nil, nil
	}
	for _, x := range b.Bindings {
		for _, m := range x.Members {
			entry := x.Role + " " + m
			if c := x.Condition; c != nil {
				entry += " if " + strings.Join([]string{c.Title, c.Description, c.Expression}, "|")
			}
			bucket = append(bucket, entry)
		}
	}
	s, err := p.readSecret()
	if err != nil {
		p.t.Error(err)
		return nil, nil
	}
	for _, x := range s.GetBindings() {
		for _, m := range x.GetMembers() {
			entry := x.GetRole() + " " + m
			if c := x.GetCondition(); c != nil {
				entry += " if " + strings.Join([]string{c.GetTitle(), c.GetDescription(), c.GetExpression()}, "|")
			}
			secret = append(secret, entry)
		}
	}
	slices.Sort(bucket)
	slices.Sort(secret)
	return bucket, secret
}

func (p *policies) readSecret() (*iampb.Policy, error) {
	return p.e.Secrets().GetIamPolicy(context.Background(), &iampb.GetIamPolicyRequest{Resource: crowdSecret, Options: &iampb.GetPolicyOptions{RequestedPolicyVersion: 3}})
}

// condition is the one that bindings of the other writer have.
var condition = &expr.Expr{Title: "office hours", Description: "not at night", Expression: "request.time.getHours(\"Europe/Berlin\") < 20"}

// toggle adds one member to each policy, or takes it out, with a condition for every other one, and reports how many writes were refused
// because somebody else wrote.
func (p *policies) toggle(member string, conditional bool) (refused int) {
	p.t.Helper()
	for {
		b, err := p.storage.Buckets.GetIamPolicy(crowdBucket).OptionsRequestedPolicyVersion(3).Context(context.Background()).Do()
		if err != nil {
			p.t.Error(err)
			return refused
		}
		same := func(x *storage.PolicyBindings) bool {
			return x.Role == "roles/storage.objectViewer" && (x.Condition != nil) == conditional
		}
		at := slices.IndexFunc(b.Bindings, same)
		if at < 0 {
			x := &storage.PolicyBindings{Role: "roles/storage.objectViewer"}
			if conditional {
				x.Condition = &storage.Expr{Title: condition.GetTitle(), Description: condition.GetDescription(), Expression: condition.GetExpression()}
			}
			b.Bindings = append(b.Bindings, x)
			at = len(b.Bindings) - 1
		}
		b.Bindings[at].Members = toggled(b.Bindings[at].Members, member)
		b.Version = 3
		_, err = p.storage.Buckets.SetIamPolicy(crowdBucket, b).Context(context.Background()).Do()
		var answer *googleapi.Error
		if errors.As(err, &answer) && answer.Code == 412 {
			refused++
			continue
		}
		if err != nil {
			p.t.Error(err)
		}
		break
	}
	for {
		s, err := p.readSecret()
		if err != nil {
			p.t.Error(err)
			return refused
		}
		at := slices.IndexFunc(s.GetBindings(), func(x *iampb.Binding) bool {
			return x.GetRole() == "roles/secretmanager.viewer" && (x.GetCondition() != nil) == conditional
		})
		if at < 0 {
			x := &iampb.Binding{Role: "roles/secretmanager.viewer"}
			if conditional {
				x.Condition = condition
			}
			s.Bindings = append(s.Bindings, x)
			at = len(s.GetBindings()) - 1
		}
		s.Bindings[at].Members = toggled(s.GetBindings()[at].GetMembers(), member)
		s.Version = 3
		_, err = p.e.Secrets().SetIamPolicy(context.Background(), &iampb.SetIamPolicyRequest{Resource: crowdSecret, Policy: s})
		if status.Code(err) == codes.Aborted {
			refused++
			continue
		}
		if err != nil {
			p.t.Error(err)
		}
		return refused
	}
}

func toggled(members []string, member string) []string {
	if at := slices.Index(members, member); at >= 0 {
		return slices.Delete(slices.Clone(members), at, at+1)
	}
	return append(slices.Clone(members), member)
}

// meddle writes at each turn until turns are over: members that come and go, and are out in the end.
func (p *policies) meddle(turns <-chan struct{}) (writes, refused int) {
	for n := 0; ; n++ {
		if _, more := <-turns; !more && n%2 == 0 {
			return n, refused
		}
		refused += p.toggle(fmt.Sprintf("user:guest%d@example.com", n/2%7), n/2%2 == 0)
	}
}

// Fifty jobs are granted one bucket and one secret in one apply while somebody else changes both policies all the time: nobody's member is
// lost, conditions survive, the grants go out in few writes, and a destroy leaves what others wrote (cases 74, 76, 77, 79, 80).
func TestAccCrowdOnOnePolicy(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })
	if _, err := e.Secrets().AddSecret(acctest.EmulatorProject, "token", []byte("x")); err != nil {
		t.Fatal(err)
	}
	tf := acctest.CLI(t, e)
	tf.Write(acctest.ProviderConfig(e) + crowdConfig)
	others := newPolicies(t, e)
	foreign := func() (bucket, secret []string) {
		bucket, secret = others.entries()
		ours := func(entry string) bool { return strings.Contains(entry, "serviceAccount:") }
		return slices.DeleteFunc(bucket, ours), slices.DeleteFunc(secret, ours)
	}
	// The other writer starts as soon as the bucket is there. It has a turn when an account was made, and when the provider is about to write
	// what it has read, the first ten times.
	made := make(chan struct{})
	turns := make(chan struct{}, 1)
	turn := func() {
		select {
		case turns <- struct{}{}:
		default: // it is busy
		}
	}
	var once sync.Once
	e.Faults().Watch(func(c faults.Call) {
		switch {
		case c.Method == acctest.InsertBucket && c.Code == codes.OK:
			once.Do(func() { close(made) })
		case c.Method == acctest.CreateServiceAccount:
			turn()
		}
	})
	for _, method := range []string{acctest.GetBucketPolicy, getSecretPolicy} {
		e.Faults().Add(faults.Fault{Method: method, Match: byProvider, Times: 10, Do: func(faults.Call) { turn() }})
	}
	calls := acctest.Since(e)
	var writes, refused int
	var group sync.WaitGroup
	group.Go(func() {
		<-made
		others.toggle("user:stays@example.com", false)
		others.toggle("group:stays@example.com", true)
		writes, refused = others.meddle(turns)
	})
	applied := tf.Apply("-parallelism=30")
	once.Do(func() { close(made) }) // not if it failed before
	close(turns)
	group.Wait()
	applied.Succeeds()

	byUs := func(method string) (ok, conflicts int) {
		for _, c := range calls.Find(method) {
			switch {
			case !byProvider(c):
			case c.Code == codes.OK:
				ok++
			default:
				conflicts++
			}
		}
		return ok, conflicts
	}
	for what, method := range map[string]string{"bucket": acctest.SetBucketPolicy, "secret": setSecretPolicy} {
		ok, conflicts := byUs(method)
		t.Logf("%s: %d jobs in %d writes, and %d that met another's", what, crowdJobs, ok, conflicts)
		if ok > 15 || ok == 0 {
			t.Errorf("%s: %d writes for %d jobs", what, ok, crowdJobs)
		}
	}
	t.Logf("the other writer: %d writes of each, %d refused", writes, refused)
	if _, conflicts := byUs(acctest.SetBucketPolicy); writes < 10 || conflicts == 0 {
		t.Errorf("the other writer was never in the way: %d writes, %d conflicts", writes, conflicts)
	}
	bucket, secret := others.entries()
	state := tf.State()
	for i := range crowdJobs {
		account, ok := state.Attribute(fmt.Sprintf("resilientjob_gpu_job.crowd[%d]", i), "service_account_email").(string)
		if !ok {
			t.Fatalf("job %d has no account", i)
		}
		for what, held := range map[string][]string{"roles/storage.objectUser": bucket, "roles/secretmanager.secretAccessor": secret} {
			if !slices.Contains(held, what+" serviceAccount:"+account) {
				t.Errorf("%s has lost %s", account, what)
			}
		}
	}
	bucket, secret = foreign()
	suffix := " if " + strings.Join([]string{condition.GetTitle(), condition.GetDescription(), condition.GetExpression()}, "|")
	for role, held := range map[string][]string{"roles/storage.objectViewer": bucket, "roles/secretmanager.viewer": secret} {
		for _, entry := range []string{role + " user:stays@example.com", role + " group:stays@example.com" + suffix} {
			if !slices.Contains(held, entry) {
				t.Errorf("%q is lost of %q", entry, held)
			}
		}
		if slices.ContainsFunc(held, func(entry string) bool { return strings.Contains(entry, "guest") }) {
			t.Errorf("a member that was taken out is there: %q", held)
		}
	}

	tf.Plan("-parallelism=30").IsEmpty()

	// The bucket stays, so that its policy can be looked at.
	tf.Destroy("-parallelism=30", "-target=resilientjob_gpu_job.crowd").Succeeds()
	left, leftSecret := others.entries()
	if !slices.Equal(left, bucket) || !slices.Equal(leftSecret, secret) {
		t.Errorf("left in the policies:\n%q\n%q\nwant\n%q\n%q", left, leftSecret, bucket, secret)
	}
}
