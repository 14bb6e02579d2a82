// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/refusal"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// nothingWritten ends an error that comes before the first write.
const nothingWritten = "Nothing was written. Mend the cause and apply again."

// explain adds one error for err, with what a refusal of Google's means. The
// attribute is the one to blame; path.Empty() lets Google's text decide. The
// hint is the next step that only the caller knows, and may be empty.
func (w *work) explain(m *Model, at path.Path, summary string, err error, hint string) {
	if hint == "" && gcp.IsAmbiguous(err) {
		hint = "Apply again: Terraform looks at what is there and goes on from it."
	}
	about := m.subject()
	if w.taints {
		about.Now = "Cloud Run has stored the job, but it is not ready. Terraform marks it as tainted, so that the next apply makes it anew; " +
			"to have it mended in place instead, run \"terraform untaint resilientjob_gpu_job." + addressName(m.Name.ValueString()) + "\" (with the resource's own address) before."
	}
	refusal.Error(w.diags, at, summary, err, hint, about)
}

// subject is what Google's texts leave out.
func (m *Model) subject() *refusal.Subject {
	// What cannot be read makes an explanation poorer, and is no second error.
	var ignored diag.Diagnostics
	ctx := context.Background()
	s := &refusal.Subject{
		Project: m.Project.ValueString(), Location: m.Location.Canonical(), Account: m.ServiceAccountEmail.ValueString(), Owned: m.owned(),
		Image: m.Image.ValueString(), GPUType: m.GPUType.ValueString(), ZonalRedundancy: m.GPUZonalRedundancy.ValueBool(),
		Tasks: m.TaskCount.ValueInt64(), Parallelism: m.Parallelism.ValueInt64(), Secrets: m.secretUses(ctx, &ignored),
	}
	if cpu, err := m.CPU.CPUMilli(); err == nil {
		s.CPU = cpu
	}
	if memory, err := m.Memory.MemoryBytes(); err == nil {
		s.Memory = memory
	}
	if c := m.checkpoint(ctx, &ignored); c != nil {
		s.Bucket = c.Bucket.ValueString()
	}
	return s
}

// said returns Google's text of an error.
func said(err error) string {
	var failed *notReadyError
	if errors.As(err, &failed) {
		return failed.message
	}
	if e, ok := gcp.AsError(err); ok {
		return e.Message
	}
	return ""
}

// imageUnreadable recognises that the service agent may not read the image yet.
func imageUnreadable(err error) bool {
	return strings.Contains(said(err), "must have permission to read the image")
}

// deniedSecret is one line of Google's about a secret that an account may not read.
var deniedSecret = lazyregexp.New(`Permission denied on secret: (\S+)/versions/\S+ for Revision service account (\S+)`)

// secretsUnseen recognises that Cloud Run does not see yet what this very apply
// granted: nothing else is wrong, and each secret that it names is one of those.
func (w *work) secretsUnseen(err error) bool {
	text := said(err)
	if text == "" {
		return false
	}
	for line := range strings.Lines(text) {
		found := deniedSecret.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "":
		case found == nil || !w.gave(found[1], strings.TrimSuffix(found[2], ".")):
			return false
		}
	}
	return true
}

// gave tells whether this apply granted an account the reading of a secret.
// Google may name the secret's project by its number, or the secret alone.
func (w *work) gave(secret, account string) bool {
	return slices.ContainsFunc(w.given, func(g gcp.Grant) bool {
		return g.Role == accessorRole && gcp.SameMember(g.Member, "serviceAccount:"+account) &&
			(resourcename.SameName(g.Resource, secret, true) || !strings.Contains(secret, "/") && bareName(g.Resource) == secret)
	})
}

// secretUses lists where the configuration names secrets, variables first.
func (m *Model) secretUses(ctx context.Context, diags *diag.Diagnostics) []refusal.SecretUse {
	var out []refusal.SecretUse
	env := m.secretEnv(ctx, diags)
	for _, name := range sortedKeys(env) {
		s := env[name]
		out = append(out, refusal.SecretUse{At: path.Root("secret_env").AtMapKey(name).AtName("secret"), Name: s.Secret.ValueString(), Versions: []string{s.Version.ValueString()}})
	}
	volumes := m.volumes(ctx, diags)
	for _, name := range sortedKeys(volumes) {
		s := decode[SecretVolume](ctx, volumes[name].Secret, diags)
		if s == nil {
			continue
		}
		at := path.Root("volumes").AtMapKey(name).AtName("secret").AtName("secret")
		versions := []string{s.Version.ValueString()}
		for _, item := range decodeMap[SecretItem](ctx, s.Items, diags) {
			versions = append(versions, item.Version.ValueString())
		}
		out = append(out, refusal.SecretUse{At: at, Name: s.Secret.ValueString(), Versions: versions, Volume: true})
	}
	return out
}
