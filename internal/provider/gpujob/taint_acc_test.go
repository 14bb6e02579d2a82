// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// losing is a project in which Terraform loses what is noted beside a job.
type losing struct {
	t    *testing.T
	e    *emulator.Emulator
	core *terraform.Core
}

const losingAddress = "resilientjob_gpu_job.train"

func newLosing(t *testing.T) *losing {
	t.Helper()
	l := &losing{t: t, e: acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })}
	l.core = terraform.New(t, l.e, terraform.NewClock())
	return l
}

func (l *losing) config(attributes ...string) string {
	return fmt.Sprintf("resource \"resilientjob_gpu_job\" \"train\" {\n  name  = \"train\"\n  image = \"us-docker.pkg.dev/p/apps/train:1\"\n  %s\n}\n", strings.Join(attributes, "\n  "))
}

const losingJob = "projects/" + acctest.EmulatorProject + "/locations/" + acctest.EmulatorRegion + "/jobs/train"

// account makes an account as somebody else.
func (l *losing) account(id, description string) {
	l.t.Helper()
	if _, err := l.e.IAM().CreateServiceAccount(l.t.Context(), &adminpb.CreateServiceAccountRequest{Name: "projects/" + acctest.EmulatorProject, AccountId: id,
		ServiceAccount: &adminpb.ServiceAccount{Description: description}}); err != nil {
		l.t.Fatal(err)
	}
}

