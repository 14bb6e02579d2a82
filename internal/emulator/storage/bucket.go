// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// What a bucket's folder on the host holds: live is what a task mounts, blobs
// is everything that has no file there.
const (
	bucketsFolder = "buckets"
	liveFolder    = "live"
	blobsFolder   = "blobs"
)

// bucket is one bucket. Its lock guards everything in it, the files below its
// folder included, as far as they are the emulator's to write.
type bucket struct {
	mu      sync.Mutex
	s       *Service
	name    string
	deleted bool
	bucketRecord

	// dir is the bucket's own folder: no path of an object leads out of it.
	dir         *os.Root
	objects     objects
	folders     map[string]*folderRecord
	managed     map[string]*managedRecord
	folderNames sortedNames
	// ghosts are the directories that stand for nothing, with their inodes.
	ghosts     map[string]uint64
	ghostNames sortedNames
	renames    []renameOperation
}

// bucketRecord is what the store keeps of a bucket.
type bucketRecord struct {
	// Project is as the creator spelled it, an id or a number.
	Project    string `json:"project"`
	Generation int64  `json:"generation"`
	// Metageneration is also the etag of the bucket and of its policy.
	Metageneration int64     `json:"metageneration"`
	Created        time.Time `json:"created"`
	Updated        time.Time `json:"updated"`
	// Resource holds the fields that have a value and are not computed.
	Resource map[string]any `json:"resource"`
	Policy   policyRecord   `json:"policy"`
}

func bucketKey(name string) string { return "storage/buckets/" + name }

// load reads everything that the store knows.
func (s *Service) load() error {
	for _, key := range s.store.Keys("storage/buckets/") {
		b := &bucket{s: s, name: strings.TrimPrefix(key, "storage/buckets/")}
		if err := s.loadRecord(key, &b.bucketRecord); err != nil {
			return err
		}
		if err := b.openFolder(); err != nil {
			return err
		}
		s.buckets[b.name] = b
		if err := b.loadFolders(); err != nil {
			return err
		}
		if err := b.loadObjects(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) loadRecord(key string, into any) error {
	raw, _ := s.store.Get(key)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	// The format of a folder says which fields there are: one that nobody knows
	// would be lost with the next write.
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	return nil
}

func (s *Service) saveRecord(key string, record any) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	return s.store.Put(key, raw)
}

func (b *bucket) openFolder() error {
	path := bucketsFolder + "/" + b.name
	for _, p := range []string{path, path + "/" + liveFolder, path + "/" + blobsFolder} {
		if err := b.s.root.MkdirAll(p, 0o755); err != nil {
			return fmt.Errorf("folder of bucket %s: %w", b.name, err)
		}
	}
	dir, err := b.s.root.OpenRoot(path)
	if err != nil {
		return fmt.Errorf("folder of bucket %s: %w", b.name, err)
	}
	b.dir = dir
	return nil
}

// save keeps a change of the bucket.
func (b *bucket) save() error { return b.s.saveRecord(bucketKey(b.name), b.bucketRecord) }

// touched raises the metageneration, as every change of the bucket and every
// write of its policy does.
func (b *bucket) touched() {
	b.Metageneration++
	b.Updated = b.s.clock.Now().UTC()
}

func (b *bucket) uniformAccess() bool { return uniformAccess(b.Resource) }

func (b *bucket) hierarchical() bool {
	return asBool(asMap(b.Resource["hierarchicalNamespace"])["enabled"])
}

func (b *bucket) versioned() bool { return asBool(asMap(b.Resource["versioning"])["enabled"]) }

// softDelete is how long deleted objects are kept; 0 when they are not.
func (b *bucket) softDelete() time.Duration {
	return time.Duration(asInt(asMap(b.Resource["softDeletePolicy"])["retentionDurationSeconds"])) * time.Second
}

func uniformAccess(resource map[string]any) bool {
	return asBool(asMap(asMap(resource["iamConfiguration"])["uniformBucketLevelAccess"])["enabled"])
}

func preventsPublic(resource map[string]any) bool {
	return asString(asMap(resource["iamConfiguration"])["publicAccessPrevention"]) == "enforced"
}

// etag is the etag of a bucket and of a policy: field 1 of a protocol buffer,
// in base64.
func etag(metageneration int64) string {
	raw := protowire.AppendTag(nil, 1, protowire.VarintType)
	return base64.StdEncoding.EncodeToString(protowire.AppendVarint(raw, uint64(metageneration)))
}

// render is the bucket as the API answers it.
func (b *bucket) render(c *call, full bool) map[string]any {
	out := cloneMap(b.Resource)
	out["kind"] = "storage#bucket"
	out["id"] = b.name
	out["name"] = b.name
	out["selfLink"] = c.base() + apiPath + "/b/" + url.PathEscape(b.name)
	out["projectNumber"] = projectNumber(b.Project)
	out["generation"] = strconv.FormatInt(b.Generation, 10)
	out["metageneration"] = strconv.FormatInt(b.Metageneration, 10)
	out["etag"] = etag(b.Metageneration)
	out["timeCreated"] = stamp(b.Created)
	out["updated"] = stamp(b.Updated)
	switch out["locationType"] {
	case "region":
		out["satisfiesPZI"] = true
	case "multi-region", "dual-region":
		if out["rpo"] == nil {
			out["rpo"] = "DEFAULT"
		}
	}
	if access := asMap(out["iamConfiguration"]); access != nil {
		access["bucketPolicyOnly"] = clone(access["uniformBucketLevelAccess"])
	}
	delete(out, "acl")
	delete(out, "defaultObjectAcl")
	if full && !b.uniformAccess() {
		b.renderACLs(c, out)
	}
	return out
}

// pageToken and fromToken hide the name that a next page begins after.
func pageToken(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

func fromToken(token string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", failure(400, "invalidParameter", "Invalid value for pageToken: %s", token)
	}
	return string(raw), nil
}

func (c *call) listBuckets() error {
	project := c.q.Get("project")
	if project == "" {
		return required("project")
	}
	size, err := c.pageSize("maxResults")
	if err != nil {
		return err
	}
	after, err := fromToken(c.q.Get("pageToken"))
	if err != nil {
		return err
	}
	c.s.mu.RLock()
	var names []string
	for name, b := range c.s.buckets {
		if projectNumber(b.Project) == projectNumber(project) && strings.HasPrefix(name, c.q.Get("prefix")) && name > after {
			names = append(names, name)
		}
	}
	c.s.mu.RUnlock()
	slices.Sort(names)
	answer := map[string]any{"kind": "storage#buckets"}
	if c.flag("softDeleted") { // deleted buckets are not kept
		return c.json(answer)
	}
	if len(names) > size {
		names = names[:size]
		answer["nextPageToken"] = pageToken(names[size-1])
	}
	var items []any
	for _, name := range names {
		b, err := c.s.lockBucket(name)
		if err != nil {
			continue // deleted meanwhile
		}
		items = append(items, b.render(c, c.q.Get("projection") == "full"))
		b.mu.Unlock()
	}
	if items != nil {
		answer["items"] = items
	}
	return c.json(answer)
}

func (c *call) getBucket() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := c.checkMetageneration("", b.Metageneration); err != nil {
		return err
	}
	return c.json(b.render(c, c.q.Get("projection") == "full"))
}

