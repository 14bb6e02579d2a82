// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/refusal"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Read compares the state with what is there: job, account and grants. It
// removes the resource only when all of them are gone. A missing job leaves uid
// null, a missing account its unique id; the plan then shows what will be made.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, state.job())...)
	limit, d := state.Timeouts.Read(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	n := readNote(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.data.CanRead(&resp.Diagnostics) || !r.sameWorld(&state, n, &resp.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	n.World = r.world()
	m := state
	if !r.readJob(ctx, &m, &n, &resp.Diagnostics) || !r.readAccount(ctx, &m, &resp.Diagnostics) {
		return
	}
	held := r.stillGranted(ctx, m.grants(ctx, &resp.Diagnostics), &resp.Diagnostics)
	n.Present = r.stillGranted(ctx, n.Present, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	m.Grants = grantSet(held)
	n.Accounts = r.stillThere(ctx, m.Project.ValueString(), n.Accounts)
	if m.UID.IsNull() && m.ServiceAccountUniqueID.IsNull() && len(held) == 0 && len(n.Accounts) == 0 {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(n.write(ctx, resp.Private)...)
}

// readJob brings m up to date with the live job, and notes when the job could
// not be set up.
func (r *Resource) readJob(ctx context.Context, m *Model, n *note, diagnostics *diag.Diagnostics) bool {
	var live *runpb.Job
	err := r.data.Client.Confirm(ctx, func() (err error) {
		live, err = r.data.Client.GetJob(ctx, m.job().String(), gcp.InBulk())
		return err
	})
	gone := gcp.IsNotFound(err) || err == nil && live.GetDeleteTime().IsValid()
	switch {
	case gone || err == nil && replaced(live, m):
		// A job of the same name that somebody else made meanwhile is not ours.
		if !gone && value.Known(m.UID) {
			diagnostics.AddWarning("Another job has the name", fmt.Sprintf(
				"%s is somebody else's: its uid is %s, and the job that this resource made had the uid %s and is gone. An apply will not touch it, and a destroy will leave it alone.",
				m.job(), live.GetUid(), m.UID.ValueString()))
		}
		m.UID = types.StringNull()
		n.Unready = false
		return true
	case err != nil:
		diags.Error(diagnostics, path.Empty(), "Cannot read the Cloud Run job", err, "")
		return false
	}
	*m = flatten(ctx, live, m, diagnostics)
	n.Asked = false
	n.Unready = !live.GetReconciling() && notReady(live) != nil
	if n.Unready {
		about := m.subject()
		about.Now = "Until that is mended its runs may fail. The next apply sends the job again, or makes it anew when it is tainted."
		refusal.Warning(diagnostics, path.Empty(), "Cloud Run job is not ready", notReady(live), about)
	}
	return !diagnostics.HasError()
}

// readAccount looks for the owned account. One of the same name with another
// unique id is another account: ours only when it carries our marker.
func (r *Resource) readAccount(ctx context.Context, m *Model, diagnostics *diag.Diagnostics) bool {
	if !value.Known(m.ServiceAccountID) || m.ServiceAccountUniqueID.IsNull() {
		return true
	}
	var account *adminpb.ServiceAccount
	err := r.data.Client.Confirm(ctx, func() (err error) {
		account, err = r.data.Client.GetServiceAccount(ctx, m.Project.ValueString(), m.ownedEmail(), gcp.InBulk())
		return err
	})
	switch {
	case gcp.IsNotFound(err):
		m.ServiceAccountUniqueID = types.StringNull()
	case err != nil:
		diags.Error(diagnostics, path.Root("service_account_email"), "Cannot read the job's service account", err, "")
		return false
	case account.GetUniqueId() == m.ServiceAccountUniqueID.ValueString():
	case account.GetDescription() == marker(m):
		m.ServiceAccountUniqueID = types.StringValue(account.GetUniqueId())
	default:
		m.ServiceAccountUniqueID = types.StringNull()
	}
	return true
}

// stillThere drops the noted accounts that are gone. One that cannot be read
// stays in the note.
func (r *Resource) stillThere(ctx context.Context, project string, accounts []ownedAccount) []ownedAccount {
	return slices.DeleteFunc(slices.Clone(accounts), func(a ownedAccount) bool {
		return gcp.IsNotFound(r.data.Client.Confirm(ctx, func() error {
			_, err := r.data.Client.GetServiceAccount(ctx, project, a.UniqueID, gcp.InBulk())
			return err
		}))
	})
}

// stillGranted drops the grants that the policies no longer have. Where a policy
// may not be read, what is recorded stays.
func (r *Resource) stillGranted(ctx context.Context, grants []gcp.Grant, diagnostics *diag.Diagnostics) []gcp.Grant {
	var out []gcp.Grant
	for _, g := range grants {
		var has bool
		err := r.data.Client.Confirm(ctx, func() (err error) {
			has, err = r.data.Client.HasMember(ctx, g)
			return err
		})
		switch {
		case gcp.IsNotFound(err):
			continue
		case gcp.IsPermissionDenied(err):
			diags.Warning(diagnostics, path.Root("grants"), "Cannot look at a grant", err, "The grant is taken to be as recorded.")
		case err != nil:
			diags.Error(diagnostics, path.Root("grants"), "Cannot look at a grant", err, "")
			return nil
		case !has:
			continue
		}
		out = append(out, g)
	}
	return out
}
