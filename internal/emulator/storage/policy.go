// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	gcs "google.golang.org/api/storage/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// policyRecord is an IAM policy as it is kept: addresses in lower case, one
// binding for each role and condition, no binding without members.
type policyRecord struct {
	Bindings []binding `json:"bindings,omitempty"`
	// UIDs holds the unique id that each service account had when it was
	// granted something: a grant belongs to that account, not to the address.
	UIDs map[string]string `json:"uids,omitempty"`
}

type binding struct {
	Role      string         `json:"role"`
	Members   []string       `json:"members"`
	Condition map[string]any `json:"condition,omitempty"`
}

func (b binding) same(o binding) bool {
	return b.Role == o.Role && conditionText(b.Condition) == conditionText(o.Condition)
}

func conditionText(condition map[string]any) string {
	if condition == nil {
		return ""
	}
	raw, err := json.Marshal(condition) // keys in order
	if err != nil {
		return fmt.Sprint(condition)
	}
	return string(raw)
}

// defaultPolicy is the policy of a new bucket.
func defaultPolicy(project string, uniform bool) policyRecord {
	owners := []string{"projectEditor:" + project, "projectOwner:" + project}
	viewers := []string{"projectViewer:" + project}
	p := policyRecord{Bindings: []binding{
		{Role: "roles/storage.legacyBucketOwner", Members: owners},
		{Role: "roles/storage.legacyBucketReader", Members: viewers},
	}}
	if uniform {
		p.Bindings = append(p.Bindings,
			binding{Role: "roles/storage.legacyObjectOwner", Members: slices.Clone(owners)},
			binding{Role: "roles/storage.legacyObjectReader", Members: slices.Clone(viewers)})
	}
	return p
}

// policyOwner is what has a policy: a bucket or a managed folder.
type policyOwner struct {
	bucket     *bucket
	resourceID string
	policy     *policyRecord
	// version is what the etag says: the metageneration of a bucket, the
	// number of policy writes of a managed folder.
	version int64
	// written keeps a changed policy and returns its new version.
	written func() (int64, error)
}

func (b *bucket) policyOwner() policyOwner {
	return policyOwner{
		bucket: b, resourceID: "projects/_/buckets/" + b.name, policy: &b.Policy, version: b.Metageneration,
		written: func() (int64, error) {
			b.touched()
			return b.Metageneration, b.save()
		},
	}
}

func (c *call) getPolicy() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.answerPolicy(b.policyOwner())
}

func (c *call) setPolicy() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.writePolicy(b.policyOwner())
}

func (c *call) testPermissions() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.answerPermissions()
}

func (c *call) answerPolicy(o policyOwner) error {
	requested, _, err := c.number("optionsRequestedPolicyVersion")
	if err != nil {
		return err
	}
	return c.json(c.s.renderPolicy(o, requested))
}

// renderPolicy answers version 3 with conditions when asked for, else version
// 1 with every conditional role under a name that cannot be granted.
func (s *Service) renderPolicy(o policyOwner, requested int64) map[string]any {
	out := map[string]any{"kind": "storage#policy", "resourceId": o.resourceID, "etag": etag(o.version)}
	conditional := slices.ContainsFunc(o.policy.Bindings, func(b binding) bool { return b.Condition != nil })
	if o.version > 0 {
		out["version"] = 1
	}
	if conditional && requested >= 3 {
		out["version"] = 3
	}
	var list []any
	for _, b := range o.policy.Bindings {
		entry := map[string]any{"role": b.Role, "members": s.shownMembers(o.policy, b.Members)}
		switch {
		case b.Condition == nil:
		case requested >= 3:
			entry["condition"] = b.Condition
		default:
			h := fnv.New128a()
			_, _ = h.Write([]byte(conditionText(b.Condition)))
			entry["role"] = fmt.Sprintf("%s_withcond_%.20x", b.Role, h.Sum(nil)[:10])
		}
		list = append(list, entry)
	}
	if list != nil {
		out["bindings"] = list
	}
	return out
}

