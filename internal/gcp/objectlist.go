// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"iter"

	"google.golang.org/api/storage/v1"
)

// Objects lists the live objects of a bucket whose names begin with a prefix, by name: name, generation, size in bytes, when this
// generation became visible and when its metadata last changed. Pages are fetched when they are reached. An error is the last element.
func (c *Client) Objects(ctx context.Context, bucket, prefix string) iter.Seq2[*storage.Object, error] {
	return pages(func(token string) (items []*storage.Object, next string, err error) {
		k := &call{op: "list the objects of bucket", resource: bucket, kind: read}
		err = c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
			page, err := api.Objects.List(bucket).Prefix(prefix).MaxResults(objectPage).PageToken(token).
				Fields("items(name,generation,size,timeCreated,updated)", "nextPageToken").Context(ctx).Do()
			if err == nil {
				items, next = page.Items, page.NextPageToken
			}
			return err
		})
		return items, next, err
	})
}
