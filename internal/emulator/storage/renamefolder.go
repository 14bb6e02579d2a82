// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// renameOperation is a rename of a folder. It is done before it is answered.
type renameOperation struct {
	id                  string
	source, destination string
	began               time.Time
	created, updated    time.Time // of the folder
}

const controlType = "type.googleapis.com/google.storage.control.v2."

func (b *bucket) renderOperation(c *call, o renameOperation) map[string]any {
	name := "projects/_/buckets/" + b.name + "/operations/" + o.id
	return map[string]any{
		"kind": "storage#operation", "name": name, "done": true,
		"selfLink": c.base() + apiPath + "/b/" + b.name + "/operations/" + o.id,
		"metadata": map[string]any{
			"@type":          controlType + "RenameFolderMetadata",
			"sourceFolderId": o.source, "destinationFolderId": o.destination,
			"commonMetadata": map[string]any{
				"type": "rename-folder", "createTime": stamp(o.began), "updateTime": stamp(o.began), "endTime": stamp(o.began),
				"progressPercent": 100, "requestedCancellation": false,
			},
		},
		"response": map[string]any{
			"@type": controlType + "Folder", "name": "projects/_/buckets/" + b.name + "/folders/" + o.destination,
			"metageneration": "1", "createTime": stamp(o.created), "updateTime": stamp(o.updated),
		},
	}
}

func (c *call) getOperation() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.renames, func(o renameOperation) bool { return o.id == c.vars["operation"] })
	if i < 0 {
		return notFound("The specified operation does not exist.")
	}
	return c.json(b.renderOperation(c, b.renames[i]))
}

func (c *call) listOperations() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	answer := map[string]any{"kind": "storage#operations"}
	var items []any
	for _, o := range b.renames {
		items = append(items, b.renderOperation(c, o))
	}
	if items != nil {
		answer["operations"] = items
	}
	return c.json(answer)
}

func (c *call) renameFolder() error {
	source, target := folderName(c.vars["folder"]), folderName(c.vars["target"])
	if err := folderNameProblem(target, deepestFolder); err != nil {
		return err
	}
	b, err := c.needHierarchical()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	f, err := c.folder(b, source)
	if err != nil {
		return err
	}
	if err := c.checkMetageneration("Source", f.Metageneration); err != nil {
		return err
	}
	if strings.HasPrefix(target, source) {
		return invalid("The destination folder must not be within the source folder.")
	}
	object, err := b.look(target)
	if err != nil {
		return internal(err)
	}
	if b.folders[target] != nil || object != nil {
		return conflict("The folder you tried to create already exists.")
	}
	if parent, ok := parentFolder(target); ok && b.folders[parent] == nil {
		return conflict("The parent folder does not exist.")
	}
	if _, _, err := b.sync(source, source, 0); err != nil {
		return internal(err)
	}
	if err := b.moveTree(source, target); err != nil {
		return internal(err)
	}
	moved := b.folders[target]
	moved.Updated = b.s.clock.Now().UTC()
	if err := b.saveFolder(moved); err != nil {
		return internal(err)
	}
	o := renameOperation{
		id: uuid.NewString(), source: source, destination: target,
		began: moved.Updated, created: moved.Created, updated: moved.Updated,
	}
	b.renames = append(b.renames, o)
	return c.json(b.renderOperation(c, o))
}

// moveTree gives everything in a folder, and the folder, its new name. Objects
// keep their generations.
func (b *bucket) moveTree(source, target string) error {
	onDisk, err := b.moveDirectory(source, target)
	if err != nil {
		return err
	}
	var objects []*objectRecord
	for _, name := range b.objects.names[b.objects.at(source):] {
		if !strings.HasPrefix(name, source) {
			break
		}
		if r := b.objects.live(name); r != nil {
			objects = append(objects, r)
		}
	}
	for _, r := range objects {
		b.objects.remove(r)
		if err := b.s.store.Delete(b.objectKey(r)); err != nil {
			return err
		}
		r.Name = target + strings.TrimPrefix(r.Name, source)
		b.objects.add(r)
		if err := b.saveObject(r); err != nil {
			return err
		}
	}
	for _, name := range slices.Clone(b.folderNames) {
		inner, ok := strings.CutPrefix(name, source)
		if !ok {
			continue
		}
		f := b.folders[name]
		if err := b.forgetFolder(name); err != nil {
			return err
		}
		f.Name, f.OnDisk = target+inner, f.OnDisk && onDisk
		if err := b.saveFolder(f); err != nil {
			return err
		}
	}
	return nil
}

// moveDirectory renames the directory of a folder in one step, as the mount
// shows it. Where the new name can have none, the files become blobs.
func (b *bucket) moveDirectory(source, target string) (bool, error) {
	from, ok := livePath(source)
	if !ok || b.folders[source] == nil || !b.folders[source].OnDisk {
		return false, nil
	}
	to, ok := b.canPlace(target)
	if ok {
		if err := b.makeDirectories(path.Dir(to)); err != nil {
			return false, err
		}
		// An empty directory that stands for nothing is not in the way.
		if err := b.dir.Remove(to); err == nil || errors.Is(err, fs.ErrNotExist) {
			return true, errors.Join(b.unmark(target), b.dir.Rename(from, to))
		}
	}
	for _, name := range b.objects.names[b.objects.at(source):] {
		if !strings.HasPrefix(name, source) {
			break
		}
		r := b.objects.live(name)
		if r == nil || r.File == nil {
			continue
		}
		if err := b.keepCopy(r); err != nil {
			return false, err
		}
		if err := b.unplace(r); err != nil {
			return false, err
		}
		r.File = nil
	}
	return false, b.haunt(source)
}