func (c *call) writePolicy(o policyOwner) error {
	body, err := decodeBody(c.body, gcs.Policy{})
	if err != nil {
		return err
	}
	dropNulls(body)
	if err := checkPolicyEtag(asString(body["etag"]), o.version); err != nil {
		return err
	}
	next, err := c.s.readPolicy(o, body)
	if err != nil {
		return err
	}
	was := *o.policy
	*o.policy = next
	if o.version, err = o.written(); err != nil {
		*o.policy = was
		return internal(err)
	}
	return c.json(c.s.renderPolicy(o, 3))
}

// checkPolicyEtag: none means the last writer wins.
func checkPolicyEtag(given string, version int64) error {
	if given == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(given)
	if err != nil {
		if raw, err = base64.URLEncoding.DecodeString(given); err != nil {
			return invalid("Invalid value for ByteString: %s", given)
		}
	}
	bad := invalid("Invalid etag - must use etag from GetPolicy response.")
	number, kind, n := protowire.ConsumeTag(raw)
	if n < 0 || number != 1 || kind != protowire.VarintType {
		return bad
	}
	v, m := protowire.ConsumeVarint(raw[n:])
	if m < 0 || n+m != len(raw) || v > uint64(version) {
		return bad
	}
	if v != uint64(version) {
		return preconditionFailed()
	}
	return nil
}

// readPolicy checks a policy that is to be written and returns its kept form.
func (s *Service) readPolicy(o policyOwner, body map[string]any) (policyRecord, error) {
	next := policyRecord{UIDs: map[string]string{}}
	version := asInt(body["version"])
	if version < 0 || version == 2 || version > 3 {
		return next, invalid("Invalid argument.")
	}
	conditional := false
	for _, item := range asList(body["bindings"]) {
		given := asMap(item)
		b := binding{Role: asString(given["role"]), Condition: asMap(given["condition"])}
		if err := roleProblem(b.Role); err != nil {
			return next, err
		}
		if b.Condition != nil {
			conditional = true
			if asString(b.Condition["expression"]) == "" {
				return next, invalid("The condition of role %s must have an expression.", b.Role)
			}
		}
		for _, m := range asList(given["members"]) {
			member, err := s.readMember(o, asString(m), next.UIDs)
			if err != nil {
				return next, err
			}
			b.Members = append(b.Members, member)
		}
		if len(b.Members) == 0 {
			continue
		}
		if at := slices.IndexFunc(next.Bindings, b.same); at >= 0 {
			next.Bindings[at].Members = append(next.Bindings[at].Members, b.Members...)
			continue
		}
		next.Bindings = append(next.Bindings, b)
	}
	for i := range next.Bindings {
		next.Bindings[i].Members = withoutRepeats(next.Bindings[i].Members)
	}
	if conditional && !o.bucket.uniformAccess() {
		return next, unmet("To set IAM conditions in this bucket, enable uniform bucket-level access. This ensures that all object access is controlled uniformly at the bucket-level without individual, object-level permissions. Learn more at https://cloud.google.com/storage/docs/uniform-bucket-level-access")
	}
	if conditional && version < 3 {
		return next, invalid("Specified policy version (%d) must be at least 3 based on the policy's contents. For more information, please refer to https://cloud.google.com/iam/help/allow-policies/versions.", version)
	}
	return next, refuseTwins(next)
}

// withoutRepeats leaves the first of each member, in their order.
func withoutRepeats(members []string) []string {
	seen := make(map[string]bool, len(members))
	return slices.DeleteFunc(members, func(m string) bool {
		again := seen[m]
		seen[m] = true
		return again
	})
}

// answerPermissions answers which of the asked permissions the caller has: all
// but those that were taken with Deny, since a caller is nobody in particular.
func (c *call) answerPermissions() error {
	asked := c.q["permissions"]
	if len(asked) == 0 {
		return required("permissions")
	}
	if len(asked) > 84 {
		return invalid("Must specify <= 84 permissions.")
	}
	answer := map[string]any{"kind": "storage#testIamPermissionsResponse"}
	var held []any
	for i, p := range asked {
		if slices.Contains(asked[:i], p) {
			return invalid("Duplicate permissions must not be specified.")
		}
		if err := permissionProblem(p); err != nil {
			return err
		}
		if !c.s.isDenied(c.vars["bucket"], p) {
			held = append(held, p)
		}
	}
	if held != nil {
		answer["permissions"] = held
	}
	return c.json(answer)
}
