// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gcs "google.golang.org/api/storage/v1"
)

// managedRecord is a managed folder: a prefix with a policy of its own.
type managedRecord struct {
	Name           string       `json:"name"` // with the slash at its end
	Metageneration int64        `json:"metageneration"`
	Created        time.Time    `json:"created"`
	Policy         policyRecord `json:"policy"`
	// PolicyWrites is what the etag of the policy says.
	PolicyWrites int64 `json:"policyWrites,omitempty"`
}

func (b *bucket) managedKey(name string) string {
	return "storage/managedFolders/" + b.name + "/" + nameKey(name)
}

func (b *bucket) saveManaged(m *managedRecord) error { return b.s.saveRecord(b.managedKey(m.Name), m) }

// needUniform returns the locked bucket, and refuses one without uniform
// access.
func (c *call) needUniform() (*bucket, error) {
	b, err := c.need()
	if err != nil {
		return nil, err
	}
	if !b.uniformAccess() {
		b.mu.Unlock()
		return nil, unmet("Uniform bucket-level access is required to be enabled on the bucket in order to perform this operation. %s", uniformHelp)
	}
	return b, nil
}

// needManaged returns the locked bucket with the managed folder of a call.
func (c *call) needManaged() (*bucket, *managedRecord, error) {
	b, err := c.needUniform()
	if err != nil {
		return nil, nil, err
	}
	m := b.managed[folderName(c.vars["folder"])]
	if m == nil {
		b.mu.Unlock()
		return nil, nil, notFound("The specified managed folder does not exist.")
	}
	return b, m, nil
}

func (b *bucket) renderManaged(c *call, m *managedRecord) map[string]any {
	return map[string]any{
		"kind": "storage#managedFolder", "id": b.name + "/" + m.Name, "name": m.Name, "bucket": b.name,
		"selfLink":       c.base() + apiPath + "/b/" + b.name + "/managedFolders/" + url.PathEscape(m.Name),
		"metageneration": strconv.FormatInt(m.Metageneration, 10),
		"createTime":     stamp(m.Created), "updateTime": stamp(m.Created),
	}
}

func (c *call) insertManagedFolder() error {
	body, err := decodeBody(c.body, gcs.ManagedFolder{})
	if err != nil {
		return err
	}
	name := folderName(asString(body["name"]))
	if err := folderNameProblem(name, deepestManagedFolder); err != nil {
		return err
	}
	b, err := c.needUniform()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if b.managed[name] != nil {
		return conflict("The specified managed folder already exists.")
	}
	if b.hierarchical() {
		if err := b.makeFolders(name + "x"); err != nil {
			return internal(err)
		}
	}
	m := &managedRecord{Name: name, Metageneration: 1, Created: b.s.clock.Now().UTC()}
	if err := b.saveManaged(m); err != nil {
		return internal(err)
	}
	b.managed[name] = m
	return c.json(b.renderManaged(c, m))
}

func (c *call) getManagedFolder() error {
	b, m, err := c.needManaged()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := c.checkMetageneration("", m.Metageneration); err != nil {
		return err
	}
	return c.json(b.renderManaged(c, m))
}

func (c *call) listManagedFolders() error {
	b, err := c.needUniform()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	names := slices.Sorted(maps.Keys(b.managed))
	return c.listNamed("storage#managedFolders", names, func(name string) (map[string]any, bool) {
		return b.renderManaged(c, b.managed[name]), true
	})
}

func (c *call) deleteManagedFolder() error {
	b, m, err := c.needManaged()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := c.checkMetageneration("", m.Metageneration); err != nil {
		return err
	}
	if _, _, err := b.sync(m.Name, m.Name, 0); err != nil {
		return internal(err)
	}
	if !c.flag("allowNonEmpty") && b.managesSomething(m.Name) {
		return conflict("The managed folder you tried to delete is not empty.")
	}
	if err := b.s.store.Delete(b.managedKey(m.Name)); err != nil {
		return internal(err)
	}
	delete(b.managed, m.Name)
	return c.noContent()
}

// managesSomething reports whether objects or managed folders are below a name.
func (b *bucket) managesSomething(name string) bool {
	for other := range b.managed {
		if other != name && strings.HasPrefix(other, name) {
			return true
		}
	}
	for i := b.objects.at(name); i < len(b.objects.names) && strings.HasPrefix(b.objects.names[i], name); i++ {
		if v := b.objects.byName[b.objects.names[i]]; v.live != nil || len(v.noncurrent) > 0 {
			return true
		}
	}
	return false
}

func (b *bucket) managedPolicy(m *managedRecord) policyOwner {
	return policyOwner{
		bucket: b, resourceID: "projects/_/buckets/" + b.name + "/managedFolders/" + m.Name,
		policy: &m.Policy, version: m.PolicyWrites,
		written: func() (int64, error) {
			m.PolicyWrites++
			return m.PolicyWrites, b.saveManaged(m)
		},
	}
}

func (c *call) getManagedPolicy() error {
	b, m, err := c.needManaged()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.answerPolicy(b.managedPolicy(m))
}

func (c *call) setManagedPolicy() error {
	b, m, err := c.needManaged()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.writePolicy(b.managedPolicy(m))
}

func (c *call) testManagedPermissions() error {
	b, _, err := c.needManaged()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return c.answerPermissions()
}
