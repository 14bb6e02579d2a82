// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const (
	recordsName  = "records"
	dataName     = "data"
	lockName     = "lock"
	recordSuffix = ".rec"
	tempSuffix   = ".tmp"
)

// folder is the form on disk: records/<segment>/…/<segment>.rec, and data/ for
// the rooms' own files.
type folder struct {
	records string
	data    string
	lock    *os.File
}

func openFolder(path string) (*folder, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", path, err)
	}
	d := &folder{records: filepath.Join(abs, recordsName), data: filepath.Join(abs, dataName)}
	for _, p := range []string{d.records, d.data} {
		// Task output and objects may be confidential: the owner's only.
		if err := os.MkdirAll(p, 0o700); err != nil {
			return nil, fmt.Errorf("data folder: %w", err)
		}
	}
	if d.lock, err = lock(filepath.Join(abs, lockName)); err != nil {
		return nil, fmt.Errorf("data folder %s is in use by another emulator, stop that one or name another folder: %w", abs, err)
	}
	return d, nil
}

func (d *folder) close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// path returns the file of a key. A segment keeps its readable form; what a
// file system might take otherwise is percent-encoded.
func (d *folder) path(key string) string {
	segments := strings.Split(key, "/")
	for i, s := range segments {
		s = url.PathEscape(s)
		if strings.HasPrefix(s, ".") {
			s = "%2E" + s[1:]
		}
		for _, suffix := range []string{recordSuffix, tempSuffix} {
			if bare, ok := strings.CutSuffix(s, suffix); ok {
				s = bare + "%2E" + suffix[1:]
			}
		}
		segments[i] = s
	}
	return filepath.Join(d.records, filepath.Join(segments...)+recordSuffix)
}

func (d *folder) key(path string) (string, error) {
	rel, err := filepath.Rel(d.records, path)
	if err != nil {
		return "", err
	}
	segments := strings.Split(strings.TrimSuffix(filepath.ToSlash(rel), recordSuffix), "/")
	for i, s := range segments {
		if segments[i], err = url.PathUnescape(s); err != nil {
			return "", err
		}
	}
	return strings.Join(segments, "/"), nil
}

func (d *folder) write(key string, value []byte) error {
	path := d.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp := path + tempSuffix
	if err := os.WriteFile(temp, value, 0o600); err != nil {
		return err
	}
	// A rename in one folder is atomic: a killed emulator leaves the old record
	// or the new one.
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

func (d *folder) remove(key string) error {
	err := os.Remove(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// load reads every record and removes what an interrupted write left.
func (d *folder) load() (map[string][]byte, error) {
	records := map[string][]byte{}
	err := filepath.WalkDir(d.records, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if strings.HasSuffix(path, tempSuffix) {
			return os.Remove(path)
		}
		if !strings.HasSuffix(path, recordSuffix) {
			return nil
		}
		key, err := d.key(path)
		if err != nil {
			return fmt.Errorf("%s is no record of the emulator: %w", path, err)
		}
		value, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		records[key] = value
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the data folder: %w", err)
	}
	return records, nil
}
