// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"net/url"
	"slices"
)

// Access control lists are kept and shown, and decide nothing: the buckets of
// this project have uniform access, which has none.

const uniformHelp = "Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access"

// predefined lists by name: team or public entity and role. The three teams of
// the project are in each list of a bucket.
var predefinedACLs = map[string][][2]string{
	"private":                {},
	"projectPrivate":         {{"project-editors", "OWNER"}, {"project-viewers", "READER"}},
	"publicRead":             {{"allUsers", "READER"}},
	"publicReadWrite":        {{"allUsers", "WRITER"}},
	"authenticatedRead":      {{"allAuthenticatedUsers", "READER"}},
	"bucketOwnerRead":        {},
	"bucketOwnerFullControl": {},
}

// setACLs takes the lists of a create or a change, by name or in the body.
func (c *call) setACLs(b *bucket, body map[string]any) error {
	for _, list := range []struct{ field, parameter string }{
		{"acl", "predefinedAcl"}, {"defaultObjectAcl", "predefinedDefaultObjectAcl"},
	} {
		given, inBody := body[list.field]
		name := c.q.Get(list.parameter)
		if !inBody && name == "" {
			continue
		}
		if b.uniformAccess() {
			return invalid("Cannot use ACL API to update bucket policy when uniform bucket-level access is enabled. %s", uniformHelp)
		}
		entries := asList(given)
		if name != "" {
			if len(entries) > 0 {
				return invalid("Cannot provide both a predefinedAcl and access controls.")
			}
			grants, ok := predefinedACLs[name]
			if !ok {
				return invalid("Invalid value for: %s is not a valid value", name)
			}
			for _, g := range slices.Concat([][2]string{{"project-owners", "OWNER"}}, grants) {
				entity := g[0]
				if g[0] != "allUsers" && g[0] != "allAuthenticatedUsers" {
					entity += "-" + projectNumber(b.Project)
				}
				entries = append(entries, map[string]any{"entity": entity, "role": g[1]})
			}
		}
		if len(entries) == 0 { // an empty list is ignored
			continue
		}
		for _, e := range entries {
			switch asString(asMap(e)["entity"]) {
			case "":
				return failure(400, "required", "Required")
			case "allUsers", "allAuthenticatedUsers":
				if preventsPublic(b.Resource) {
					return unmet("The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced.")
				}
			}
		}
		b.Resource[list.field] = clone(entries)
	}
	return nil
}

func (b *bucket) renderACLs(c *call, out map[string]any) {
	number := projectNumber(b.Project)
	for _, list := range []struct{ field, kind string }{
		{"acl", "storage#bucketAccessControl"}, {"defaultObjectAcl", "storage#objectAccessControl"},
	} {
		entries := asList(clone(b.Resource[list.field]))
		if entries == nil {
			for _, g := range [][2]string{{"owners", "OWNER"}, {"editors", "OWNER"}, {"viewers", "READER"}} {
				entries = append(entries, map[string]any{
					"entity": "project-" + g[0] + "-" + number, "role": g[1],
					"projectTeam": map[string]any{"projectNumber": number, "team": g[0]},
				})
			}
		}
		for _, e := range entries {
			entry := asMap(e)
			entry["kind"], entry["etag"] = list.kind, etag(b.Metageneration)
			if list.field == "acl" {
				entity := asString(entry["entity"])
				entry["bucket"], entry["id"] = b.name, b.name+"/"+entity
				entry["selfLink"] = c.base() + apiPath + "/b/" + b.name + "/acl/" + url.PathEscape(entity)
			}
		}
		out[list.field] = entries
	}
	out["owner"] = map[string]any{"entity": "project-owners-" + number}
}
