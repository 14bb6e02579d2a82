// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import "context"

// HeldGrants returns those of the grants, which are all for one resource, that its policy has without a condition. It reads the policy once.
func (c *Client) HeldGrants(ctx context.Context, resource string, grants []Grant) ([]Grant, error) {
	p, err := c.sharedPolicy(ctx, resource, "")
	if err != nil {
		return nil, err
	}
	var held []Grant
	for _, g := range grants {
		if p.has(g.Role, g.Member) {
			held = append(held, g)
		}
	}
	return held, nil
}
