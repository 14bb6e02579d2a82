// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/base64"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// objectEtag is a protocol buffer of generation and metageneration, in base64.
func objectEtag(r *objectRecord) string {
	raw := protowire.AppendTag(nil, 1, protowire.VarintType)
	raw = protowire.AppendVarint(raw, uint64(r.Generation))
	raw = protowire.AppendTag(raw, 2, protowire.VarintType)
	return base64.StdEncoding.EncodeToString(protowire.AppendVarint(raw, uint64(r.Metageneration)))
}

// renderObject is an object as the API answers it.
func (b *bucket) renderObject(c *call, r *objectRecord) map[string]any {
	out := cloneMap(r.Meta)
	generation := strconv.FormatInt(r.Generation, 10)
	path := "/b/" + b.name + "/o/" + url.PathEscape(r.Name)
	out["kind"] = "storage#object"
	out["id"] = b.name + "/" + r.Name + "/" + generation
	out["selfLink"] = c.base() + apiPath + path
	out["mediaLink"] = c.base() + downloadPath + path + "?generation=" + generation + "&alt=media"
	out["name"] = r.Name
	out["bucket"] = b.name
	out["generation"] = generation
	out["metageneration"] = strconv.FormatInt(r.Metageneration, 10)
	out["size"] = strconv.FormatInt(r.Size, 10)
	out["crc32c"] = encodeCRC(r.CRC32C)
	if r.MD5 != nil {
		out["md5Hash"] = base64.StdEncoding.EncodeToString(r.MD5)
	}
	if r.Components > 0 {
		out["componentCount"] = r.Components
	}
	out["etag"] = objectEtag(r)
	out["timeCreated"] = stamp(r.Created)
	out["timeFinalized"] = stamp(r.Created)
	out["updated"] = stamp(r.Updated)
	out["timeStorageClassUpdated"] = stamp(r.ClassUpdated)
	if r.NoncurrentAt != nil {
		out["timeDeleted"] = stamp(*r.NoncurrentAt)
	}
	if r.SoftDeletedAt != nil {
		out["softDeleteTime"] = stamp(*r.SoftDeletedAt)
		out["hardDeleteTime"] = stamp(*r.HardDeleteAt)
	}
	if !b.uniformAccess() && c.q.Get("projection") == "full" {
		owner := "project-owners-" + projectNumber(b.Project)
		out["owner"] = map[string]any{"entity": owner}
		out["acl"] = []any{map[string]any{
			"kind": "storage#objectAccessControl", "entity": owner, "role": "OWNER", "bucket": b.name, "object": r.Name,
			"generation": generation, "etag": objectEtag(r),
		}}
	}
	return out
}
