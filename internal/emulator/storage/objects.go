// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// objectRecord is one generation of an object.
type objectRecord struct {
	Name           string `json:"name"`
	Generation     int64  `json:"generation"`
	Metageneration int64  `json:"metageneration"`

	Size       int64  `json:"size"`
	MD5        []byte `json:"md5,omitempty"` // none for a composed object
	CRC32C     uint32 `json:"crc32c"`
	Components int    `json:"components,omitempty"`

	Created      time.Time `json:"created"`
	Updated      time.Time `json:"updated"`
	ClassUpdated time.Time `json:"classUpdated"`

	// NoncurrentAt is when the generation stopped being the live one, in a
	// bucket with versions.
	NoncurrentAt *time.Time `json:"noncurrentAt,omitempty"`
	// SoftDeletedAt is when it was deleted, in a bucket that keeps what is.
	SoftDeletedAt *time.Time `json:"softDeletedAt,omitempty"`
	HardDeleteAt  *time.Time `json:"hardDeleteAt,omitempty"`

	// Meta holds what a caller can set: contentType, metadata, storageClass …
	Meta map[string]any `json:"meta,omitempty"`

	// Blob is the content's name among the blobs; empty when it is empty, or
	// has a file only.
	Blob string `json:"blob,omitempty"`
	// File is the state of the live file at which this generation was seen.
	File *fileState `json:"file,omitempty"`
	// Directory is true for a placeholder NAME/ that a directory stands for.
	Directory bool `json:"directory,omitempty"`

	// racy: the file was so young when it was read that a later write might
	// not show in its time.
	racy bool
	// loaded: the file has not been looked at since the start.
	loaded bool
}

// onDisk reports whether a task that removes the file removes the object.
func (r *objectRecord) onDisk() bool { return r.File != nil || r.Directory }

// versions are the generations of one name.
type versions struct {
	live *objectRecord
	// noncurrent and deleted are in the order of their generations.
	noncurrent []*objectRecord
	deleted    []*objectRecord
}

func (v *versions) none() bool { return v.live == nil && len(v.noncurrent) == 0 && len(v.deleted) == 0 }

// objects is the index of a bucket.
type objects struct {
	names  sortedNames
	byName map[string]*versions
	// holding counts what keeps a bucket from being empty.
	holding int
}

func (o *objects) init() {
	o.byName = map[string]*versions{}
}

func (o *objects) live(name string) *objectRecord {
	if v := o.byName[name]; v != nil {
		return v.live
	}
	return nil
}

// at returns the place of the first name that is not before the given one.
func (o *objects) at(name string) int { return o.names.at(name) }

// add puts a record where its state says.
func (o *objects) add(r *objectRecord) {
	v := o.byName[r.Name]
	if v == nil {
		v = &versions{}
		o.byName[r.Name] = v
		o.names.add(r.Name)
	}
	byGeneration := func(a, b *objectRecord) int { return cmp.Compare(a.Generation, b.Generation) }
	switch {
	case r.SoftDeletedAt != nil:
		v.deleted = append(v.deleted, r)
		slices.SortFunc(v.deleted, byGeneration)
		return
	case r.NoncurrentAt != nil:
		v.noncurrent = append(v.noncurrent, r)
		slices.SortFunc(v.noncurrent, byGeneration)
	default:
		v.live = r
	}
	o.holding++
}

// remove takes a record out, whatever its state is.
func (o *objects) remove(r *objectRecord) {
	v := o.byName[r.Name]
	if v == nil {
		return
	}
	is := func(x *objectRecord) bool { return x == r }
	switch {
	case r.SoftDeletedAt != nil:
		v.deleted = slices.DeleteFunc(v.deleted, is)
	case r.NoncurrentAt != nil:
		v.noncurrent = slices.DeleteFunc(v.noncurrent, is)
		o.holding--
	case v.live == r:
		v.live = nil
		o.holding--
	}
	if v.none() {
		delete(o.byName, r.Name)
		o.names.remove(r.Name)
	}
}

