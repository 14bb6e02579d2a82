// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// The roles that the account needs for what is not the checkpoint.
const (
	viewerRole   = "roles/storage.objectViewer"
	accessorRole = "roles/secretmanager.secretAccessor"
)

// wanted is a grant that the configuration asks for.
type wanted struct {
	gcp.Grant
	// at is the attribute that names what the role is granted on.
	at path.Path
}

// use is a bucket or a secret that the job uses.
type use struct {
	at    path.Path
	grant types.Bool
	role  attr.Value
	// bucket or secret names it; the other is null.
	bucket, secret types.String
}

// uses lists what the job uses; complete is false while a part of it is not known.
func (m *Model) uses(ctx context.Context, diags *diag.Diagnostics) (uses []use, complete bool) {
	if c := m.checkpoint(ctx, diags); c != nil {
		uses = append(uses, use{path.Root("checkpoint").AtName("bucket"), c.Grant, c.Role, c.Bucket, types.StringNull()})
	}
	complete = !m.Checkpoint.IsUnknown() && !partlyUnknown(m.Volumes) && !partlyUnknown(m.SecretEnv)
	volumes := m.volumes(ctx, diags)
	for _, name := range sortedKeys(volumes) {
		v, at := volumes[name], path.Root("volumes").AtMapKey(name)
		complete = complete && !v.GCS.IsUnknown() && !v.Secret.IsUnknown()
		if g := decode[GCSVolume](ctx, v.GCS, diags); g != nil {
			role := types.StringValue(defaultRole)
			switch {
			case v.ReadOnly.IsUnknown():
				role = types.StringUnknown()
			case v.ReadOnly.ValueBool():
				role = types.StringValue(viewerRole)
			}
			uses = append(uses, use{at.AtName("gcs").AtName("bucket"), g.Grant, role, g.Bucket, types.StringNull()})
		}
		if s := decode[SecretVolume](ctx, v.Secret, diags); s != nil {
			uses = append(uses, use{at.AtName("secret").AtName("secret"), s.Grant, types.StringValue(accessorRole), types.StringNull(), s.Secret})
		}
	}
	env := m.secretEnv(ctx, diags)
	for _, name := range sortedKeys(env) {
		s := env[name]
		uses = append(uses, use{path.Root("secret_env").AtMapKey(name).AtName("secret"), s.Grant, types.StringValue(accessorRole), types.StringNull(), s.Secret})
	}
	return uses, complete
}

// grantsRole tells whether this resource gives the role for a use: by default to
// the account that it makes, and not to a named one, which may be shared. It is
// unknown while the configuration is not known.
func (m *Model) grantsRole(u use) types.Bool {
	switch {
	case !u.grant.IsNull():
		return u.grant
	case m.ServiceAccount.IsUnknown():
		return types.BoolUnknown()
	}
	return types.BoolValue(m.owned())
}

// wants returns the grants that the configuration asks for, each once; ok is
// false while a part of it is not known.
func (m *Model) wants(ctx context.Context, diags *diag.Diagnostics) (grants []wanted, ok bool) {
	uses, ok := m.uses(ctx, diags)
	seen := map[gcp.Grant]bool{}
	for _, u := range uses {
		gives := m.grantsRole(u)
		if gives.IsUnknown() {
			ok = false
			continue
		}
		if !gives.ValueBool() {
			continue
		}
		g, complete := m.grantFor(u)
		if !complete {
			ok = false
			continue
		}
		if !seen[g] {
			seen[g] = true
			grants = append(grants, wanted{g, u.at})
		}
	}
	return grants, ok
}

// grantFor returns the grant that a use needs; ok is false while it is not known.
func (m *Model) grantFor(u use) (g gcp.Grant, ok bool) {
	role, isText := u.role.(types.String)
	if !isText || !value.Known(role) || !value.Known(m.ServiceAccountEmail) || u.bucket.IsUnknown() || u.secret.IsUnknown() {
		return gcp.Grant{}, false
	}
	g = gcp.Grant{Role: role.ValueString(), Member: resourcename.ServiceAccount{Email: m.ServiceAccountEmail.ValueString()}.Member()}
	if value.Known(u.bucket) {
		g.Resource = resourcename.Bucket{Name: u.bucket.ValueString()}.String()
		return g, true
	}
	if !value.Known(m.Project) {
		return gcp.Grant{}, false
	}
	secret, err := resourcename.ParseSecret(u.secret.ValueString(), m.Project.ValueString())
	if err != nil {
		return gcp.Grant{}, false // refused by its validator
	}
	g.Resource = secret.String()
	return g, true
}

// desiredGrants returns what the configuration asks for; ok is false while a
// part of it is not known.
func (m *Model) desiredGrants(ctx context.Context, diags *diag.Diagnostics) (grants []gcp.Grant, ok bool) {
	wants, ok := m.wants(ctx, diags)
	for _, w := range wants {
		grants = append(grants, w.Grant)
	}
	if !ok {
		return nil, false
	}
	return grants, true
}

// blame returns the attribute that asks for a grant.
func (m *Model) blame(ctx context.Context, g gcp.Grant) path.Path {
	var ignored diag.Diagnostics
	wants, _ := m.wants(ctx, &ignored)
	for _, w := range wants {
		if w.Grant == g {
			return w.at
		}
	}
	return path.Root("grants")
}
