// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// What a task does to the files it mounts is what the API shows: before a call
// answers, the names that it is about are brought up to date here.

// fileState is what tells that a file changed.
type fileState struct {
	Size    int64  `json:"size"`
	ModTime int64  `json:"modTime"` // nanoseconds
	Inode   uint64 `json:"inode,omitempty"`
	// Link is the target of a symbolic link, which is an object of its own.
	Link string `json:"link,omitempty"`
}

// raceWindow is how close to its writing a file may be read without a later
// write being sure to change its time.
const raceWindow = 100 * time.Millisecond

// linkTarget is the metadata key under which gcsfuse keeps a symbolic link.
const linkTarget = "gcsfuse_symlink_target"

// look brings one name up to date and returns its live generation, nil when
// there is none.
func (b *bucket) look(name string) (*objectRecord, error) {
	live, ok := livePath(name)
	if !ok {
		return b.objects.live(name), nil
	}
	fi, err := b.stat(live)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if strings.HasSuffix(name, "/") && b.hierarchical() {
		return b.objects.live(name), b.lookFolder(name, fi)
	}
	if err := b.meet(name, fi); err != nil {
		return nil, err
	}
	return b.objects.live(name), nil
}

// meet compares what is on disk under a name, nil for nothing, with the live
// generation, and makes the index follow.
func (b *bucket) meet(name string, fi fs.FileInfo) error {
	r := b.objects.live(name)
	present := fi != nil
	if strings.HasSuffix(name, "/") {
		present = present && fi.IsDir()
		switch {
		case present && r == nil && !b.isGhost(name, fi):
			return b.seen(&objectRecord{Name: name, Directory: true}, fi)
		case !present && r != nil && r.Directory:
			return b.retire(r, b.s.clock.Now().UTC())
		case !present:
			return b.unmark(name)
		}
		return nil
	}
	present = present && (fi.Mode().IsRegular() || fi.Mode()&fs.ModeSymlink != 0)
	if !present {
		if r != nil && r.File != nil {
			return b.retire(r, b.s.clock.Now().UTC())
		}
		return nil
	}
	state := fileState{Size: fi.Size(), ModTime: fi.ModTime().UnixNano(), Inode: inode(fi)}
	if fi.Mode()&fs.ModeSymlink != 0 {
		live, _ := livePath(name)
		target, err := b.dir.Readlink(live)
		if err != nil {
			return nil //nolint:nilerr // swapped meanwhile: the next call sees what it is
		}
		state.Link, state.Size = target, 0
	}
	if r != nil && r.File != nil && *r.File == state && !r.racy {
		return nil
	}
	return b.read(name, r, state, fi)
}

// read makes a generation of what a file holds, unless it holds what the last
// generation did and is the same file.
func (b *bucket) read(name string, was *objectRecord, state fileState, fi fs.FileInfo) error {
	r := &objectRecord{Name: name, File: &state, racy: time.Since(fi.ModTime()) < raceWindow, Meta: map[string]any{}}
	sum := newDigest()
	if state.Link != "" {
		r.Meta["metadata"] = map[string]any{linkTarget: state.Link}
	} else {
		live, _ := livePath(name)
		f, err := b.openRegular(live)
		if err != nil {
			return nil //nolint:nilerr // removed or swapped meanwhile
		}
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	sum.into(r)
	if was != nil && was.File != nil && was.CRC32C == r.CRC32C && was.Size == r.Size && was.File.Link == state.Link {
		if was.racy && *was.File == state {
			was.racy = r.racy
			return nil
		}
		// The folder was copied or unpacked: other inodes and times, the same objects.
		if was.loaded {
			was.racy, was.File = r.racy, &state
			return b.saveObject(was)
		}
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" && state.Link == "" {
		r.Meta["contentType"] = kind // gcsfuse tells by the extension as well
	}
	return b.seen(r, fi)
}

// seen makes a record the live generation of its name: a task put it there.
func (b *bucket) seen(r *objectRecord, fi fs.FileInfo) error {
	if b.retains() {
		if err := b.keepCopy(r); err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
				return nil // removed meanwhile
			}
			return err
		}
	}
	if b.hierarchical() {
		if err := b.makeFolders(r.Name); err != nil {
			return err
		}
	}
	return b.place(r, b.fileTime(fi.ModTime()))
}

// fileTime is when a file was written, by the emulator's clock: as long ago as
// the host says.
func (b *bucket) fileTime(written time.Time) time.Time {
	age := func() time.Duration { return max(time.Since(written), 0) }
	if jumping, ok := b.s.clock.(interface {
		Ago(age func() time.Duration) time.Time
	}); ok {
		return jumping.Ago(age).UTC()
	}
	return b.s.clock.Now().Add(-age()).UTC()
}

// place makes a record the live generation of its name, as of the given time.
func (b *bucket) place(r *objectRecord, at time.Time) error {
	if r.Meta == nil {
		r.Meta = map[string]any{}
	}
	if r.Meta["storageClass"] == nil {
		r.Meta["storageClass"] = b.Resource["storageClass"]
	}
	if key := asString(asMap(b.Resource["encryption"])["defaultKmsKeyName"]); key != "" && r.Meta["kmsKeyName"] == nil {
		r.Meta["kmsKeyName"] = key + "/cryptoKeyVersions/1"
	}
	r.Generation, r.Metageneration = b.s.ticks.next(b.s.clock.Now()), 1
	r.Created, r.Updated, r.ClassUpdated = at, at, at
	if was := b.objects.live(r.Name); was != nil {
		if err := b.retire(was, at); err != nil {
			return err
		}
	}
	b.objects.add(r)
	return b.saveObject(r)
}

