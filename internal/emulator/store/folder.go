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
	"strconv"
	"strings"
)

const (
	recordsName  = "records"
	dataName     = "data"
	lockName     = "lock"
	formatName   = "format"
	clearedName  = "cleared"
	recordSuffix = ".rec"
	tempSuffix   = ".tmp"
)

// format is the form of the folder and of every record in it that this code
// writes. Whoever adds a field to a record of JSON, gives an old one another
// meaning or moves a key raises it, and reads the older forms too. Format 1 is
// also that of the folders from before there was a file that says so.
const format = 1

// folder is the form on disk: records/<segment>/…/<segment>.rec, and data/ for
// the rooms' own files.
type folder struct {
	root    string
	records string
	data    string
	lock    *os.File
}

func openFolder(path string) (*folder, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", path, err)
	}
	d := &folder{root: abs, records: filepath.Join(abs, recordsName), data: filepath.Join(abs, dataName)}
	// Task output and objects may be confidential: the owner's only.
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if d.lock, err = lock(filepath.Join(abs, lockName)); err != nil {
		return nil, fmt.Errorf("data folder %s is in use by another emulator, stop that one or name another folder: %w", abs, err)
	}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// prepare makes an empty folder ready, or looks whether this code can read what
// is in it.
func (d *folder) prepare() error {
	if err := d.checkFormat(); err != nil {
		return err
	}
	if _, err := os.Lstat(d.cleared()); err == nil {
		if err := d.finishClear(); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	for _, p := range []string{d.records, d.data} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	// Last: a folder that says its format is whole.
	if err := writeWhole(filepath.Join(d.root, formatName), []byte(strconv.Itoa(format)+"\n")); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

func (d *folder) checkFormat() error {
	raw, err := os.ReadFile(filepath.Join(d.root, formatName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	written, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	switch {
	case err != nil || written < 1:
		return fmt.Errorf("data folder %s: its file %q holds %q and not the number of a format: the folder is none of the emulator's, or it is damaged; name another folder", d.root, formatName, strings.TrimSpace(string(raw)))
	case written > format:
		return fmt.Errorf("data folder %s was written by a newer emulator: it has format %d, and this one reads formats up to %d; start that newer version with it, or name another folder", d.root, written, format)
	}
	return nil
}

func (d *folder) cleared() string { return filepath.Join(d.root, clearedName) }

// clear removes every record and file. The first rename decides: when it is
// broken off after that, the next start goes on with it.
func (d *folder) clear() error {
	if err := os.RemoveAll(d.cleared()); err != nil {
		return err
	}
	if err := os.Rename(d.records, d.cleared()); err != nil {
		return err
	}
	if err := d.finishClear(); err != nil {
		return err
	}
	return d.prepare()
}

func (d *folder) finishClear() error {
	if err := os.RemoveAll(d.data); err != nil {
		return err
	}
	return os.RemoveAll(d.cleared())
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
	return writeWhole(path, value)
}

// writeWhole replaces a file. A rename in one folder is atomic: a killed emulator
// leaves the old file or the new one.
func writeWhole(path string, value []byte) error {
	temp := path + tempSuffix
	if err := os.WriteFile(temp, value, 0o600); err != nil {
		return err
	}
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
