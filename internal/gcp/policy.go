// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

// policyVersion is read and written always: an older one would lose the conditions of other people's bindings.
const policyVersion = 3

// policy is an IAM policy, the same for every kind of resource.
type policy struct {
	etag     string
	bindings []binding
}

type binding struct {
	role      string
	members   []string
	condition *condition
}

type condition struct{ title, description, expression, location string }

// deletedTwin returns the beginning of the entry that a deleted account of the same e-mail leaves in a policy:
// "deleted:serviceAccount:E?uid=N".
func deletedTwin(member string) string { return "deleted:" + member + "?uid=" }

func isTwin(entry, member string) bool {
	twin := deletedTwin(member)
	return len(entry) > len(twin) && strings.EqualFold(entry[:len(twin)], twin)
}

// SameMember compares members. The API stores addresses and domains in lower case; the names of other principals (principal://,
// principalSet://, ...) are what they are.
func SameMember(a, b string) bool {
	kind, _, _ := strings.Cut(a, ":")
	switch strings.ToLower(kind) {
	case "user", "group", "serviceaccount", "domain":
		return strings.EqualFold(a, b)
	}
	return a == b
}

// has reports whether the member has the role without a condition.
func (p *policy) has(role, member string) bool {
	return slices.ContainsFunc(p.bindings, func(b binding) bool {
		return b.role == role && b.condition == nil && slices.ContainsFunc(b.members, func(m string) bool { return SameMember(m, member) })
	})
}

// add gives the role to the member and reports whether the policy changed. Entries that a deleted account of the same name left behind
// are dropped from the whole policy: the API refuses a policy that holds both. Everything else stays as it is.
func (p *policy) add(role, member string) bool {
	if p.has(role, member) {
		return false
	}
	p.drop(func(_ binding, m string) bool { return isTwin(m, member) })
	for i := range p.bindings {
		if b := &p.bindings[i]; b.role == role && b.condition == nil {
			b.members = append(b.members, member)
			return true
		}
	}
	p.bindings = append(p.bindings, binding{role: role, members: []string{member}})
	return true
}

// remove takes the role from the member, also where the account was deleted meanwhile, and reports whether the policy changed. The same
// role under a condition is somebody else's grant.
func (p *policy) remove(role, member string) bool {
	return p.drop(func(b binding, m string) bool {
		return b.role == role && b.condition == nil && (SameMember(m, member) || isTwin(m, member))
	})
}

// drop removes the entries that match, and bindings that become empty by it.
func (p *policy) drop(match func(binding, string) bool) bool {
	changed := false
	kept := make([]binding, 0, len(p.bindings))
	for _, b := range p.bindings {
		members := make([]string, 0, len(b.members))
		for _, m := range b.members {
			if !match(b, m) {
				members = append(members, m)
			}
		}
		if len(members) != len(b.members) {
			changed = true
			if len(members) == 0 {
				continue
			}
		}
		b.members = members
		kept = append(kept, b)
	}
	p.bindings = kept
	return changed
}

// readPolicy reads the policy of a resource.
func (c *Client) readPolicy(ctx context.Context, resource string) (*policy, error) {
	of, err := policyOwnerOf(resource)
	if err != nil {
		return nil, err
	}
	if of.bucket != "" {
		return c.readBucketPolicy(ctx, of.bucket)
	}
	return c.readSecretPolicy(ctx, of.secret)
}

// writePolicy writes a policy that was read before; the etag in it makes the API refuse it when somebody else wrote in between, and makes
// it harmless to send it twice.
func (c *Client) writePolicy(ctx context.Context, resource string, p *policy) error {
	of, err := policyOwnerOf(resource)
	if err != nil {
		return err
	}
	if of.bucket != "" {
		return c.writeBucketPolicy(ctx, of.bucket, p)
	}
	return c.writeSecretPolicy(ctx, of.secret, p)
}

// Permissions returns which of the permissions the caller has on a bucket or a secret, named as in [Grant]. Of a secret that does not exist
// nobody has any: the answer is empty, and no error. Those who ask the same at the same time share one answer, and must not change it.
func (c *Client) Permissions(ctx context.Context, resource string, perms []string) ([]string, error) {
	question := strings.Join(append([]string{resource}, perms...), "\n")
	return c.rightsReads.read(ctx, question, c.nextAsker(), nil, func() ([]string, error) { return c.readRights(ctx, question) })
}

// readRights answers a question of Permissions: a resource, and a permission on each line after it.
func (c *Client) readRights(ctx context.Context, question string) ([]string, error) {
	lines := strings.Split(question, "\n")
	of, err := policyOwnerOf(lines[0])
	if err != nil {
		return nil, err
	}
	if of.bucket != "" {
		return c.bucketPermissions(ctx, of.bucket, lines[1:])
	}
	return c.secretPermissions(ctx, of.secret, lines[1:])
}

// policyOwner is the resource that a policy belongs to; one field is set.
type policyOwner struct {
	bucket string // its name alone
	secret string // "projects/P/secrets/S"
}

// policyOwnerOf reads the name of a grant's resource.
func policyOwnerOf(resource string) (policyOwner, error) {
	switch parts := strings.Split(resource, "/"); {
	case len(parts) != 4 || parts[0] != "projects" || parts[1] == "" || parts[3] == "":
	case parts[2] == "buckets" && parts[1] == "_":
		return policyOwner{bucket: parts[3]}, nil
	case parts[2] == "secrets" && projectOf(resource) != "":
		return policyOwner{secret: resource}, nil
	}
	return policyOwner{}, &Error{Op: "use the IAM policy of", Resource: resource, Code: codes.InvalidArgument,
		Message: "only buckets and secrets are supported, written as projects/_/buckets/NAME and projects/PROJECT/secrets/NAME", unsent: true}
}
