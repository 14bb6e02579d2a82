// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"errors"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	gcs "google.golang.org/api/storage/v1"
)

// folderRecord is a folder of a hierarchical bucket.
type folderRecord struct {
	Name           string    `json:"name"` // with the slash at its end
	Metageneration int64     `json:"metageneration"`
	Created        time.Time `json:"created"`
	Updated        time.Time `json:"updated"`
	// OnDisk: a directory stands for it, and a task that removes that removes
	// the folder.
	OnDisk bool `json:"onDisk,omitempty"`
}

func (b *bucket) folderKey(name string) string {
	return "storage/folders/" + b.name + "/" + nameKey(name)
}

func (b *bucket) saveFolder(f *folderRecord) error {
	b.folders[f.Name] = f
	b.folderNames.add(f.Name)
	return b.s.saveRecord(b.folderKey(f.Name), f)
}

func (b *bucket) forgetFolder(name string) error {
	delete(b.folders, name)
	b.folderNames.remove(name)
	return b.s.store.Delete(b.folderKey(name))
}

// folderFrom returns the first folder from a name on, empty when none is left.
func (b *bucket) folderFrom(from string) string {
	if i := b.folderNames.at(from); i < len(b.folderNames) {
		return b.folderNames[i]
	}
	return ""
}

func (b *bucket) loadFolders() error {
	b.folders, b.managed, b.folderNames = map[string]*folderRecord{}, map[string]*managedRecord{}, nil
	for _, key := range b.s.store.Keys("storage/folders/" + b.name + "/") {
		f := &folderRecord{}
		if err := b.s.loadRecord(key, f); err != nil {
			return err
		}
		b.folders[f.Name] = f
		b.folderNames.add(f.Name)
	}
	for _, key := range b.s.store.Keys("storage/managedFolders/" + b.name + "/") {
		m := &managedRecord{}
		if err := b.s.loadRecord(key, m); err != nil {
			return err
		}
		b.managed[m.Name] = m
	}
	return nil
}

// lookFolder makes the folders follow what is on disk under a name, nil for
// nothing.
func (b *bucket) lookFolder(name string, fi fs.FileInfo) error {
	f := b.folders[name]
	present := fi != nil && fi.IsDir()
	switch {
	case present && f == nil && !b.isGhost(name, fi):
		return b.makeFolders(name + "x") // all on the way to it, and itself
	case present && f != nil && !f.OnDisk:
		f.OnDisk = true
		return b.saveFolder(f)
	case !present && f != nil && f.OnDisk:
		return b.forgetFolder(name)
	case !present:
		return b.unmark(name)
	}
	return nil
}

