// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// accountSettles is how long the service accounts API is given to agree with
// itself: after a delete it may still say that the name is taken, and after a
// create that it knows no such account.
const accountSettles = 60 * time.Second

// marker is the description of an account that belongs to a job: its full name.
// A provider that was killed finds its account again by it.
func marker(m *Model) string { return m.job().String() }

// foreignAccountError says that the account's name is taken by somebody else.
type foreignAccountError struct{ email, description string }

func (e *foreignAccountError) Error() string {
	return fmt.Sprintf("The service account %s exists already, and its description (%q) does not say that it was made for this job", e.email, e.description)
}

func (e *foreignAccountError) hint() string {
	if job, err := resourcename.ParseJob(e.description, resourcename.Defaults{}); err == nil && job.String() == e.description {
		// Whoever named it would run as an account that is gone one day.
		return fmt.Sprintf("It was made for the job %s, and is deleted with it. Set another service_account_id. When this resource replaces that very job, you may take create_before_destroy away instead, "+
			"so that the account goes before it is made again. If no such job is left, delete the account and apply again:\n\n  gcloud iam service-accounts delete %s --project=%s", job.Name, e.email, job.Project)
	}
	return "Set service_account = \"" + e.email + "\" to let the job use that account as it is, or another service_account_id to have one made."
}

// findAccount looks for the owned account: nil when there is none, an error when
// it is somebody else's.
func (r *Resource) findAccount(ctx context.Context, m *Model, opts ...gcp.Option) (*adminpb.ServiceAccount, error) {
	account, err := r.data.Client.GetServiceAccount(ctx, m.Project.ValueString(), m.ownedEmail(), opts...)
	switch {
	case gcp.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case account.GetDescription() != marker(m):
		return nil, &foreignAccountError{account.GetEmail(), account.GetDescription()}
	}
	return account, nil
}

// ensureAccount makes the owned account, or adopts the one that an earlier apply
// left: found by its marker when the name is taken or an answer was lost. When it
// was looked for a moment ago and is absent, it is made without another look.
func (r *Resource) ensureAccount(ctx context.Context, m *Model, absent bool) (*adminpb.ServiceAccount, error) {
	pauses := gcp.Backoff{Initial: time.Second, Max: 10 * time.Second, Budget: accountSettles, Clock: r.data.Clock}.Start()
	for {
		if !absent {
			if account, err := r.findAccount(ctx, m); account != nil || err != nil {
				return account, err
			}
		}
		absent = false
		account, err := r.data.Client.CreateServiceAccount(ctx, m.Project.ValueString(), m.ServiceAccountID.ValueString(),
			"Cloud Run job "+m.Name.ValueString(), marker(m))
		if err == nil {
			return account, nil
		}
		if !gcp.IsAlreadyExists(err) && !gcp.IsAmbiguous(err) || !pauses.Wait(ctx, 0) {
			return nil, err
		}
	}
}

// recall looks for accounts that this resource made and of which no note says so,
// because it was lost. They are known by their marker, the rule by which a create
// adopts one. Whatever the state names is left out: its own account goes its own
// way, and a named one is not ours, whatever its description says.
func (w *work) recall(ctx context.Context) bool {
	project := w.state.Project.ValueString()
	var found []ownedAccount
	for account, err := range w.r.data.Client.ServiceAccounts(ctx, project) {
		switch {
		case gcp.IsPermissionDenied(err):
			// Who names the account of a job, and may not list accounts, has made none.
			if w.state.owned() {
				diags.Warning(w.diags, path.Root("service_account_id"), "Cannot look for accounts that are left", err, fmt.Sprintf(
					"What was noted beside the resource is lost, because it was tainted or a provider was killed. When a change of its account had failed before, an account of it is left. "+
						"To look for such accounts needs the permission iam.serviceAccounts.list. Look for them yourself, and delete what it shows:\n\n"+
						"  gcloud iam service-accounts list --project=%s --filter='description=\"%s\"'", project, marker(&w.state)))
			}
			return true
		case err != nil:
			w.fail("service_account_id", "Cannot look for accounts that are left", err, "The next destroy looks again.")
			return false
		case account.GetDescription() != marker(&w.state),
			account.GetUniqueId() == w.state.ServiceAccountUniqueID.ValueString(),
			!w.state.owned() && strings.EqualFold(account.GetEmail(), w.state.ServiceAccount.ValueString()):
			continue
		}
		id, _, _ := strings.Cut(account.GetEmail(), "@")
		found = append(found, ownedAccount{id, account.GetUniqueId()})
		// It may have been granted what the resource holds for another account.
		for _, g := range w.held {
			twin := gcp.Grant{Resource: g.Resource, Role: g.Role, Member: "serviceAccount:" + account.GetEmail()}
			if !gcp.ContainsGrant(w.held, twin) {
				w.held = append(w.held, twin)
			}
		}
	}
	w.note.Lost, w.note.Accounts = false, append(w.note.Accounts, found...)
	w.state.Grants = grantSet(w.held)
	w.save(ctx)
	return true
}

// reportAccount says what went wrong with the account.
func (w *work) reportAccount(err error) {
	var foreign *foreignAccountError
	hint := ""
	switch {
	case errors.As(err, &foreign):
		hint = foreign.hint()
	case gcp.IsPermissionDenied(err):
		hint = "With an existing account in service_account, none is made. To make one needs the role roles/iam.serviceAccountAdmin in the project."
	case gcp.IsAlreadyExists(err):
		hint = fmt.Sprintf("The name is taken, and for %s no such account was to be seen, so that nobody can tell whose it is. One that was made or deleted a moment ago may still be settling: apply again in some minutes. "+
			"Or set another service_account_id, or service_account to let the job use that account as it is.", accountSettles)
	}
	w.fail("service_account_id", "Cannot make the job's service account", err, hint)
}
