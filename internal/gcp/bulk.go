// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/proto"
)

// jobsPerPage is all jobs that a location may hold by its quota. The API documents no maximum and may send fewer.
const jobsPerPage = 1000

// fetchJobs answers the readers of a location's jobs. The list holds whole jobs, as reads do.
func (c *Client) fetchJobs(ctx context.Context, b *gathering[*runpb.Job]) {
	b.list(func(token string) ([]*runpb.Job, string, error) {
		return c.jobPage(ctx, b.at.name, token, true)
	}, func(job *runpb.Job) []string {
		_, id, _ := strings.Cut(job.GetName(), "/jobs/")
		return []string{id}
	}, proto.CloneOf)
}

// jobPage lists one page of a location's jobs.
func (c *Client) jobPage(ctx context.Context, parent, token string, unrepeated bool) (items []*runpb.Job, next string, err error) {
	k := c.runCall("list the jobs of", parent, read)
	k.unrepeated = unrepeated
	err = c.runDo(ctx, k, func(ctx context.Context, api *runClients, o gax.CallOption) (err error) {
		it := api.jobs.ListJobs(ctx, &runpb.ListJobsRequest{Parent: parent}, o)
		items, next, err = onePage(it.PageInfo(), it.Next, jobsPerPage, token)
		return err
	})
	return items, next, err
}

// fetchAccounts answers the readers of a project's accounts. The list holds whole accounts, a hundred a page.
func (c *Client) fetchAccounts(ctx context.Context, b *gathering[*adminpb.ServiceAccount]) {
	b.list(func(token string) ([]*adminpb.ServiceAccount, string, error) {
		return c.accountPage(ctx, b.at.name, token, true)
	}, func(account *adminpb.ServiceAccount) []string {
		return []string{account.GetEmail(), account.GetUniqueId()}
	}, proto.CloneOf)
}

// onePage returns the page of a list that a token stands for, as large as the API makes it: the libraries' own pager goes on asking until a
// page has the size that was wished for.
func onePage[T any](info *iterator.PageInfo, item func() (T, error), size int, token string) (items []T, next string, err error) {
	info.MaxSize, info.Token = size, token
	for {
		switch v, err := item(); {
		case errors.Is(err, iterator.Done):
			return items, "", nil
		case err != nil:
			return nil, "", err
		default:
			items = append(items, v)
		}
		if info.Remaining() == 0 {
			return items, info.Token, nil
		}
	}
}

// sharedPolicy reads a policy to look at it: those who ask at the same time share one read, and must not change what they get. A change
// begins with a read of its own. asked is what they look for.
func (c *Client) sharedPolicy(ctx context.Context, resource, asked string) (*policy, error) {
	return c.policyReads.read(ctx, resource, asked, nil, func() (*policy, error) { return c.readPolicy(ctx, resource) })
}

// fetchOnce answers those who ask for one and the same thing by one read of it. Each gets an error of its own, and must not change what it
// gets.
func fetchOnce[T any](read func(ctx context.Context, name string) (T, error)) func(context.Context, *gathering[T]) {
	return func(ctx context.Context, b *gathering[T]) {
		value, err := read(ctx, b.at.name)
		b.answer(func() (T, error) {
			if e, ok := AsError(err); ok {
				own := *e
				return value, &own
			}
			return value, err
		})
	}
}

// nextAsker names one who asks for something that others may ask for, too.
func (c *Client) nextAsker() string { return strconv.FormatInt(c.askers.Add(1), 10) }
