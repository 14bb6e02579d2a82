// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"

	"cloud.google.com/go/iam/apiv1/iampb"
	secretmanager "cloud.google.com/go/secretmanager/apiv1"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/genproto/googleapis/type/expr"
	"google.golang.org/grpc/codes"
)

func (c *Client) secretDo(ctx context.Context, k *call, send func(context.Context, *secretmanager.Client, gax.CallOption) error) error {
	k.to, k.project = &c.secretsAt, projectOf(k.resource)
	api, err := c.secretsAPI()
	if err != nil {
		return &Error{Op: k.op, Resource: k.resource, Code: codes.Unavailable, Err: err, unsent: true}
	}
	return c.do(ctx, k, func(ctx context.Context, a *attempt) error { return send(ctx, api, a.grpc()) })
}

// GetSecret reads a secret's metadata by its full name, "projects/P/secrets/S". The answer names the project by its number. The payload of
// a version is never read by this package.
func (c *Client) GetSecret(ctx context.Context, name string) (*secretmanagerpb.Secret, error) {
	k := &call{op: "read secret", resource: name, kind: read}
	var secret *secretmanagerpb.Secret
	err := c.secretDo(ctx, k, func(ctx context.Context, api *secretmanager.Client, o gax.CallOption) (err error) {
		secret, err = api.GetSecret(ctx, &secretmanagerpb.GetSecretRequest{Name: name}, o)
		return err
	})
	return secret, err
}

func (c *Client) readSecretPolicy(ctx context.Context, secret string) (*policy, error) {
	k := &call{op: "read the IAM policy of secret", resource: secret, kind: read}
	var p *policy
	err := c.secretDo(ctx, k, func(ctx context.Context, api *secretmanager.Client, o gax.CallOption) error {
		answer, err := api.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{
			Resource: secret, Options: &iampb.GetPolicyOptions{RequestedPolicyVersion: policyVersion},
		}, o)
		if err != nil {
			return err
		}
		p = fromSecretPolicy(answer)
		return nil
	})
	return p, err
}

// writeSecretPolicy names no fields, so that the API changes the bindings alone: audit settings that others made stay.
func (c *Client) writeSecretPolicy(ctx context.Context, secret string, p *policy) error {
	k := &call{op: "change the IAM policy of secret", resource: secret, kind: once}
	return c.secretDo(ctx, k, func(ctx context.Context, api *secretmanager.Client, o gax.CallOption) error {
		_, err := api.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: secret, Policy: toSecretPolicy(p)}, o)
		return err
	})
}

func (c *Client) secretPermissions(ctx context.Context, secret string, perms []string) ([]string, error) {
	k := &call{op: "test the permissions on secret", resource: secret, kind: read}
	var granted []string
	err := c.secretDo(ctx, k, func(ctx context.Context, api *secretmanager.Client, o gax.CallOption) error {
		answer, err := api.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: secret, Permissions: perms}, o)
		granted = answer.GetPermissions()
		return err
	})
	return granted, err
}

func fromSecretPolicy(answer *iampb.Policy) *policy {
	p := &policy{etag: string(answer.GetEtag())}
	for _, b := range answer.GetBindings() {
		converted := binding{role: b.GetRole(), members: b.GetMembers()}
		if x := b.GetCondition(); x != nil {
			converted.condition = &condition{title: x.GetTitle(), description: x.GetDescription(), expression: x.GetExpression(), location: x.GetLocation()}
		}
		p.bindings = append(p.bindings, converted)
	}
	return p
}

func toSecretPolicy(p *policy) *iampb.Policy {
	out := &iampb.Policy{Etag: []byte(p.etag), Version: policyVersion}
	for _, b := range p.bindings {
		converted := &iampb.Binding{Role: b.role, Members: b.members}
		if x := b.condition; x != nil {
			converted.Condition = &expr.Expr{Title: x.title, Description: x.description, Expression: x.expression, Location: x.location}
		}
		out.Bindings = append(out.Bindings, converted)
	}
	return out
}
