// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

const (
	listJobs     = "google.cloud.run.v2.Jobs/ListJobs"
	getJob       = "google.cloud.run.v2.Jobs/GetJob"
	listAccounts = "google.iam.admin.v1.IAM/ListServiceAccounts"
	getAccount   = "google.iam.admin.v1.IAM/GetServiceAccount"
	getIAM       = "storage.buckets.getIamPolicy"
)

// patientClock has longer pauses, so that a busy machine does not look like readers that stay away, and no time passes on it: what a list
// costs does not depend on the machine.
type patientClock struct {
	clockwork.Clock
	begun time.Time
}

func (c patientClock) NewTimer(d time.Duration) clockwork.Timer { return c.Clock.NewTimer(20 * d) }
func (c patientClock) Now() time.Time                           { return c.begun }
func (c patientClock) Since(time.Time) time.Duration            { return 0 }

// many is a world with so many jobs, with an account each, that are granted one bucket.
type many struct {
	*world
	n      int
	before int
}

const (
	manyBucket = "ckpt-many"
	manyRole   = "roles/storage.objectUser"
)

func newMany(t *testing.T, n int) *many {
	t.Helper()
	w := newWorld(t)
	w.bucket(t, manyBucket)
	for i := range n {
		if _, err := w.emulator.Run().CreateJob(t.Context(), &runpb.CreateJobRequest{Parent: parent, JobId: fmt.Sprintf("train-%d", i), Job: trainingJob("")}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.emulator.IAM().CreateServiceAccount(t.Context(), &adminpb.CreateServiceAccountRequest{Name: "projects/" + project, AccountId: fmt.Sprintf("train-%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if _, err := w.AddMember(t.Context(), manyGrant(i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	client, err := gcp.New(t.Context(), gcp.Options{EmulatorHost: w.emulator.Addr(), Clock: patientClock{clockwork.NewRealClock(), time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w.Client = client
	return &many{w, n, len(w.emulator.Faults().Calls())}
}

func accountOf(i int) string {
	return fmt.Sprintf("train-%d@%s.iam.gserviceaccount.com", i, project)
}

func manyGrant(i int) gcp.Grant {
	return gcp.Grant{Resource: "projects/_/buckets/" + manyBucket, Role: manyRole, Member: "serviceAccount:" + accountOf(i)}
}

// refresh reads all, with so many readers at a time, which have the same number of jobs each.
func (m *many) refresh(readers int, read func(i int)) {
	var group sync.WaitGroup
	for first := range readers {
		group.Go(func() {
			for i := first; i < m.n; i += readers {
				read(i)
			}
		})
	}
	group.Wait()
}

// count is how many requests came, of each method.
func (m *many) count() (all int, of map[string]int) {
	of = map[string]int{}
	calls := m.emulator.Faults().Calls()[m.before:]
	for _, c := range calls {
		of[c.Method]++
	}
	return len(calls), of
}

func (m *many) readJob(t *testing.T, i int) {
	t.Helper()
	name := fmt.Sprintf("%s/jobs/train-%d", parent, i)
	if job, err := m.GetJob(t.Context(), name, gcp.InBulk()); err != nil || job.GetName() != name || job.GetUid() == "" || len(job.GetTemplate().GetTemplate().GetContainers()) != 1 {
		t.Errorf("job %d: %v, %v", i, job, err)
	}
}

func (m *many) readAccount(t *testing.T, i int) {
	t.Helper()
	if account, err := m.GetServiceAccount(t.Context(), project, accountOf(i), gcp.InBulk()); err != nil || account.GetEmail() != accountOf(i) || account.GetUniqueId() == "" {
		t.Errorf("account %d: %v, %v", i, account, err)
	}
}

func (m *many) readGrant(t *testing.T, i int) {
	t.Helper()
	if has, err := m.HasMember(t.Context(), manyGrant(i)); err != nil || !has {
		t.Errorf("grant %d: %v, %v", i, has, err)
	}
}

// A thousand jobs with one account are refreshed, a hundred at a time, by thirty requests. A list of accounts has pages of a hundred: with
// an account each it takes ten requests for each hundred jobs, and not one hundred.
func TestRefreshOfAThousandJobs(t *testing.T) {
	t.Parallel()
	m := newMany(t, 1000)
	m.refresh(100, func(i int) {
		m.readJob(t, i)
		m.readGrant(t, i)
	})
	all, of := m.count()
	if all > 30 {
		t.Errorf("%d requests: %v", all, of)
	}
	m.before += all
	m.refresh(100, func(i int) { m.readAccount(t, i) })
	all, of = m.count()
	if all > 130 {
		t.Errorf("%d requests: %v", all, of)
	}
}

// At Terraform's default of ten at a time.
func TestRefreshTenAtATime(t *testing.T) {
	t.Parallel()
	m := newMany(t, 200)
	m.refresh(10, func(i int) {
		m.readJob(t, i)
		m.readAccount(t, i)
		m.readGrant(t, i)
	})
	all, of := m.count()
	if all > 120 { // 600 reads; accounts have two pages
		t.Errorf("%d requests: %v", all, of)
	}
}

// What a list says of a job and an account is what a read says.
func TestListsAreAsWholeAsReads(t *testing.T) {
	t.Parallel()
	m := newMany(t, 20)
	jobs, accounts := make([]*runpb.Job, m.n), make([]*adminpb.ServiceAccount, m.n)
	m.refresh(m.n, func(i int) {
		var err error
		if jobs[i], err = m.GetJob(t.Context(), fmt.Sprintf("%s/jobs/train-%d", parent, i), gcp.InBulk()); err != nil {
			t.Error(err)
		}
		if accounts[i], err = m.GetServiceAccount(t.Context(), project, accountOf(i), gcp.InBulk()); err != nil {
			t.Error(err)
		}
	})
	if _, of := m.count(); of[listJobs] == 0 || of[listAccounts] == 0 {
		t.Fatalf("nothing was listed: %v", of)
	}
	for i := range m.n {
		job, err := m.GetJob(t.Context(), fmt.Sprintf("%s/jobs/train-%d", parent, i))
		if err != nil {
			t.Fatal(err)
		}
		account, err := m.GetServiceAccount(t.Context(), project, accounts[i].GetUniqueId())
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]proto.Message{{job, jobs[i]}, {account, accounts[i]}} {
			if d := cmp.Diff(pair[0], pair[1], protocmp.Transform()); d != "" {
				t.Errorf("read and list differ:\n%s", d)
			}
		}
	}
}

// Who may not list reads as before, and hears nothing of it; a list that fails costs nobody an answer, and what is missing has its own error.
func TestRefreshWithoutLists(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Unavailable} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			m := newMany(t, 60)
			for _, method := range []string{listJobs, listAccounts} {
				m.emulator.Faults().Add(faults.Fault{Method: method, Times: -1, Status: status.New(code, "no lists today")})
			}
			const gone = "train-7"
			if _, err := m.emulator.Run().DeleteJob(t.Context(), &runpb.DeleteJobRequest{Name: parent + "/jobs/" + gone}); err != nil {
				t.Fatal(err)
			}
			m.refresh(20, func(i int) {
				name := fmt.Sprintf("%s/jobs/train-%d", parent, i)
				job, err := m.GetJob(t.Context(), name, gcp.InBulk())
				switch missing := strings.HasSuffix(name, "/"+gone); {
				case missing && gcp.IsNotFound(err):
					if e, _ := gcp.AsError(err); e.Resource != name || e.Op != "read Cloud Run job" {
						t.Errorf("the error is %v", err)
					}
				case missing || err != nil || job.GetName() != name:
					t.Errorf("%s: %v, %v", name, job, err)
				}
				m.readAccount(t, i)
			})
			_, of := m.count()
			if code == codes.PermissionDenied && (of[listJobs] != 1 || of[listAccounts] != 1) || of[getJob] < 60 || of[getAccount] < 60 {
				t.Errorf("requests: %v", of)
			}
		})
	}
}

