// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"sync"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// looks are the answers to what is read before anything is written. All of it is
// asked for at once, since the way to the cloud and back is what takes time, and
// judged in the order in which it would be written.
type looks struct {
	jobErr     error // of the read of the job
	account    *adminpb.ServiceAccount
	accountErr error
	bucketErrs []error            // of the reads of the buckets, in their order
	rights     map[string]*rights // on what a grant is for, by its name
}

// rights are what the caller may do.
type rights struct {
	held []string
	err  error
}

// noAccount reports whether the owned account was looked for, and there is none.
func (l *looks) noAccount() bool { return l.account == nil && l.accountErr == nil }

// look asks for all of it, and returns when everything is answered. Without a plan
// nothing is asked about the job itself.
func (w *work) look(ctx context.Context, plan *Model, buckets []place, grants []gcp.Grant) *looks {
	l := &looks{bucketErrs: make([]error, len(buckets)), rights: map[string]*rights{}}
	client := w.r.data.Client
	var all sync.WaitGroup
	if plan != nil {
		all.Go(func() { _, l.jobErr = client.GetJob(ctx, plan.job().String(), gcp.BeforeCreate()) })
		if plan.owned() {
			all.Go(func() { l.account, l.accountErr = w.r.findAccount(ctx, plan, gcp.BeforeCreate()) })
		}
	}
	for i, p := range buckets {
		all.Go(func() { _, l.bucketErrs[i] = client.GetBucket(ctx, p.bucket, gcp.InBulk()) })
	}
	for _, g := range grants {
		if l.rights[g.Resource] != nil { // two roles on one resource need the same rights
			continue
		}
		has := &rights{}
		l.rights[g.Resource] = has
		all.Go(func() { has.held, has.err = client.Permissions(ctx, g.Resource, rightsFor(g)) })
	}
	all.Wait()
	return l
}
