// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"

	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
)

func bucketResource(name string) string { return "projects/_/buckets/" + name }

func (c *Client) storageDo(ctx context.Context, k *call, send func(context.Context, *storage.Service) error) error {
	k.to = &c.storageAt
	api, err := c.storageAPI()
	if err != nil {
		return &Error{Op: k.op, Resource: k.resource, Code: codes.Unavailable, Err: err, unsent: true}
	}
	return c.do(ctx, k, func(ctx context.Context, _ *attempt) error { return send(ctx, api) })
}

// GetBucket reads a bucket's metadata. With [InBulk] the answer may be shared with others, and must not be changed.
func (c *Client) GetBucket(ctx context.Context, name string, opts ...Option) (*storage.Bucket, error) {
	k := (&call{}).apply(opts)
	if !k.gathers() {
		return c.readBucket(ctx, name, opts...)
	}
	return c.bucketReads.read(ctx, name, c.nextAsker(), nil, func() (*storage.Bucket, error) { return c.readBucket(ctx, name) })
}

func (c *Client) readBucket(ctx context.Context, name string, opts ...Option) (*storage.Bucket, error) {
	k := (&call{op: "read bucket", resource: name, kind: read}).apply(opts)
	var b *storage.Bucket
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) (err error) {
		b, err = api.Buckets.Get(name).Projection("noAcl").Context(ctx).Do()
		return err
	})
	return b, err
}

// CreateBucket creates a bucket. Of the fields of b that hold a zero value those in ForceSendFields are sent. It is sent once: when
// [IsAmbiguous] is true of the error the bucket may exist, and the caller must look.
func (c *Client) CreateBucket(ctx context.Context, project string, b *storage.Bucket) (*storage.Bucket, error) {
	k := &call{op: "create bucket", resource: b.Name, project: project, kind: once, conflict: codes.AlreadyExists}
	k.recreated = c.deleted.recent(bucketResource(b.Name))
	var made *storage.Bucket
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) (err error) {
		ctx, cancel := c.answered(ctx)
		defer cancel()
		made, err = api.Buckets.Insert(project, b).Projection("noAcl").Context(ctx).Do()
		return err
	})
	return made, err
}

// PatchBucket changes the fields of b that are set, forced (ForceSendFields) or null (NullFields), and leaves the others alone. Labels are
// merged key by key. The answer is the whole bucket.
func (c *Client) PatchBucket(ctx context.Context, name string, b *storage.Bucket, opts ...Option) (*storage.Bucket, error) {
	k := (&call{op: "update bucket", resource: name, kind: repeatable}).apply(opts)
	var patched *storage.Bucket
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) (err error) {
		ctx, cancel := c.answered(ctx)
		defer cancel()
		patch := api.Buckets.Patch(name, b).Projection("noAcl").Context(ctx)
		if k.metageneration != 0 {
			patch = patch.IfMetagenerationMatch(k.metageneration)
		}
		patched, err = patch.Do()
		return err
	})
	return patched, err
}

// DeleteBucket deletes an empty bucket. A bucket that is not empty is refused by the API, with the code FAILED_PRECONDITION.
func (c *Client) DeleteBucket(ctx context.Context, name string) error {
	k := &call{op: "delete bucket", resource: name, kind: repeatable, conflict: codes.FailedPrecondition}
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
		return api.Buckets.Delete(name).Context(ctx).Do()
	})
	if err == nil {
		c.deleted.add(bucketResource(name))
	}
	return err
}
