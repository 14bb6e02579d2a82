// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// policyHas tells whether any member of the test bucket's policy, deleted ones
// too, mentions a text.
func (w *world) policyHas(text string) bool {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.e.Addr()+"/storage/v1/b/"+w.bucket+"/iam", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	policy, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %v", resp.Status, err)
	}
	return strings.Contains(string(policy), text)
}

// gone fails the test if an account of this id, or a member that names it, is
// there.
func (w *world) gone(id string) {
	w.t.Helper()
	if _, ok := w.e.IAM().Lookup(resourcename.ServiceAccountEmail(w.job.Project, id)); ok {
		w.t.Errorf("the account %s is left", id)
	}
	if w.policyHas(id) {
		w.t.Errorf("the policy of the bucket still names %s", id)
	}
}

// refuse is a call that is refused once, after some that are not.
func refuse(method string, after int) faults.Fault {
	return faults.Fault{Method: method, After: after, Status: status.New(codes.PermissionDenied, "Permission denied on resource.")}
}

// An account whose role could not be revoked stays until it can: a policy would
// go on naming the deleted account.
func TestAccAccountStaysWithItsGrant(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config(`service_account_id = "acct-old-1"`)).Succeeds()
	w.e.Faults().Add(refuse(acctest.SetBucketPolicy, 1))
	w.apply(w.config(`service_account_id = "acct-new-1"`)).Fails("Cannot revoke a role", "the next apply tries again")
	if _, ok := w.e.IAM().Lookup(resourcename.ServiceAccountEmail(w.job.Project, "acct-old-1")); !ok {
		t.Error("the old account was deleted before its role was revoked")
	}
	w.tf.Apply().Succeeds()
	w.gone("acct-old-1")
	w.tf.Plan().IsEmpty()
	w.tf.Destroy().Succeeds()
	w.gone("acct-new-1")
}

// A job that somebody else made under the name of a deleted one is shown, and
// neither changed nor deleted.
func TestAccSomebodyElsesJob(t *testing.T) { // row 25
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config("")).Succeeds()
	mine := w.live().GetUid()
	theirs := &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{Containers: []*runpb.Container{{Image: "theirs:1"}}}}}
	w.deleteJob()
	op, err := w.client.CreateJob(t.Context(), w.job.Parent(), w.job.Name, theirs)
	if err == nil {
		_, err = op.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	uid := w.live().GetUid()

	plan := w.tf.Plan()
	equal(t, "what the plan does", plan.Actions(address), "update")
	equal(t, "uid is known only after apply", plan.Unknown(address, "uid"), true)
	plan.Says("Another job has the name", mine, uid)
	for _, refresh := range []string{"-refresh=true", "-refresh=false"} {
		since := acctest.Since(w.e)
		w.tf.Write(w.config("max_retries = 1"))
		w.tf.Apply(refresh).Fails("Job exists already", "terraform import ADDRESS "+w.job.String(), uid)
		equal(t, "writes with "+refresh, since.Writes(), []string{})
	}
	w.tf.Destroy("-refresh=false").Succeeds().Says("A job of the same name is left alone", uid)
	equal(t, "uid of the job that is left", w.live().GetUid(), uid)
	equal(t, "image", w.container().GetImage(), "theirs:1")
	if _, ok := w.e.IAM().Lookup(w.email()); ok || w.hasGrant(w.grant(w.email())) {
		t.Error("the account, or its role, is left")
	}
}
