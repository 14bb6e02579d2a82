// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/json"
	"net/http"
	"strings"

	gcs "google.golang.org/api/storage/v1"
)

// decodeLoosely is for the record of calls: a body that is no JSON has no name.
func decodeLoosely(body []byte) map[string]any {
	var m map[string]any
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	return m
}

func (c *call) insertBucket() error {
	project := c.q.Get("project")
	if project == "" {
		return required("project")
	}
	body, err := decodeBody(c.body, gcs.Bucket{})
	if err != nil {
		return err
	}
	dropNulls(body)
	name := asString(body["name"])
	if name == "" {
		return failure(http.StatusBadRequest, "required", "Required")
	}
	if err := bucketNameProblem(name); err != nil {
		return err
	}
	if strings.Contains(name, ".") {
		return forbidden("The bucket you tried to create is a domain name owned by another user.")
	}
	now := c.s.clock.Now().UTC()
	b := &bucket{s: c.s, name: name, folders: map[string]*folderRecord{}, managed: map[string]*managedRecord{}}
	b.objects.init()
	b.ghosts = map[string]uint64{}
	b.bucketRecord = bucketRecord{
		Project: project, Generation: now.UnixNano(), Metageneration: 1, Created: now, Updated: now,
		Resource: map[string]any{
			"storageClass":     "STANDARD",
			"softDeletePolicy": defaultSoftDelete(now),
			"iamConfiguration": map[string]any{
				"publicAccessPrevention":   "inherited",
				"uniformBucketLevelAccess": map[string]any{"enabled": false},
			},
		},
	}
	if err := b.locate(body); err != nil {
		return err
	}
	w := writing{resource: b.Resource, now: now, creating: true}
	if err := w.apply(body); err != nil {
		return err
	}
	if c.flag("enableObjectRetention") {
		w.resource["objectRetention"] = map[string]any{"mode": "Enabled"}
	}
	if err := w.checkNamespace(); err != nil {
		return err
	}
	if err := c.setACLs(b, body); err != nil {
		return err
	}
	b.Policy = defaultPolicy(project, b.uniformAccess())

	// Names are unique in the whole world: from here on nobody else may take it.
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.foreign[name] {
		return nameTaken()
	}
	if there := c.s.buckets[name]; there != nil {
		if projectNumber(there.Project) == projectNumber(project) {
			return conflict("Your previous request to create the named bucket succeeded and you already own it.")
		}
		return nameTaken()
	}
	// What a broken off delete left is nobody's.
	if err := c.s.root.RemoveAll(bucketsFolder + "/" + name); err != nil {
		return internal(err)
	}
	if err := b.openFolder(); err != nil {
		return internal(err)
	}
	if err := b.save(); err != nil {
		_ = b.dir.Close()
		return internal(err)
	}
	c.s.buckets[name] = b
	return c.json(b.render(c, c.q.Get("projection") == "full" || body["acl"] != nil || body["defaultObjectAcl"] != nil))
}

func nameTaken() *apiError {
	return conflict("The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.")
}

// locate sets what is chosen once: location and namespace.
func (b *bucket) locate(body map[string]any) error {
	location := strings.ToUpper(asString(body["location"]))
	if location == "" {
		location = "US"
	}
	placement := asMap(body["customPlacementConfig"])
	kind := locationType(location, placement)
	if kind == "" {
		return invalid("The specified location constraint is not valid.")
	}
	b.Resource["location"], b.Resource["locationType"] = location, kind
	if placement != nil {
		zones := asList(placement["dataLocations"])
		for i := range zones {
			zones[i] = strings.ToUpper(asString(zones[i]))
		}
		b.Resource["customPlacementConfig"] = placement
	}
	if asBool(asMap(body["hierarchicalNamespace"])["enabled"]) {
		b.Resource["hierarchicalNamespace"] = map[string]any{"enabled": true}
	}
	return nil
}

func (c *call) patchBucket() error {
	return c.changeBucket(func(b *bucket, body map[string]any) (map[string]any, error) {
		w := writing{resource: cloneMap(b.Resource), now: c.s.clock.Now().UTC()}
		if err := w.apply(body); err != nil {
			return nil, err
		}
		return w.resource, w.checkNamespace()
	})
}

// updateBucket replaces: what the body leaves out goes back to its default,
// but for what is chosen once and for access.
func (c *call) updateBucket() error {
	return c.changeBucket(func(b *bucket, body map[string]any) (map[string]any, error) {
		dropNulls(body)
		w := writing{resource: map[string]any{"storageClass": "STANDARD"}, now: c.s.clock.Now().UTC()}
		for _, k := range []string{
			"location", "locationType", "customPlacementConfig", "hierarchicalNamespace", "objectRetention",
			"iamConfiguration", "softDeletePolicy", "acl", "defaultObjectAcl",
		} {
			if v := b.Resource[k]; v != nil {
				w.resource[k] = clone(v)
			}
		}
		if err := w.apply(body); err != nil {
			return nil, err
		}
		return w.resource, w.checkNamespace()
	})
}

func (c *call) changeBucket(change func(*bucket, map[string]any) (map[string]any, error)) error {
	body, err := decodeBody(c.body, gcs.Bucket{})
	if err != nil {
		return err
	}
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := c.checkMetageneration("", b.Metageneration); err != nil {
		return err
	}
	full := c.q.Get("projection") != "noAcl"
	if c.r.Method == http.MethodPatch && len(body) == 0 && c.q.Get("predefinedAcl") == "" && c.q.Get("predefinedDefaultObjectAcl") == "" {
		return c.json(b.render(c, full)) // changes nothing, not even the metageneration
	}
	was := b.bucketRecord
	next, err := change(b, body)
	if err != nil {
		return err
	}
	b.Resource = next
	if err := c.setACLs(b, body); err != nil {
		b.bucketRecord = was
		return err
	}
	b.touched()
	if err := b.save(); err != nil {
		b.bucketRecord = was
		return internal(err)
	}
	if b.retains() {
		if err := b.retainAll(); err != nil {
			return internal(err)
		}
	}
	return c.json(b.render(c, full))
}
