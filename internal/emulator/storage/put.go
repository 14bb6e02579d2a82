// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// smallFile is up to which size, in bytes, a file that the API made is read
// again when it is next looked at, in case a task wrote to it at once.
const smallFile = 1 << 20

// put makes a record the live generation of its name, with the content of the
// blob, which it takes. The name was looked at and its preconditions hold.
func (b *bucket) put(r *objectRecord, w *blob) error {
	if w == nil || w.sum.size == 0 && strings.HasSuffix(r.Name, "/") {
		w.discard()
		w = nil
	}
	if w != nil {
		r.Blob = w.name
	}
	if err := b.settle(r); err != nil {
		return err
	}
	if w != nil {
		w.name = "" // taken
	}
	if b.hierarchical() {
		if err := b.makeFolders(r.Name); err != nil {
			return err
		}
	}
	return b.place(r, b.s.clock.Now().UTC())
}

// settle gives a record its file, or its directory, where its name can have
// one. The others stay among the blobs, unseen by tasks.
func (b *bucket) settle(r *objectRecord) error {
	attempts := 10 // a task may remove a directory on the way at any moment
	for {
		err := b.settleOnce(r)
		if attempts--; attempts == 0 || !errors.Is(absentIfMissing(err), fs.ErrNotExist) {
			return err
		}
	}
}

func (b *bucket) settleOnce(r *objectRecord) error {
	directory := strings.HasSuffix(r.Name, "/")
	live, ok := b.canPlace(r.Name)
	if !ok || directory && b.hierarchical() {
		return nil
	}
	if directory {
		if err := b.makeDirectories(live); err != nil {
			return err
		}
		r.Directory = true
		return b.unmark(r.Name)
	}
	if err := b.makeDirectories(path.Dir(live)); err != nil {
		return err
	}
	from := r.Blob
	if b.retains() || from == "" {
		spare := &objectRecord{Name: r.Name, Size: r.Size, Blob: r.Blob}
		w, err := b.copyOf(spare)
		if err != nil {
			return err
		}
		defer w.discard()
		from = w.name
	}
	fi, err := b.dir.Lstat(blobPath(from))
	if err != nil {
		return err
	}
	if err := b.dir.Rename(blobPath(from), live); err != nil {
		return err
	}
	if from == r.Blob {
		r.Blob = ""
	}
	r.File = &fileState{Size: fi.Size(), ModTime: fi.ModTime().UnixNano(), Inode: inode(fi)}
	r.racy = r.Size <= smallFile
	return nil
}

// copyOf copies a record's content into a new blob.
func (b *bucket) copyOf(r *objectRecord) (*blob, error) {
	from, err := b.open(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	w, err := b.newBlob()
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, io.NewSectionReader(from, 0, r.Size)); err != nil {
		w.discard()
		return nil, err
	}
	return w, w.done()
}

// unplace removes the file of a record that is no longer live. A directory
// stays, since a task may have it mounted, but stands for nothing.
func (b *bucket) unplace(r *objectRecord) error {
	live, ok := livePath(r.Name)
	switch {
	case !ok:
		return nil
	case r.Directory:
		return b.haunt(r.Name)
	case r.File == nil:
		return nil
	}
	err := b.dir.Remove(live)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// drop deletes the live generation.
func (b *bucket) drop(r *objectRecord) error {
	if err := b.unplace(r); err != nil {
		return err
	}
	return b.retire(r, b.s.clock.Now().UTC())
}

// held refuses to lose an object that a hold keeps.
func held(r *objectRecord) error {
	if r == nil {
		return nil
	}
	for field, kind := range map[string]string{"temporaryHold": "Temporary", "eventBasedHold": "Event-Based"} {
		if asBool(r.Meta[field]) {
			return forbidden("Object '%s' is under active %s hold and cannot be deleted, overwritten or archived until hold is removed.", r.Name, kind)
		}
	}
	return nil
}

// checkObject holds an object, nil when there is none, to the preconditions of
// a call: with a prefix to those of its source.
func (c *call) checkObject(prefix string, r *objectRecord) error {
	generation, metageneration := int64(0), int64(0)
	if r != nil {
		generation, metageneration = r.Generation, r.Metageneration
	}
	want, ok, err := c.number("if" + prefix + "GenerationMatch")
	if err != nil {
		return err
	}
	if ok && want != generation {
		return preconditionFailed()
	}
	if want, ok, err = c.number("if" + prefix + "GenerationNotMatch"); err != nil {
		return err
	}
	if ok && want == generation {
		return failure(304, "notModified", "Not Modified")
	}
	if want, ok, err = c.number("if" + prefix + "MetagenerationMatch"); err != nil {
		return err
	}
	if ok && (r == nil || want != metageneration) {
		return preconditionFailed()
	}
	if want, ok, err = c.number("if" + prefix + "MetagenerationNotMatch"); err != nil {
		return err
	}
	if ok && r != nil && want == metageneration {
		return failure(304, "notModified", "Not Modified")
	}
	return nil
}

// pick returns the generation that a call is about: the live one, or any that
// is not soft-deleted.
func (c *call) pick(b *bucket, name, parameter string) (*objectRecord, error) {
	live, err := b.look(name)
	if err != nil {
		return nil, internal(err)
	}
	generation, ok, err := c.number(parameter)
	if err != nil {
		return nil, err
	}
	if !ok || generation < 0 { // a client that means none sends -1
		if live == nil {
			return nil, noObject(b.name, name)
		}
		return live, nil
	}
	if v := b.objects.byName[name]; v != nil {
		if v.live != nil && v.live.Generation == generation {
			return v.live, nil
		}
		for _, r := range v.noncurrent {
			if r.Generation == generation {
				return r, nil
			}
		}
	}
	return nil, noObject(b.name, name)
}
