// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/protobuf/encoding/protodelim"
)

// file holds the entries one after the other, each behind its length. A line of
// a task's output costs one write at its end, not a file of its own.
type file struct {
	path string
	f    *os.File
}

// openFile reads what is there. What a killed emulator left half written at the
// end is cut off.
func openFile(root string) (*file, []*loggingpb.LogEntry, error) {
	dir := filepath.Join(root, "logging")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	l := &file{path: filepath.Join(dir, "entries")}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	l.f = f
	var entries []*loggingpb.LogEntry
	var whole int64
	reader := &counting{r: bufio.NewReader(f)}
	for {
		e := &loggingpb.LogEntry{}
		if err := (protodelim.UnmarshalOptions{MaxSize: -1}).UnmarshalFrom(reader, e); err != nil {
			break
		}
		entries, whole = append(entries, e), reader.n
	}
	if err := f.Truncate(whole); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return l, entries, nil
}

func (l *file) append(entries []*loggingpb.LogEntry) error {
	var b bytes.Buffer
	for _, e := range entries {
		if _, err := protodelim.MarshalTo(&b, e); err != nil {
			return err
		}
	}
	_, err := l.f.Write(b.Bytes())
	return err
}

// rewrite replaces the file by one with these entries only.
func (l *file) rewrite(entries []*loggingpb.LogEntry) error {
	temp := l.path + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, e := range entries {
		if _, err := protodelim.MarshalTo(w, e); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := w.Flush(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := os.Rename(temp, l.path); err != nil {
		return errors.Join(err, f.Close())
	}
	old := l.f
	l.f = f
	return old.Close()
}

func (l *file) close() error { return l.f.Close() }

// counting knows how far protodelim has read.
type counting struct {
	r *bufio.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counting) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
