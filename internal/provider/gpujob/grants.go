// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// noteKey is the key of the note in the private state.
const noteKey = "note"

// note is what a state must remember and no attribute shows.
type note struct {
	// Present are the grants that a named account had before this resource
	// looked. They are not held and never revoked; without the note, each plan
	// would want to give them again.
	Present []gcp.Grant `json:",omitempty"`
	// Unready is true when the job is as configured and Cloud Run could not set
	// it up: the next apply sends it again.
	Unready bool `json:",omitempty"`
	// Accounts are further accounts that this resource made: a change of the
	// account that did not come to its end has two, and the state holds one.
	Accounts []ownedAccount `json:",omitempty"`
}

// ownedAccount is an account that this resource made.
type ownedAccount struct{ ID, UniqueID string }

// leftovers are the noted accounts that a plan does not use.
func (n *note) leftovers(plan *Model) []ownedAccount {
	return slices.DeleteFunc(slices.Clone(n.Accounts), func(a ownedAccount) bool {
		return plan.owned() && a.ID == plan.ServiceAccountID.ValueString()
	})
}

// forget takes the accounts of an id out of the note.
func (n *note) forget(id string) {
	n.Accounts = slices.DeleteFunc(slices.Clone(n.Accounts), func(a ownedAccount) bool { return a.ID == id })
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readNote reads the note; a state without one has nothing to remember.
func readNote(ctx context.Context, private privateReader, diags *diag.Diagnostics) note {
	raw, d := private.GetKey(ctx, noteKey)
	diags.Append(d...)
	var n note
	if len(raw) == 0 {
		return n
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		diags.AddError("Unreadable private state", "The note beside the state cannot be read: "+err.Error()+". Remove the resource from the state and import it again.")
	}
	return n
}

// write writes the note.
func (n note) write(ctx context.Context, private privateWriter) diag.Diagnostics {
	raw, err := json.Marshal(n)
	if err != nil {
		var diags diag.Diagnostics
		diags.AddError("Cannot write the private state", err.Error()+".")
		return diags
	}
	return private.SetKey(ctx, noteKey, raw)
}

// contains compares grants as policies do: addresses without case.
func contains(grants []gcp.Grant, g gcp.Grant) bool {
	return slices.ContainsFunc(grants, func(o gcp.Grant) bool {
		return o.Resource == g.Resource && o.Role == g.Role && strings.EqualFold(o.Member, g.Member)
	})
}

// without returns the grants that are not among others.
func without(grants, others []gcp.Grant) []gcp.Grant {
	var out []gcp.Grant
	for _, g := range grants {
		if !contains(others, g) {
			out = append(out, g)
		}
	}
	return out
}

// The rights that a caller needs on a bucket to grant a role on it.
var policyRights = []string{"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"}

// checkBuckets makes sure, before anything is written, that the checkpoint
// bucket is there, and that the caller may set the policy of each bucket that a
// grant is for.
func (w *work) checkBuckets(ctx context.Context, bucket string, grants []gcp.Grant) bool {
	if bucket != "" {
		_, err := w.r.data.Client.GetBucket(ctx, bucket)
		switch {
		case gcp.IsNotFound(err):
			w.fail("checkpoint.bucket", "No such bucket", err,
				"Nothing was written. Create the bucket first: with resource \"resilientjob_checkpoint_bucket\", and bucket = resilientjob_checkpoint_bucket.NAME.name here, so that Terraform knows the order.")
			return false
		case err != nil && !gcp.IsPermissionDenied(err):
			w.fail("checkpoint.bucket", "Cannot look at the checkpoint bucket", err, "Nothing was written.")
			return false
		}
	}
	for _, g := range grants {
		name := bucketName(g.Resource)
		held, err := w.r.data.Client.BucketPermissions(ctx, name, policyRights)
		if err != nil {
			w.fail("checkpoint.bucket", "Cannot look at the checkpoint bucket", err, "Nothing was written.")
			return false
		}
		var missing []string
		for _, right := range policyRights {
			if !slices.Contains(held, right) {
				missing = append(missing, right)
			}
		}
		if len(missing) > 0 {
			w.report("checkpoint.bucket", "Not allowed to grant a role on the bucket", fmt.Sprintf(
				"The job's account %s needs %s on bucket %s, and the account that Terraform runs as may not grant it: it lacks %s there. Nothing was written.\n\n"+
					"Give the account that Terraform runs as roles/storage.admin on the bucket, or grant the role otherwise and set checkpoint.grant = false.",
				strings.TrimPrefix(g.Member, "serviceAccount:"), g.Role, name, strings.Join(missing, " and ")))
			return false
		}
	}
	return true
}

// give adds grants and records each in the state as soon as it is there. A grant
// that a named account has already is noted, and not recorded.
func (w *work) give(ctx context.Context, grants []gcp.Grant, owned bool) bool {
	for _, g := range grants {
		added, err := w.r.data.Client.AddMember(ctx, g, w.freshAccount()...)
		// A write is tried only where the role was missing: one that may have
		// worked is ours to revoke.
		switch {
		case added || owned && err == nil || err != nil && gcp.IsAmbiguous(err):
			w.held = append(without(w.held, []gcp.Grant{g}), g)
			w.note.Present = without(w.note.Present, []gcp.Grant{g})
			w.state.Grants = grantSet(w.held)
			w.save(ctx)
		case err == nil:
			w.note.Present = append(without(w.note.Present, []gcp.Grant{g}), g)
			w.save(ctx)
		}
		if err != nil {
			w.fail("checkpoint", "Cannot grant a role on the checkpoint bucket", err, "")
			return false
		}
	}
	return true
}

// revoke takes grants away. One that cannot be revoked stays in the state, and
// the next apply tries again; the others go on.
func (w *work) revoke(ctx context.Context, grants []gcp.Grant) bool {
	ok := true
	for _, g := range grants {
		_, err := w.r.data.Client.RemoveMember(ctx, g)
		if err != nil && !gcp.IsNotFound(err) {
			w.fail("grants", "Cannot revoke a role", err, fmt.Sprintf(
				"%s still has %s on %s. It stays in the state, and the next apply tries again.", g.Member, g.Role, g.Resource))
			ok = false
			continue
		}
		w.held = without(w.held, []gcp.Grant{g})
		w.state.Grants = grantSet(w.held)
		w.save(ctx)
	}
	return ok
}
