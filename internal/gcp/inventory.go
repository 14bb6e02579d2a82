// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"iter"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"
)

// Jobs lists the jobs of a location, named projects/PROJECT/locations/LOCATION. Pages are fetched when they are reached. An error is the
// last element.
func (c *Client) Jobs(ctx context.Context, parent string) iter.Seq2[*runpb.Job, error] {
	return pages(func(token string) ([]*runpb.Job, string, error) {
		return c.jobPage(ctx, parent, token, false)
	})
}

// Buckets lists the buckets of a project whose names begin with the prefix, as [Client.Jobs] lists jobs.
func (c *Client) Buckets(ctx context.Context, project, prefix string) iter.Seq2[*storage.Bucket, error] {
	return pages(func(token string) (items []*storage.Bucket, next string, err error) {
		k := &call{op: "list the buckets of", resource: "projects/" + project, project: project, kind: read}
		err = c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
			page, err := api.Buckets.List(project).Prefix(prefix).PageToken(token).Context(ctx).Do()
			if err == nil {
				items, next = page.Items, page.NextPageToken
			}
			return err
		})
		return items, next, err
	})
}