// A policy that many ask for and that cannot be read is an error of each of them.
func TestPolicyThatManyCannotRead(t *testing.T) {
	t.Parallel()
	m := newMany(t, 30)
	m.emulator.Faults().Add(faults.Fault{Method: getIAM, Times: -1, Status: status.New(codes.PermissionDenied, "no policies today")})
	errs := make([]*gcp.Error, m.n)
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	m.refresh(m.n, func(i int) {
		ctx := t.Context()
		if i == 13 {
			ctx = interrupted
		}
		_, err := m.HasMember(ctx, manyGrant(i))
		e, ok := gcp.AsError(err)
		if !ok || e.Code != codes.PermissionDenied && i != 13 || e.Resource != manyBucket {
			t.Errorf("%d: %v", i, err)
		}
		errs[i] = e
	})
	for i, e := range errs {
		if slices.Index(errs, e) != i {
			t.Errorf("%d has the error of another", i)
		}
	}
	if errs[13].Code != codes.Canceled {
		t.Errorf("the one that was interrupted: %v", errs[13])
	}
	if all, of := m.count(); all > 10 {
		t.Errorf("%d requests: %v", all, of)
	}
}

// Those who look at one bucket, and at what they may do there, share the answers; an error is each one's own.
func TestOneBucketThatManyLookAt(t *testing.T) {
	t.Parallel()
	m := newMany(t, 60)
	rights := []string{"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"}
	m.refresh(20, func(i int) {
		if b, err := m.GetBucket(t.Context(), manyBucket, gcp.InBulk()); err != nil || b.Name != manyBucket {
			t.Errorf("%d: %v, %v", i, b, err)
		}
		if held, err := m.Permissions(t.Context(), "projects/_/buckets/"+manyBucket, rights); err != nil || !slices.Equal(held, rights) {
			t.Errorf("%d: %v, %v", i, held, err)
		}
		_, err := m.GetBucket(t.Context(), "no-such-bucket", gcp.InBulk())
		if e, ok := gcp.AsError(err); !ok || !gcp.IsNotFound(err) || e.Resource != "no-such-bucket" {
			t.Errorf("%d: %v", i, err)
		}
	})
	_, of := m.count()
	if of["storage.buckets.get"] > 60 || of["storage.buckets.testIamPermissions"] > 30 {
		t.Errorf("for 120 and 60 questions: %v", of)
	}
}