// has checks which accounts there are.
func (l *losing) has(what string, want ...string) {
	l.t.Helper()
	list, err := l.e.IAM().ListServiceAccounts(l.t.Context(), &adminpb.ListServiceAccountsRequest{Name: "projects/" + acctest.EmulatorProject, PageSize: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	var got []string
	for _, a := range list.GetAccounts() {
		id, _, _ := strings.Cut(a.GetEmail(), "@")
		got = append(got, id)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		l.t.Errorf("%s: the accounts are %v, want %v", what, got, want)
	}
}

func (l *losing) ok(r *terraform.Result) *terraform.Result {
	l.t.Helper()
	if r.Failed() {
		l.t.Fatal(r)
	}
	return r
}

// warnings are those of the resource.
func warnings(r *terraform.Result) []terraform.Diagnostic {
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(d terraform.Diagnostic) bool { return d.Address == "" })
}

// leave changes the account, and lets the change fail half-way: acct-new-1 is
// made, and noted alone.
func (l *losing) leave() {
	l.t.Helper()
	l.ok(l.core.Apply(l.config(`service_account_id = "acct-old-1"`)))
	h := l.e.Faults().Add(refuse(acctest.UpdateJob, 0))
	defer h.Remove()
	if res := l.core.Apply(l.config(`service_account_id = "acct-new-1"`)); !res.Failed() {
		l.t.Fatal("the change of the account does not fail")
	}
}

// A tainted resource is destroyed without what is noted beside it: Terraform
// gives the destroy the private data of a plan that is made as if there were no
// resource. The accounts of a change that failed are found by their marker.
func TestAccTaintedLeavesNoAccount(t *testing.T) { // row 27
	t.Parallel()
	l := newLosing(t)
	l.account("somebody", "projects/"+acctest.EmulatorProject+"/locations/"+acctest.EmulatorRegion+"/jobs/train-too")
	l.leave()
	l.has("after the change that failed", "acct-old-1", "acct-new-1", "somebody")
	l.core.Taint(losingAddress)
	if res := l.ok(l.core.Apply(l.config(`service_account_id = "acct-third-1"`))); len(warnings(res)) > 0 {
		t.Errorf("it warns: %v", warnings(res))
	}
	l.has("after the apply", "acct-third-1", "somebody")
	l.ok(l.core.Destroy(l.config()))
	l.has("after the destroy", "somebody")
}

// A provider that is killed in an update leaves no note either.
func TestAccKilledLeavesNoAccount(t *testing.T) { // row 27
	t.Parallel()
	l := newLosing(t)
	l.leave()
	l.core.State[losingAddress].Current.Private = nil
	l.ok(l.core.Destroy(l.config()))
	l.has("after the destroy")
}

// The look goes through all pages.
func TestAccLeftAccountIsOnALaterPage(t *testing.T) { // row 27
	t.Parallel()
	l := newLosing(t)
	for i := range 120 {
		l.account(fmt.Sprintf("aaaa-%03d", i), "somebody's")
	}
	l.leave()
	l.core.Taint(losingAddress)
	l.ok(l.core.Destroy(l.config()))
	for _, id := range []string{"acct-old-1", "acct-new-1"} {
		if _, err := l.e.IAM().GetServiceAccount(t.Context(), &adminpb.GetServiceAccountRequest{Name: "projects/" + acctest.EmulatorProject + "/serviceAccounts/" + id + "@" + acctest.EmulatorProject + ".iam.gserviceaccount.com"}); err == nil {
			t.Errorf("%s is left", id)
		}
	}
}

// Whoever may not list accounts is told what may be left; the rest is destroyed.
func TestAccLeftAccountsCannotBeListed(t *testing.T) { // row 27
	t.Parallel()
	l := newLosing(t)
	l.leave()
	l.core.Taint(losingAddress)
	h := l.e.Faults().Add(faults.Fault{Method: "google.iam.admin.v1.IAM/ListServiceAccounts", Times: -1,
		Status: status.New(codes.PermissionDenied, "Permission 'iam.serviceAccounts.list' denied on resource (or it may not exist).")})
	res := l.ok(l.core.Apply(l.config(`service_account_id = "acct-third-1"`)))
	l.has("after the apply", "acct-new-1", "acct-third-1")
	said := warnings(res)
	if len(said) != 1 || said[0].Attribute != "service_account_id" {
		t.Fatalf("it warns %v", said)
	}
	for _, part := range []string{"iam.serviceAccounts.list", "roles/iam.serviceAccountAdmin", `description="` + losingJob + `"`} {
		if !strings.Contains(said[0].Detail, part) {
			t.Errorf("the warning does not say %s: %s", part, said[0].Detail)
		}
	}
	// Whoever named an account has made none, and is not told of any.
	h.Remove()
	l.ok(l.core.Destroy(l.config()))
	l.has("after the destroy", "acct-new-1") // a note that is there counts
}

// A named account is not ours, whatever its description says; nor is one whose
// marker is that of another job.
func TestAccTaintedKeepsANamedAccount(t *testing.T) {
	t.Parallel()
	l := newLosing(t)
	l.account("trainer", losingJob)
	l.account("helper", losingJob+"-too")
	config := l.config(`service_account = "trainer@` + acctest.EmulatorProject + `.iam.gserviceaccount.com"`)
	l.ok(l.core.Apply(config))
	h := l.e.Faults().Add(faults.Fault{Method: "google.iam.admin.v1.IAM/ListServiceAccounts", Status: status.New(codes.PermissionDenied, "denied")})
	for range 2 {
		l.core.Taint(losingAddress)
		if res := l.ok(l.core.Apply(config)); len(warnings(res)) > 0 {
			t.Errorf("it warns %v", warnings(res))
		}
	}
	if h.Struck() != 1 {
		t.Errorf("accounts were looked for %d times", h.Struck())
	}
	l.ok(l.core.Destroy(config))
	l.has("after the destroy", "helper", "trainer")
}

// A replacement that is made before the old resource goes, and has its name, may
// have taken over what that one had made. The destroy of the old one leaves it.
func TestAccCreateFirstAfterAFailedCreate(t *testing.T) { // row 28
	t.Parallel()
	l := newLosing(t)
	config := l.config("lifecycle { create_before_destroy = true }")
	h := l.e.Faults().Add(faults.Fault{Method: acctest.CreateJob, Status: status.New(codes.InvalidArgument, "no")})
	if res := l.core.Apply(config); !res.Failed() || h.Struck() == 0 {
		t.Fatal("the create does not fail")
	}
	l.ok(l.core.Apply(config))
	if n := len(l.core.State[losingAddress].Deposed); n != 0 {
		t.Errorf("%d deposed objects are left", n)
	}
	if res := l.core.Plan(config); !res.Empty() {
		t.Errorf("the next plan is not empty: %s", res)
	}
	l.ok(l.core.Destroy(config))
	l.has("after the destroy")
}