// nameKey makes a segment of a store key from a name of any length and form.
func nameKey(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func (b *bucket) objectKey(r *objectRecord) string {
	return fmt.Sprintf("storage/objects/%s/%s/%d", b.name, nameKey(r.Name), r.Generation)
}

func (b *bucket) saveObject(r *objectRecord) error { return b.s.saveRecord(b.objectKey(r), r) }

func (b *bucket) loadObjects() error {
	b.objects.init()
	for _, key := range b.s.store.Keys("storage/objects/" + b.name + "/") {
		r := &objectRecord{}
		if err := b.s.loadRecord(key, r); err != nil {
			return err
		}
		r.loaded = true
		b.objects.add(r)
		b.s.ticks.seen(r.Generation)
	}
	if err := b.loadGhosts(); err != nil {
		return err
	}
	// What cannot be looked at now is the error of the call that is about it.
	_ = b.syncAll()
	for _, name := range b.objects.names {
		if r := b.objects.live(name); r != nil {
			r.loaded = false
		}
	}
	return nil
}

// retains reports whether what is overwritten or deleted is kept.
func (b *bucket) retains() bool { return b.versioned() || b.softDelete() > 0 }

// forget ends a record and its content.
func (b *bucket) forget(r *objectRecord) error {
	b.objects.remove(r)
	if err := b.s.store.Delete(b.objectKey(r)); err != nil {
		return err
	}
	return b.removeBlob(r.Blob)
}

// retire takes the live generation from its place, whether it was deleted,
// overwritten, or its file was removed. Its content is in its blob when the
// bucket keeps it; its file is the caller's.
func (b *bucket) retire(r *objectRecord, at time.Time) error {
	b.objects.remove(r)
	if !b.versioned() {
		return b.discard(r, at)
	}
	r.NoncurrentAt = &at
	r.File, r.Directory = nil, false
	b.objects.add(r)
	return b.saveObject(r)
}

// discard ends a record that is out of the index: kept for the time that the
// soft delete policy says, or gone.
func (b *bucket) discard(r *objectRecord, at time.Time) error {
	keep := b.softDelete()
	if keep == 0 {
		if err := b.s.store.Delete(b.objectKey(r)); err != nil {
			return err
		}
		return b.removeBlob(r.Blob)
	}
	until := at.Add(keep)
	r.SoftDeletedAt, r.HardDeleteAt = &at, &until
	r.File, r.Directory = nil, false
	b.objects.add(r)
	return b.saveObject(r)
}

// expire ends the soft-deleted generations whose time is over.
func (b *bucket) expire() error {
	now := b.s.clock.Now()
	for _, name := range slices.Clone(b.objects.names) {
		for _, r := range slices.Clone(b.objects.byName[name].deleted) {
			if now.Before(*r.HardDeleteAt) {
				continue
			}
			if err := b.forget(r); err != nil {
				return internal(err)
			}
			if b.objects.byName[name] == nil {
				break
			}
		}
	}
	return nil
}

// empty reports whether nothing is left in the bucket that keeps it from being
// deleted. What is soft-deleted does not.
func (b *bucket) empty() (bool, error) {
	if err := b.syncAll(); err != nil {
		return false, internal(err)
	}
	return b.objects.holding == 0 && len(b.folders) == 0 && len(b.managed) == 0, nil
}

// ticks gives out generations: microseconds of the clock, never one twice.
type ticks struct {
	mu   sync.Mutex
	last int64
}

func (t *ticks) seen(generation int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last, generation)
}

func (t *ticks) next(now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last+1, now.UnixMicro())
	return t.last
}

// objectNameProblem holds a name to the naming rules.
func objectNameProblem(name string) error {
	switch {
	case name == "":
		return required("name")
	case len(name) > 1024:
		return invalid("The maximum object length is 1024 characters, but got a name with %d characters: '%s...'", len(name), name[:32])
	case !validName(name):
		return invalid("Disallowed unicode characters present in object name '%s'", strings.ToValidUTF8(name, "?"))
	case name == "." || name == "..":
		return invalid("Object name '%s' is not allowed.", name)
	case strings.HasPrefix(name, ".well-known/acme-challenge/"):
		return invalid("Object name '%s' is not allowed.", name)
	}
	return nil
}
