// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

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
	w := newWorld(t)
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
