// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"

	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
)

func (c *Client) readBucketPolicy(ctx context.Context, bucket string) (*policy, error) {
	k := &call{op: "read the IAM policy of bucket", resource: bucket, kind: read}
	var p *policy
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
		answer, err := api.Buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do()
		if err != nil {
			return err
		}
		p = fromBucketPolicy(answer)
		return nil
	})
	return p, err
}

func (c *Client) writeBucketPolicy(ctx context.Context, bucket string, p *policy) error {
	k := &call{op: "change the IAM policy of bucket", resource: bucket, kind: once, conflict: codes.Aborted}
	return c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
		_, err := api.Buckets.SetIamPolicy(bucket, toBucketPolicy(p)).Context(ctx).Do()
		return err
	})
}

func (c *Client) bucketPermissions(ctx context.Context, bucket string, perms []string) ([]string, error) {
	k := &call{op: "test the permissions on bucket", resource: bucket, kind: read}
	var granted []string
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
		answer, err := api.Buckets.TestIamPermissions(bucket, perms).Context(ctx).Do()
		if err == nil {
			granted = answer.Permissions
		}
		return err
	})
	return granted, err
}

func fromBucketPolicy(answer *storage.Policy) *policy {
	p := &policy{etag: answer.Etag}
	for _, b := range answer.Bindings {
		converted := binding{role: b.Role, members: b.Members}
		if x := b.Condition; x != nil {
			converted.condition = &condition{title: x.Title, description: x.Description, expression: x.Expression, location: x.Location}
		}
		p.bindings = append(p.bindings, converted)
	}
	return p
}

func toBucketPolicy(p *policy) *storage.Policy {
	out := &storage.Policy{Etag: p.etag, Version: policyVersion, Bindings: []*storage.PolicyBindings{}, ForceSendFields: []string{"Bindings"}}
	for _, b := range p.bindings {
		converted := &storage.PolicyBindings{Role: b.role, Members: b.members}
		if x := b.condition; x != nil {
			converted.Condition = &storage.Expr{Title: x.title, Description: x.description, Expression: x.expression, Location: x.location}
		}
		out.Bindings = append(out.Bindings, converted)
	}
	return out
}