func (c *call) storageLayout() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	out := map[string]any{
		"kind": "storage#storageLayout", "bucket": b.name,
		"location": b.Resource["location"], "locationType": b.Resource["locationType"],
	}
	for _, k := range []string{"hierarchicalNamespace", "customPlacementConfig"} {
		if v := b.Resource[k]; v != nil {
			out[k] = v
		}
	}
	return c.json(out)
}

// listCaches and listNotifications answer what a bucket without them has:
// clients ask before a delete.
func (c *call) listCaches() error { return c.emptyList("storage#anywhereCaches") }

func (c *call) listNotifications() error { return c.emptyList("storage#notifications") }

func (c *call) emptyList(kind string) error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.json(map[string]any{"kind": kind})
}

func (c *call) serviceAgent() error {
	return c.json(map[string]any{
		"kind":          "storage#serviceAccount",
		"email_address": "service-" + projectNumber(c.vars["project"]) + "@gs-project-accounts.iam.gserviceaccount.com",
	})
}

func (c *call) deleteBucket() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := c.checkMetageneration("", b.Metageneration); err != nil {
		return err
	}
	empty, err := b.empty()
	if err != nil {
		return err
	}
	if !empty {
		return conflict("The bucket you tried to delete is not empty.")
	}
	// The record goes last: a delete that is broken off can be repeated.
	var errs []error
	for _, kind := range []string{"objects", "folders", "managedFolders", "ghosts"} {
		for _, key := range b.s.store.Keys("storage/" + kind + "/" + b.name + "/") {
			errs = append(errs, b.s.store.Delete(key))
		}
	}
	errs = append(errs, b.s.root.RemoveAll(bucketsFolder+"/"+b.name), b.s.store.Delete(bucketKey(b.name)))
	if err := errors.Join(errs...); err != nil {
		return internal(err)
	}
	b.deleted = true
	_ = b.dir.Close() // read only from here on
	c.s.mu.Lock()
	if c.s.buckets[b.name] == b {
		delete(c.s.buckets, b.name)
	}
	c.s.mu.Unlock()
	return c.noContent()
}

// checkMetageneration holds a resource to ifMetagenerationMatch and
// ifMetagenerationNotMatch, or with a prefix to ifSourceMetagenerationMatch.
func (c *call) checkMetageneration(prefix string, current int64) error {
	want, ok, err := c.number("if" + prefix + "MetagenerationMatch")
	if err != nil {
		return err
	}
	if ok && want != current {
		return preconditionFailed()
	}
	not, ok, err := c.number("if" + prefix + "MetagenerationNotMatch")
	if err != nil {
		return err
	}
	if ok && not == current {
		return failure(304, "notModified", "Not Modified")
	}
	return nil
}
