// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/refusal"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// The grants are additive: nobody else's entry of the policy is touched. The attributes hold the configured members that the policy has,
// whoever gave them; the private state holds which of them this resource gave. Only those are revoked when they are configured no longer,
// so that two configurations that name one member do not take it from each other.

const (
	// givenKey is the key of the given grants in the private state.
	givenKey = "given"
	// lostKey says that a note was lost, and that no update has come since: a member that the next one wants, and finds, is ours.
	lostKey = "lost"
)

// share is one of the attributes that grant a role.
type share struct {
	attribute, role string
	members         func(*Model) *types.Set
}

var shares = []share{
	{"readers", "roles/storage.objectViewer", func(m *Model) *types.Set { return &m.Readers }},
	{"writers", "roles/storage.objectUser", func(m *Model) *types.Set { return &m.Writers }},
}

// grants are the grants that an attribute of a model stands for.
func (s share) grants(m *Model) []gcp.Grant {
	var out []gcp.Grant
	for _, member := range value.Elements(*s.members(m)) {
		out = append(out, gcp.Grant{Resource: resourcename.Bucket{Name: m.Name.ValueString()}.String(), Role: s.role, Member: member})
	}
	return out
}

// hold makes the attribute's value of the members that have the role. Null and empty stay as prior has them.
func (s share) hold(grants []gcp.Grant, prior types.Set) types.Set {
	var members []attr.Value
	for _, g := range grants {
		if member := types.StringValue(g.Member); g.Role == s.role && !slices.ContainsFunc(members, member.Equal) {
			members = append(members, member)
		}
	}
	if len(members) == 0 && prior.IsNull() {
		return prior
	}
	return types.SetValueMust(types.StringType, members)
}

// allGrants are the grants of both attributes.
func allGrants(m *Model) []gcp.Grant {
	var out []gcp.Grant
	for _, s := range shares {
		out = append(out, s.grants(m)...)
	}
	return out
}

// keepSpelling plans the state's members where the configured ones are the same but for the case of letters.
func keepSpelling(plan, state *Model) {
	for _, s := range shares {
		planned, had := s.members(plan), s.members(state)
		if !value.Known(*planned) || !value.Known(*had) || len(value.Elements(*planned)) != len(planned.Elements()) {
			continue
		}
		want, have := s.grants(plan), s.grants(state)
		if len(want) == len(have) && len(gcp.WithoutGrants(want, have)) == 0 && len(gcp.WithoutGrants(have, want)) == 0 {
			*planned = *had
		}
	}
}

// readGiven returns the grants that this resource gave. Where nothing is noted the note was lost: a provider that was killed in an update
// leaves the state as it was and nothing beside it. Then the members of the state are ours: that one keeps its role for ever because nobody
// would take it away is the worse mistake.
func readGiven(ctx context.Context, p interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}, state *Model, diagnostics *diag.Diagnostics) []gcp.Grant {
	raw, d := p.GetKey(ctx, givenKey)
	diagnostics.Append(d...)
	var given []gcp.Grant
	if len(raw) == 0 {
		return allGrants(state)
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		diagnostics.AddError("Unreadable private state", "What is noted beside the state of the bucket cannot be read: "+err.Error()+". Remove the bucket from the state with \"terraform state rm\" and import it again.")
	}
	return given
}

// lostNote tells whether the note of what was given is lost, or was when it was last looked for. The provider that was killed may have given
// what the next update wants; where nobody would take it away later, it would keep its role for ever.
func lostNote(ctx context.Context, p interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}, diagnostics *diag.Diagnostics) bool {
	var missing int
	for _, key := range []string{lostKey, givenKey, worldKey} { // an import notes its world alone
		raw, d := p.GetKey(ctx, key)
		diagnostics.Append(d...)
		switch {
		case key == lostKey && string(raw) == "true":
			return true
		case len(raw) == 0:
			missing++
		}
	}
	return missing == 3
}

// noteLost records whether a note was lost.
func noteLost(ctx context.Context, p private, lost bool) diag.Diagnostics {
	return p.SetKey(ctx, lostKey, strconv.AppendBool(nil, lost))
}

// noteGiven records the grants that this resource gave.
func noteGiven(ctx context.Context, p private, given []gcp.Grant) diag.Diagnostics {
	if given == nil {
		given = []gcp.Grant{}
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot write the private state", err.Error()+".")}
	}
	return p.SetKey(ctx, givenKey, raw)
}

// outcome is how one change of the policy ended.
type outcome struct {
	grant   gcp.Grant
	changed bool
	err     error
}

// changeAll makes a change for every grant at the same time: the client folds them into few writes of the policy.
func (r *Resource) changeAll(ctx context.Context, grants []gcp.Grant, change func(context.Context, gcp.Grant) (bool, error)) []outcome {
	out := make([]outcome, len(grants))
	var wait sync.WaitGroup
	for i, g := range grants {
		wait.Go(func() {
			changed, err := change(ctx, g)
			out[i] = outcome{g, changed, err}
		})
	}
	wait.Wait()
	return out
}

