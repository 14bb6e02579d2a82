// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"iter"

	iamadmin "cloud.google.com/go/iam/admin/apiv1"
	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func (c *Client) iamDo(ctx context.Context, k *call, send func(context.Context, *iamadmin.IamClient, gax.CallOption) error) error {
	k.to = &c.iamAt
	api, err := c.iamAPI()
	if err != nil {
		return &Error{Op: k.op, Resource: k.resource, Code: codes.Unavailable, Err: err, unsent: true}
	}
	return c.do(ctx, k, func(ctx context.Context, a *attempt) error { return send(ctx, api, a.grpc()) })
}

// accountName is the full name of an account. The project is always named: with the wildcard a missing account is answered by "denied".
func accountName(project, emailOrUniqueID string) string {
	return "projects/" + project + "/serviceAccounts/" + emailOrUniqueID
}

// GetServiceAccount reads an account by its e-mail or its unique id.
func (c *Client) GetServiceAccount(ctx context.Context, project, emailOrUniqueID string, opts ...Option) (*adminpb.ServiceAccount, error) {
	name := accountName(project, emailOrUniqueID)
	k := (&call{op: "read service account", resource: name, project: project, kind: read}).apply(opts)
	alone := func() (sa *adminpb.ServiceAccount, err error) {
		err = c.iamDo(ctx, k, func(ctx context.Context, api *iamadmin.IamClient, o gax.CallOption) (err error) {
			sa, err = api.GetServiceAccount(ctx, &adminpb.GetServiceAccountRequest{Name: name}, o)
			return err
		})
		return sa, err
	}
	if !k.gathers() {
		return alone()
	}
	return c.accountReads.read(ctx, project, emailOrUniqueID, k.absent(), alone)
}

// ServiceAccounts lists the accounts of a project. Pages are fetched when they are reached. An error is the last element.
func (c *Client) ServiceAccounts(ctx context.Context, project string) iter.Seq2[*adminpb.ServiceAccount, error] {
	return pages(func(token string) ([]*adminpb.ServiceAccount, string, error) {
		return c.accountPage(ctx, project, token, false)
	})
}

func (c *Client) accountPage(ctx context.Context, project, token string, unrepeated bool) (items []*adminpb.ServiceAccount, next string, err error) {
	parent := "projects/" + project
	k := &call{op: "list the service accounts of", resource: parent, project: project, kind: read, unrepeated: unrepeated}
	err = c.iamDo(ctx, k, func(ctx context.Context, api *iamadmin.IamClient, o gax.CallOption) (err error) {
		it := api.ListServiceAccounts(ctx, &adminpb.ListServiceAccountsRequest{Name: parent}, o)
		items, next, err = onePage(it.PageInfo(), it.Next, pageSize, token)
		return err
	})
	return items, next, err
}

// CreateServiceAccount creates an account. It is sent once: when [IsAmbiguous] is true of the error the account may exist, and the caller
// must look. Other services see a new account only after a while, see [FreshAccount].
func (c *Client) CreateServiceAccount(ctx context.Context, project, id, displayName, description string) (*adminpb.ServiceAccount, error) {
	k := &call{op: "create service account", resource: "projects/" + project + "/serviceAccounts/" + id, project: project, kind: once}
	var sa *adminpb.ServiceAccount
	err := c.iamDo(ctx, k, func(ctx context.Context, api *iamadmin.IamClient, o gax.CallOption) (err error) {
		ctx, cancel := c.answered(ctx)
		defer cancel()
		sa, err = api.CreateServiceAccount(ctx, &adminpb.CreateServiceAccountRequest{
			Name: "projects/" + project, AccountId: id,
			ServiceAccount: &adminpb.ServiceAccount{DisplayName: displayName, Description: description},
		}, o)
		return err
	})
	return sa, err
}

// UpdateServiceAccount changes the display name and the description, and reads the account again, because the API answers with the
// changed fields only.
func (c *Client) UpdateServiceAccount(ctx context.Context, project, email, displayName, description string) (*adminpb.ServiceAccount, error) {
	name := accountName(project, email)
	k := &call{op: "update service account", resource: name, project: project, kind: repeatable}
	err := c.iamDo(ctx, k, func(ctx context.Context, api *iamadmin.IamClient, o gax.CallOption) error {
		_, err := api.PatchServiceAccount(ctx, &adminpb.PatchServiceAccountRequest{
			ServiceAccount: &adminpb.ServiceAccount{Name: name, DisplayName: displayName, Description: description},
			UpdateMask:     &fieldmaskpb.FieldMask{Paths: []string{"display_name", "description"}},
		}, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.GetServiceAccount(ctx, project, email)
}

// DeleteServiceAccount deletes an account by its e-mail or, when only that very account may go, by its unique id.
func (c *Client) DeleteServiceAccount(ctx context.Context, project, emailOrUniqueID string) error {
	name := accountName(project, emailOrUniqueID)
	k := &call{op: "delete service account", resource: name, project: project, kind: repeatable}
	return c.iamDo(ctx, k, func(ctx context.Context, api *iamadmin.IamClient, o gax.CallOption) error {
		return api.DeleteServiceAccount(ctx, &adminpb.DeleteServiceAccountRequest{Name: name}, o)
	})
}
