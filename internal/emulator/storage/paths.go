// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Which names have a file in the folder that a task mounts. Every path below is
// relative to the bucket's own folder, out of which os.Root lets nothing lead.

// longestSegment is what file systems take, in bytes.
const longestSegment = 255

// validName: an object's name is UTF-8 without NUL, line feed and carriage
// return.
func validName(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsAny(name, "\x00\r\n")
}

// livePath returns the place of an object's file, and of the directory for a
// name that ends with a slash. Names that a file system could take otherwise
// have none.
func livePath(name string) (string, bool) {
	bare := strings.TrimSuffix(name, "/")
	if len(name) > 1024 || !validName(name) || bare == "." || !fs.ValidPath(bare) || !filepath.IsLocal(filepath.FromSlash(bare)) || filepath.Separator != '/' && strings.ContainsRune(bare, filepath.Separator) {
		return "", false
	}
	for segment := range strings.SplitSeq(bare, "/") {
		if len(segment) > longestSegment {
			return "", false
		}
	}
	return liveFolder + "/" + bare, true
}

// parents returns the directories above a live path, outermost first, without
// the live folder itself.
func parents(live string) []string {
	var out []string
	for i := len(liveFolder) + 1; i < len(live); i++ {
		if live[i] == '/' {
			out = append(out, live[:i])
		}
	}
	return out
}

// stat is Lstat, absent also when a directory above is none: a task may have
// put a link there, and nothing behind a link is an object. It goes down level
// by level, since names may be hundreds of levels deep.
func (b *bucket) stat(live string) (fs.FileInfo, error) {
	fi, _, err := b.descend(live)
	return fi, err
}

// descend returns what is at the end of a path. When there is nothing, it also
// reports whether something that is no directory was in the way.
func (b *bucket) descend(live string) (fi fs.FileInfo, blocked bool, err error) {
	at := b.dir
	defer func() {
		if at != b.dir {
			_ = at.Close()
		}
	}()
	segments := strings.Split(live, "/")
	for i, segment := range segments {
		if fi, err = at.Lstat(segment); err != nil {
			return nil, false, absentIfMissing(err)
		}
		if i == len(segments)-1 {
			return fi, false, nil
		}
		if !fi.IsDir() {
			return nil, true, fs.ErrNotExist
		}
		next, err := at.OpenRoot(segment)
		if err != nil {
			return nil, false, absentIfMissing(err)
		}
		if at != b.dir {
			_ = at.Close()
		}
		at = next
	}
	return nil, false, fs.ErrNotExist
}

// absentIfMissing folds the errors of a path that leads nowhere into one.
func absentIfMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
		return fs.ErrNotExist
	}
	return err
}

// canPlace reports whether an object of the name can be a file now: nothing of
// another kind or spelling is in its way.
func (b *bucket) canPlace(name string) (string, bool) {
	live, ok := livePath(name)
	if !ok || b.s.namesFold && b.spelledOtherwise(live) {
		return "", false
	}
	fi, blocked, err := b.descend(live)
	if err != nil {
		return live, !blocked && errors.Is(err, fs.ErrNotExist)
	}
	directory := strings.HasSuffix(name, "/")
	return live, fi.IsDir() == directory
}

// spelledOtherwise reports whether a part of the path is there under a name
// that the file system holds for the same.
func (b *bucket) spelledOtherwise(live string) bool {
	for _, p := range append(parents(live), live) {
		d, err := b.dir.Open(path.Dir(p))
		if err != nil {
			return false
		}
		names, _ := d.Readdirnames(-1)
		_ = d.Close()
		want := path.Base(p)
		for _, name := range names {
			if name != want && foldName(name) == foldName(want) {
				return true
			}
		}
	}
	return false
}

func foldName(name string) string { return cases.Fold().String(norm.NFC.String(name)) }

// makeDirectories makes the directories of a live path, level by level. Those
// that it makes in a flat bucket stand for nothing, in a hierarchical one the
// caller makes the folders.
func (b *bucket) makeDirectories(live string) error {
	at := b.dir
	defer func() {
		if at != b.dir {
			_ = at.Close()
		}
	}()
	name := ""
	for i, segment := range strings.Split(live, "/") {
		made := at.Mkdir(segment, 0o755)
		if made != nil && !errors.Is(made, fs.ErrExist) {
			return made
		}
		fi, err := at.Lstat(segment)
		if err != nil {
			return err
		}
		if !fi.IsDir() {
			return fmt.Errorf("%s is in the way of a directory: %w", segment, fs.ErrInvalid)
		}
		if i > 0 {
			name += segment + "/"
			if made == nil && !b.hierarchical() {
				if err := b.mark(name, fi); err != nil {
					return err
				}
			}
		}
		next, err := at.OpenRoot(segment)
		if err != nil {
			return err
		}
		if at != b.dir {
			_ = at.Close()
		}
		at = next
	}
	return nil
}

// probeFolding finds out whether the file system holds names that differ in
// case or composition for one.
func probeFolding(root *os.Root) (bool, error) {
	const lower, upper = "probe-é", "PROBE-É"
	if err := root.WriteFile(norm.NFC.String(lower), nil, 0o600); err != nil {
		return false, fmt.Errorf("probing the file system: %w", err)
	}
	defer func() { _ = root.Remove(norm.NFC.String(lower)) }()
	for _, other := range []string{norm.NFC.String(upper), norm.NFD.String(lower)} {
		if _, err := root.Lstat(other); err == nil {
			return true, nil
		}
	}
	return false, nil
}