// makeFolders makes the folders above an object or folder, which a hierarchical
// bucket always has, and their directories.
func (b *bucket) makeFolders(name string) error {
	var missing []string
	for i := range len(name) {
		if name[i] == '/' && i < len(name)-1 && b.folders[name[:i+1]] == nil {
			missing = append(missing, name[:i+1])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	// Where the innermost has a directory, the others have one too.
	all := b.makeDirectory(missing[len(missing)-1])
	now := b.s.clock.Now().UTC()
	for _, folder := range missing {
		f := &folderRecord{Name: folder, Metageneration: 1, Created: now, Updated: now, OnDisk: all || b.makeDirectory(folder)}
		if err := errors.Join(b.unmark(folder), b.saveFolder(f)); err != nil {
			return err
		}
	}
	return nil
}

// makeDirectory gives a folder its directory, where it can have one.
func (b *bucket) makeDirectory(folder string) bool {
	live, ok := b.canPlace(folder)
	return ok && b.makeDirectories(live) == nil
}

func folderName(name string) string {
	if strings.HasSuffix(name, "/") {
		return name
	}
	return name + "/"
}

func folderNameProblem(name string, deepest int) error {
	switch {
	case name == "" || name == "/":
		return required("name")
	case len(name) > 1024 || !validName(name) || strings.HasPrefix(name, ".well-known/acme-challenge/"):
		return invalid("Invalid folder name: '%s'", strings.ToValidUTF8(name, "?"))
	case strings.Count(name, "/") > deepest:
		return invalid("The folder '%s' exceeds the maximum depth of %d.", name, deepest)
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return invalid("Invalid folder name: '%s'", name)
		}
	}
	return nil
}

const (
	deepestFolder        = 50
	deepestManagedFolder = 15
)

// needHierarchical returns the locked bucket, and refuses one without folders.
func (c *call) needHierarchical() (*bucket, error) {
	b, err := c.need()
	if err != nil {
		return nil, err
	}
	if !b.hierarchical() {
		b.mu.Unlock()
		return nil, conflict("The bucket does not support hierarchical namespace.")
	}
	return b, nil
}

// folder returns the folder of a call, up to date.
func (c *call) folder(b *bucket, name string) (*folderRecord, error) {
	if _, err := b.look(name); err != nil {
		return nil, internal(err)
	}
	f := b.folders[name]
	if f == nil {
		return nil, notFound("The specified folder does not exist.")
	}
	return f, nil
}

func (b *bucket) renderFolder(c *call, f *folderRecord) map[string]any {
	return map[string]any{
		"kind": "storage#folder", "id": b.name + "/" + f.Name, "name": f.Name, "bucket": b.name,
		"selfLink":       c.base() + apiPath + "/b/" + b.name + "/folders/" + url.PathEscape(f.Name),
		"metageneration": strconv.FormatInt(f.Metageneration, 10),
		"createTime":     stamp(f.Created), "updateTime": stamp(f.Updated),
	}
}

func (c *call) insertFolder() error {
	body, err := decodeBody(c.body, gcs.Folder{})
	if err != nil {
		return err
	}
	name := folderName(asString(body["name"]))
	if err := folderNameProblem(name, deepestFolder); err != nil {
		return err
	}
	b, err := c.needHierarchical()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	object, err := b.look(name)
	if err != nil {
		return internal(err)
	}
	if b.folders[name] != nil || object != nil {
		return conflict("The folder you tried to create already exists.")
	}
	parent, _ := parentFolder(name)
	if parent != "" && !c.flag("recursive") {
		if _, err := b.look(parent); err != nil {
			return internal(err)
		}
		if b.folders[parent] == nil {
			return conflict("The parent folder does not exist.")
		}
	}
	if err := b.makeFolders(name + "x"); err != nil {
		return internal(err)
	}
	return c.json(b.renderFolder(c, b.folders[name]))
}

// parentFolder cuts a folder's name before its last segment.
func parentFolder(name string) (string, bool) {
	i := strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/')
	return name[:i+1], i >= 0
}

func (c *call) getFolder() error {
	b, err := c.needHierarchical()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	f, err := c.folder(b, folderName(c.vars["folder"]))
	if err != nil {
		return err
	}
	if err := c.checkMetageneration("", f.Metageneration); err != nil {
		return err
	}
	return c.json(b.renderFolder(c, f))
}

func (c *call) listFolders() error {
	b, err := c.needHierarchical()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	prefix, delimiter := c.q.Get("prefix"), c.q.Get("delimiter")
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		return invalid("The prefix must be empty or end with '/'.")
	}
	if delimiter != "" && delimiter != "/" {
		return invalid("The delimiter must be '/'.")
	}
	if err := b.syncAll(); err != nil {
		return internal(err)
	}
	return c.listNamed("storage#folders", b.folderNames, func(name string) (map[string]any, bool) {
		inner := strings.TrimPrefix(name, prefix)
		if delimiter != "" && strings.Contains(strings.TrimSuffix(inner, "/"), "/") {
			return nil, false
		}
		return b.renderFolder(c, b.folders[name]), true
	})
}

// listNamed pages through sorted names.
func (c *call) listNamed(kind string, names []string, show func(string) (map[string]any, bool)) error {
	size, err := c.pageSize("pageSize")
	if err != nil {
		return err
	}
	last, err := parseCursor(c.q.Get("pageToken"))
	if err != nil {
		return err
	}
	answer := map[string]any{"kind": kind}
	var items []any
	for _, name := range names {
		if name <= last.name && last.name != "" || !strings.HasPrefix(name, c.q.Get("prefix")) || name < c.q.Get("startOffset") {
			continue
		}
		if end := c.q.Get("endOffset"); end != "" && name >= end {
			break
		}
		item, ok := show(name)
		if !ok {
			continue
		}
		if len(items) == size {
			answer["nextPageToken"] = last.token()
			break
		}
		items = append(items, item)
		last.name = name
	}
	if items != nil {
		answer["items"] = items
	}
	return c.json(answer)
}

func (c *call) deleteFolder() error {
	b, err := c.needHierarchical()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	name := folderName(c.vars["folder"])
	f, err := c.folder(b, name)
	if err != nil {
		return err
	}
	if err := c.checkMetageneration("", f.Metageneration); err != nil {
		return err
	}
	if _, _, err := b.sync(name, name, 0); err != nil {
		return internal(err)
	}
	if b.occupied(name) {
		return conflict("The folder you tried to delete is not empty.")
	}
	if err := b.removeFolder(f); err != nil {
		return internal(err)
	}
	return c.noContent()
}

// removeFolder ends a folder. Its directory stays, since a task may have it
// mounted, but stands for nothing.
func (b *bucket) removeFolder(f *folderRecord) error {
	if f.OnDisk {
		if err := b.haunt(f.Name); err != nil {
			return err
		}
	}
	return b.forgetFolder(f.Name)
}

// occupied reports whether something is in a folder: folders, objects.
func (b *bucket) occupied(name string) bool {
	if inner := b.folderFrom(name + "\x00"); strings.HasPrefix(inner, name) {
		return true
	}
	for i := b.objects.at(name); i < len(b.objects.names) && strings.HasPrefix(b.objects.names[i], name); i++ {
		v := b.objects.byName[b.objects.names[i]]
		if v.live != nil || len(v.noncurrent) > 0 {
			return true
		}
	}
	return false
}
