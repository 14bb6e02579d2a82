// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/google/uuid"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digest sums content as it goes by.
type digest struct {
	md5  hash.Hash
	crc  hash.Hash32
	size int64
}

func newDigest() *digest { return &digest{md5: md5.New(), crc: crc32.New(castagnoli)} }

func (d *digest) Write(p []byte) (int, error) {
	_, _ = d.md5.Write(p)
	_, _ = d.crc.Write(p)
	d.size += int64(len(p))
	return len(p), nil
}

// into writes the sums to a record.
func (d *digest) into(r *objectRecord) {
	r.Size, r.MD5, r.CRC32C = d.size, d.md5.Sum(nil), d.crc.Sum32()
}

func encodeCRC(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// blob is content on its way into the bucket. It is discarded unless it was
// taken by a record.
type blob struct {
	b    *bucket
	name string
	f    *os.File
	sum  *digest
}

func blobPath(name string) string { return blobsFolder + "/" + name }

// newBlob needs no lock: the name is nobody else's.
func (b *bucket) newBlob() (*blob, error) {
	name := uuid.NewString()
	f, err := b.dir.OpenFile(blobPath(name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return &blob{b: b, name: name, f: f, sum: newDigest()}, nil
}

func (w *blob) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	_, _ = w.sum.Write(p[:n])
	return n, err
}

// done ends the writing.
func (w *blob) done() error { return w.f.Close() }

// discard removes what no record took.
func (w *blob) discard() {
	if w == nil || w.name == "" {
		return
	}
	_ = w.f.Close()
	_ = w.b.removeBlob(w.name)
}

func (b *bucket) removeBlob(name string) error {
	if name == "" {
		return nil
	}
	err := b.dir.Remove(blobPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// content is an open object.
type content interface {
	io.ReaderAt
	io.Closer
}

type noContent struct{ *bytes.Reader }

func (noContent) Close() error { return nil }

// open opens the content of a record. A live one's file was looked at just
// before, under the same lock; what is read later may be what a task writes.
func (b *bucket) open(r *objectRecord) (content, error) {
	switch {
	case r.Size == 0:
		return noContent{bytes.NewReader(nil)}, nil
	case r.Blob != "":
		return b.dir.Open(blobPath(r.Blob))
	}
	live, ok := livePath(r.Name)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b.openRegular(live)
}

// openRegular opens a file that a task may have swapped for something else.
func (b *bucket) openRegular(live string) (*os.File, error) {
	f, err := b.dir.OpenFile(live, os.O_RDONLY|openNonblocking, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path.Base(live), Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keepCopy gives a live record a blob of its own, for a bucket that keeps what
// a task overwrites in place.
func (b *bucket) keepCopy(r *objectRecord) error {
	if r.Size == 0 || r.Blob != "" {
		return nil
	}
	from, err := b.open(r)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	w, err := b.newBlob()
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, io.NewSectionReader(from, 0, r.Size)); err != nil {
		w.discard()
		return err
	}
	if w.sum.size != r.Size { // a task was writing meanwhile: what was copied counts
		w.sum.into(r)
	}
	r.Blob = w.name
	return w.done()
}

// retainAll does so for all, when the bucket begins to keep.
func (b *bucket) retainAll() error {
	if err := b.syncAll(); err != nil {
		return err
	}
	for _, name := range b.objects.names {
		r := b.objects.live(name)
		if r == nil || r.File == nil || r.Blob != "" {
			continue
		}
		if err := b.keepCopy(r); err != nil {
			return err
		}
		if err := b.saveObject(r); err != nil {
			return err
		}
	}
	return nil
}