// syncAll brings the whole bucket up to date.
func (b *bucket) syncAll() error {
	_, _, err := b.sync("", "", 0)
	return err
}

// sync brings the names from a name on that have the prefix up to date, at
// least as many as the limit where there are so many; 0 is no limit. It returns
// the name up to which all is up to date, and whether there is more behind.
func (b *bucket) sync(from, prefix string, limit int) (upTo string, more bool, err error) {
	w := walk{b: b, from: from, prefix: prefix, limit: limit}
	if err := w.directory(b.dir, liveFolder, ""); err != nil && !errors.Is(err, errEnough) {
		return "", false, err
	}
	upTo = ""
	if w.more {
		upTo = w.names[len(w.names)-1] + "\x00"
	}
	for i, name := range w.names {
		if _, ok := livePath(name); !ok {
			continue // no object of this name is looked for on disk
		}
		if strings.HasSuffix(name, "/") && b.hierarchical() {
			err = b.lookFolder(name, w.infos[i])
		} else {
			err = b.meet(name, w.infos[i])
		}
		if err != nil {
			return "", false, err
		}
	}
	// What has a file by the index and none on disk was removed.
	missing := func(name string) bool {
		_, there := slices.BinarySearch(w.names, name)
		return !there
	}
	for _, name := range b.objects.names.within(from, prefix, upTo) {
		if r := b.objects.live(name); r != nil && r.onDisk() && missing(name) {
			if err := b.meet(name, nil); err != nil {
				return "", false, err
			}
		}
	}
	for _, name := range b.ghostNames.within(from, prefix, upTo) {
		if missing(name) {
			if err := b.unmark(name); err != nil {
				return "", false, err
			}
		}
	}
	for _, name := range b.folderNames.within(from, prefix, upTo) {
		if f := b.folders[name]; f != nil && f.OnDisk && missing(name) {
			if err := b.lookFolder(name, nil); err != nil {
				return "", false, err
			}
		}
	}
	return upTo, w.more, nil
}

var errEnough = errors.New("enough names")

// walk reads the live files in the order of the objects' names.
type walk struct {
	b            *bucket
	from, prefix string
	limit        int
	names        []string
	infos        []fs.FileInfo
	more         bool
}

// directory visits what is in the directory of the parent that stands for the
// objects that begin with the name.
func (w *walk) directory(parent *os.Root, base, name string) error {
	at, err := parent.OpenRoot(base)
	if err != nil {
		return ignoreGone(err)
	}
	defer func() { _ = at.Close() }()
	keys, err := w.entries(at, name)
	if err != nil {
		return ignoreGone(err)
	}
	for _, key := range keys {
		full := name + key
		bare, directory := strings.CutSuffix(key, "/")
		if strings.HasPrefix(full, w.prefix) && full >= w.from {
			if w.limit > 0 && len(w.names) >= w.limit {
				w.more = true
				return errEnough
			}
			fi, err := at.Lstat(bare)
			if err != nil {
				if err := ignoreGone(err); err != nil {
					return err
				}
				continue
			}
			if fi.IsDir() == directory {
				w.names = append(w.names, full)
				w.infos = append(w.infos, fi)
			}
		}
		inside := strings.HasPrefix(full, w.prefix) || strings.HasPrefix(w.prefix, full)
		if directory && inside && after(full) > w.from {
			if err := w.directory(at, bare, full); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries are those of a directory that the walk is about. Where the prefix
// leads through it, only one is: the others, however many, are not read.
func (w *walk) entries(at *os.Root, name string) ([]string, error) {
	bare, _, inside := strings.Cut(strings.TrimPrefix(w.prefix, name), "/")
	if !inside || !strings.HasPrefix(w.prefix, name) || w.b.s.namesFold {
		return entriesOf(at, name)
	}
	if _, ok := livePath(name + bare + "/"); !ok {
		return nil, nil
	}
	fi, err := at.Lstat(bare)
	if err != nil || !fi.IsDir() {
		return nil, err
	}
	return []string{bare + "/"}, nil
}

// entriesOf reads a directory in the order of the objects' names, in which
// directories have their slash: "a-b" is before "a/".
func entriesOf(at *os.Root, name string) ([]string, error) {
	d, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(entries))
	for _, e := range entries {
		key := e.Name()
		if e.IsDir() {
			key += "/"
		}
		if validName(key) && len(name)+len(key) <= 1024 { // else no object can have it
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// ignoreGone: a task may remove what is being read.
func ignoreGone(err error) error {
	if errors.Is(absentIfMissing(err), fs.ErrNotExist) {
		return nil
	}
	return err
}

// after returns the first text behind all that begin with a prefix; for one
// without such, the last text there is.
func after(prefix string) string {
	raw := []byte(prefix)
	for i := len(raw) - 1; i >= 0; i-- {
		if raw[i] < 0xff {
			raw[i]++
			return string(raw[:i+1])
		}
	}
	return "\xff\xff\xff\xff"
}
