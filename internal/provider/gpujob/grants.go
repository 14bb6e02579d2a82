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
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
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
	// World is where the resource was last seen, see world. The ids of job and
	// account tell it, too, but a create that failed early may have neither.
	World string `json:",omitempty"`
	// Lost is true when there was no note: Terraform destroys a tainted object
	// without it, and a provider that was killed in an update has left none. Then
	// there may be accounts that a destroy must look for. An imported job had none
	// to begin with, and may have been made by a provider that was killed.
	Lost bool `json:",omitempty"`
	// Unsure is true when the create ended without learning whether it has made
	// the job: one that a read finds is ours by its looks alone, see provenOnly.
	Unsure bool `json:",omitempty"`
	// Asked is true when the answer to a create was lost: then one that is refused
	// because the job is there may mean that very job.
	Asked bool `json:",omitempty"`
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

// readNote reads the note. Without one it says that it was lost.
func readNote(ctx context.Context, private privateReader, diags *diag.Diagnostics) note {
	raw, d := private.GetKey(ctx, noteKey)
	diags.Append(d...)
	var n note
	if len(raw) == 0 {
		n.Lost = true
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
	diags := private.SetKey(ctx, noteKey, raw)
	diags.Append(private.SetKey(ctx, plannerKey, nil)...)
	return diags
}

// The rights that a caller needs to grant a role, by the kind of resource, and
// the role that has them.
var (
	bucketRights = []string{"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"}
	secretRights = []string{"secretmanager.secrets.getIamPolicy", "secretmanager.secrets.setIamPolicy"}
)

// place is a bucket that a job uses.
type place struct {
	bucket string
	at     path.Path
}

// buckets returns the known buckets that a job uses, each once.
func (m *Model) buckets(ctx context.Context, diags *diag.Diagnostics) []place {
	var out []place
	uses, _ := m.uses(ctx, diags)
	for _, u := range uses {
		if value.Known(u.bucket) && !slices.ContainsFunc(out, func(p place) bool { return p.bucket == u.bucket.ValueString() }) {
			out = append(out, place{u.bucket.ValueString(), u.at})
		}
	}
	return out
}

// newBuckets returns the buckets that a job did not use before.
func newBuckets(ctx context.Context, before, after *Model, diags *diag.Diagnostics) []place {
	out := after.buckets(ctx, diags)
	old := before.buckets(ctx, diags)
	return slices.DeleteFunc(out, func(p place) bool {
		return slices.ContainsFunc(old, func(o place) bool { return o.bucket == p.bucket })
	})
}

// checkPlaces makes sure, before anything is written, that the buckets were seen
// to be there, and that the caller may set the policy of whatever a grant is for.
func (w *work) checkPlaces(ctx context.Context, plan *Model, buckets []place, grants []gcp.Grant, seen *looks) bool {
	for i, p := range buckets {
		switch err := seen.bucketErrs[i]; {
		case gcp.IsNotFound(err):
			diags.Error(w.diags, p.at, "No such bucket", err,
				"Nothing was written. Create the bucket first: with resource \"resilientjob_checkpoint_bucket\", and bucket = resilientjob_checkpoint_bucket.NAME.name here, so that Terraform knows the order.")
			return false
		case err != nil && !gcp.IsPermissionDenied(err):
			w.explain(plan, p.at, "Cannot look at the bucket", err, nothingWritten)
			return false
		}
	}
	for _, g := range grants {
		if !w.mayGrant(ctx, g, plan.blame(ctx, g), seen.rights[g.Resource]) {
			return false
		}
	}
	return true
}

// rightsFor are the rights that the caller needs to give a grant.
func rightsFor(g gcp.Grant) []string {
	if isSecret(g) {
		return secretRights
	}
	return bucketRights
}

// mayGrant tells whether the caller may give a grant, with the rights that it has.
func (w *work) mayGrant(ctx context.Context, g gcp.Grant, at path.Path, has *rights) bool {
	kind, admin := "bucket", "roles/storage.admin"
	if isSecret(g) {
		kind, admin = "secret", "roles/secretmanager.admin"
	}
	if has.err != nil {
		w.explain(&w.state, at, "Cannot look at the "+kind, has.err, nothingWritten)
		return false
	}
	missing := slices.DeleteFunc(slices.Clone(rightsFor(g)), func(right string) bool { return slices.Contains(has.held, right) })
	if len(missing) == 0 {
		return true
	}
	// A secret that does not exist answers that nothing may be done with it.
	if isSecret(g) {
		if _, err := w.r.data.Client.GetSecret(ctx, g.Resource); gcp.IsNotFound(err) {
			diags.Error(w.diags, at, "No such secret", err, fmt.Sprintf(
				"Nothing was written. Create the secret %s and a version of it first; in the same configuration, refer to it by the resource that makes it, so that Terraform knows the order.", g.Resource))
			return false
		}
	}
	w.diags.AddAttributeError(at, "Not allowed to grant a role on the "+kind, fmt.Sprintf(
		"The job's account %s needs %s on %s %s, and the account that Terraform runs as may not grant it: it lacks %s there. Nothing was written.\n\n"+
			"Give the account that Terraform runs as %s on the %s, or grant the role otherwise and set grant = false beside the %[3]s.",
		strings.TrimPrefix(g.Member, "serviceAccount:"), g.Role, kind, bareName(g.Resource), strings.Join(missing, " and "), admin, kind))
	return false
}

// isSecret tells whether a grant is on a secret.
func isSecret(g gcp.Grant) bool { return strings.Contains(g.Resource, "/secrets/") }

// give adds grants and records each in the state as soon as it is there. A grant
// that a named account has already is noted, and not recorded.
func (w *work) give(ctx context.Context, plan *Model, grants []gcp.Grant) bool {
	for _, g := range grants {
		added, err := w.r.data.Client.AddMember(ctx, g, w.freshAccount()...)
		if added {
			w.given = append(w.given, g)
		}
		// A write is tried only where the role was missing: one that may have
		// worked is ours to revoke.
		switch {
		case added || plan.owned() && err == nil || err != nil && gcp.IsAmbiguous(err):
			w.held = append(gcp.WithoutGrants(w.held, []gcp.Grant{g}), g)
			w.note.Present = gcp.WithoutGrants(w.note.Present, []gcp.Grant{g})
			w.state.Grants = grantSet(w.held)
			w.save(ctx)
		case err == nil:
			w.note.Present = append(gcp.WithoutGrants(w.note.Present, []gcp.Grant{g}), g)
			w.save(ctx)
		}
		if err != nil {
			w.explain(plan, plan.blame(ctx, g), "Cannot grant a role", err, fmt.Sprintf("%s was to have %s on %s. Mend the cause and apply again: Terraform goes on from what is there.", g.Member, g.Role, g.Resource))
			return false
		}
	}
	return true
}

// revoke takes grants away. One that cannot be revoked stays in the state, and
// the next apply tries again; the others go on. wanted are the grants that stay.
func (w *work) revoke(ctx context.Context, grants, wanted []gcp.Grant) bool {
	ok := true
	for _, g := range grants {
		if w.wantedOtherwise(ctx, g, wanted) {
			w.drop(ctx, g)
			continue
		}
		err := w.r.data.Client.Confirm(ctx, func() error {
			_, err := w.r.data.Client.RemoveMember(ctx, g)
			return err
		})
		if err != nil && !gcp.IsNotFound(err) {
			w.fail("grants", "Cannot revoke a role", err, fmt.Sprintf(
				"%s still has %s on %s. It stays in the state, and the next apply tries again.", g.Member, g.Role, g.Resource))
			ok = false
			continue
		}
		w.drop(ctx, g)
	}
	return ok
}

// drop records that a grant is not held any more.
func (w *work) drop(ctx context.Context, g gcp.Grant) {
	w.held = gcp.WithoutGrants(w.held, []gcp.Grant{g})
	w.state.Grants = grantSet(w.held)
	w.save(ctx)
}

// wantedOtherwise tells whether a grant goes on to be wanted under another
// spelling of its secret: with the project's number for its id, or the other way
// round. Only Secret Manager knows whether the two are one project. Where that
// cannot be found out they count as one: what still needs the grant may run.
func (w *work) wantedOtherwise(ctx context.Context, g gcp.Grant, wanted []gcp.Grant) bool {
	for _, other := range wanted {
		if !isSecret(g) || other.Resource == g.Resource || other.Role != g.Role || !gcp.SameMember(other.Member, g.Member) || !resourcename.SameName(other.Resource, g.Resource, true) {
			continue
		}
		a, err := w.r.data.Client.GetSecret(ctx, g.Resource)
		if gcp.IsNotFound(err) {
			return false
		}
		b, errB := w.r.data.Client.GetSecret(ctx, other.Resource)
		return err != nil || errB != nil && !gcp.IsNotFound(errB) || a.GetName() == b.GetName()
	}
	return false
}