// share brings the policy from the members of the state to those of the plan. It sets those of m to what is true then, and returns the
// grants that this resource gave. Members are added first: while one could not be added none is revoked, so that somebody who moves from
// one attribute to the other is never without both. After a lost note, what is found counts as given.
func (r *Resource) share(ctx context.Context, plan, state, m *Model, given []gcp.Grant, lost bool, hint string, diagnostics *diag.Diagnostics) []gcp.Grant {
	want, have := allGrants(plan), allGrants(state)
	added := r.changeAll(ctx, gcp.WithoutGrants(want, have), r.give)
	for _, o := range added {
		// A write is tried only where the role was missing: one that may have worked is ours to revoke.
		unsure := o.err != nil && gcp.IsAmbiguous(o.err)
		if o.changed || unsure || lost && o.err == nil {
			given = append(gcp.WithoutGrants(given, []gcp.Grant{o.grant}), o.grant)
		}
		if o.err == nil || unsure {
			have = append(have, o.grant)
		}
	}
	if held := gcp.WithoutGrants(gcp.WithoutGrants(have, want), gcp.WithoutGrants(have, given)); len(held) > 0 {
		var still []string
		for _, g := range held {
			still = append(still, g.Member+" ("+g.Role+")")
		}
		hint = "Nothing was revoked meanwhile, so that these still have access: " + strings.Join(still, ", ") + ". " + hint
	}
	failed := report(added, "Cannot grant a role on the bucket", "Not granted: ", hint, diagnostics)
	if !failed {
		gone := gcp.WithoutGrants(have, want)
		theirs := gcp.WithoutGrants(gone, given) // they stay in the policy
		have = gcp.WithoutGrants(have, theirs)
		revoked := r.changeAll(ctx, gcp.WithoutGrants(gone, theirs), r.revoke)
		for _, o := range revoked {
			if o.err == nil {
				given, have = gcp.WithoutGrants(given, []gcp.Grant{o.grant}), gcp.WithoutGrants(have, []gcp.Grant{o.grant})
			}
		}
		failed = report(revoked, "Cannot revoke a role on the bucket", "Still granted: ", "They stay in the state, and the next apply tries again.", diagnostics)
	}
	for _, s := range shares {
		*s.members(m) = *s.members(plan)
		if failed {
			*s.members(m) = s.hold(have, *s.members(plan))
		}
	}
	return given
}

func (r *Resource) give(ctx context.Context, g gcp.Grant) (bool, error) {
	var opts []gcp.Option
	if email, ok := strings.CutPrefix(g.Member, "serviceAccount:"); ok {
		opts = append(opts, gcp.FreshAccount(email)) // the same apply may have made it
	}
	return r.data.Client.AddMember(ctx, g, opts...)
}

func (r *Resource) revoke(ctx context.Context, g gcp.Grant) (bool, error) {
	var removed bool
	err := r.data.Client.Confirm(ctx, func() (err error) {
		removed, err = r.data.Client.RemoveMember(ctx, g)
		return err
	})
	if gcp.IsNotFound(err) {
		return false, nil
	}
	return removed, err
}

// report adds the errors of changes and tells whether there were any. Changes that failed for the same reason are one message, which names
// their members.
func report(outcomes []outcome, summary, verb, hint string, diagnostics *diag.Diagnostics) bool {
	reasons := map[string][]string{}
	for _, o := range outcomes {
		if o.err != nil {
			reasons[o.err.Error()] = append(reasons[o.err.Error()], o.grant.Member+" ("+o.grant.Role+")")
		}
	}
	for _, o := range outcomes {
		if o.err == nil || reasons[o.err.Error()] == nil {
			continue
		}
		for _, s := range shares {
			if s.role == o.grant.Role {
				about := &refusal.Subject{Bucket: strings.TrimPrefix(o.grant.Resource, "projects/_/buckets/")}
				refusal.Error(diagnostics, path.Root(s.attribute), summary, o.err, verb+strings.Join(reasons[o.err.Error()], ", ")+". "+hint, about)
			}
		}
		reasons[o.err.Error()] = nil
	}
	return len(reasons) > 0
}

// stillShared drops from a read model the members that the policy no longer has, so that the plan brings them back. Where the policy may not
// be read, what is recorded stays.
func (r *Resource) stillShared(ctx context.Context, m *Model, given []gcp.Grant, diagnostics *diag.Diagnostics) []gcp.Grant {
	all := allGrants(m)
	if len(all) == 0 {
		return nil
	}
	var held []gcp.Grant
	err := r.data.Client.Confirm(ctx, func() (err error) {
		held, err = r.data.Client.HeldGrants(ctx, all[0].Resource, all)
		return err
	})
	at := path.Root("readers")
	if len(value.Elements(m.Readers)) == 0 {
		at = path.Root("writers")
	}
	switch {
	case gcp.IsPermissionDenied(err):
		diags.Warning(diagnostics, at, "Cannot look at the bucket's policy", err, "Readers and writers are taken to be as recorded.")
		return given
	case err != nil:
		diags.Error(diagnostics, at, "Cannot look at the bucket's policy", err, "")
		return given
	}
	for _, s := range shares {
		if now := s.hold(held, *s.members(m)); len(now.Elements()) != len(s.members(m).Elements()) {
			*s.members(m) = now
		}
	}
	return gcp.WithoutGrants(given, gcp.WithoutGrants(given, held))
}
