// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
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
	return fmt.Sprintf("the service account %s exists already, and its description (%q) does not say that it was made for this job", e.email, e.description)
}

func (e *foreignAccountError) hint() string {
	return "Set service_account = \"" + e.email + "\" to let the job use that account as it is, or another service_account_id to have one made."
}

// findAccount looks for the owned account: nil when there is none, an error when
// it is somebody else's.
func (r *Resource) findAccount(ctx context.Context, m *Model) (*adminpb.ServiceAccount, error) {
	account, err := r.data.Client.GetServiceAccount(ctx, m.Project.ValueString(), m.ownedEmail())
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
// left: found by its marker when the name is taken or an answer was lost.
func (r *Resource) ensureAccount(ctx context.Context, m *Model) (*adminpb.ServiceAccount, error) {
	pauses := gcp.Backoff{Initial: time.Second, Max: 10 * time.Second, Budget: accountSettles, Clock: r.data.Clock}.Start()
	for {
		account, err := r.findAccount(ctx, m)
		if account != nil || err != nil {
			return account, err
		}
		account, err = r.data.Client.CreateServiceAccount(ctx, m.Project.ValueString(), m.ServiceAccountID.ValueString(),
			"Cloud Run job "+m.Name.ValueString(), marker(m))
		if err == nil {
			return account, nil
		}
		if !gcp.IsAlreadyExists(err) && !gcp.IsAmbiguous(err) || !pauses.Wait(ctx, 0) {
			return nil, err
		}
	}
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
