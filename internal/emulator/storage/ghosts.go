// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import "io/fs"

// ghostRecord marks a directory that no object or folder stands for: it was
// made on the way to an object's file, or its folder was deleted while a task
// may have it mounted.
type ghostRecord struct {
	Name  string `json:"name"` // with the slash at its end
	Inode uint64 `json:"inode"`
}

func (b *bucket) ghostKey(name string) string {
	return "storage/ghosts/" + b.name + "/" + nameKey(name)
}

func (b *bucket) loadGhosts() error {
	b.ghosts, b.ghostNames = map[string]uint64{}, nil
	for _, key := range b.s.store.Keys("storage/ghosts/" + b.name + "/") {
		g := &ghostRecord{}
		if err := b.s.loadRecord(key, g); err != nil {
			return err
		}
		b.ghosts[g.Name] = g.Inode
		b.ghostNames.add(g.Name)
		// Nobody made it anew while there was no emulator; the folder may have been copied.
		if live, ok := livePath(g.Name); ok {
			if fi, err := b.dir.Lstat(live); err == nil && fi.IsDir() && inode(fi) != g.Inode {
				if err := b.mark(g.Name, fi); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mark makes a directory stand for nothing.
func (b *bucket) mark(name string, fi fs.FileInfo) error {
	b.ghosts[name] = inode(fi)
	b.ghostNames.add(name)
	return b.s.saveRecord(b.ghostKey(name), ghostRecord{name, inode(fi)})
}

// unmark forgets that a directory stood for nothing.
func (b *bucket) unmark(name string) error {
	if _, marked := b.ghosts[name]; !marked {
		return nil
	}
	delete(b.ghosts, name)
	b.ghostNames.remove(name)
	return b.s.store.Delete(b.ghostKey(name))
}

// haunt marks the directory of a name, where it has one.
func (b *bucket) haunt(name string) error {
	live, ok := livePath(name)
	if !ok {
		return nil
	}
	fi, err := b.dir.Lstat(live)
	if err != nil || !fi.IsDir() {
		return nil //nolint:nilerr // it is gone: nothing to mark
	}
	return b.mark(name, fi)
}

// isGhost reports whether a directory stands for nothing, and is the one that
// was marked: one that a task made anew is not.
func (b *bucket) isGhost(name string, fi fs.FileInfo) bool {
	mark, ok := b.ghosts[name]
	return ok && mark == inode(fi)
}
