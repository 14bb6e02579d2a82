// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"io"
	"strconv"
	"strings"

	gcs "google.golang.org/api/storage/v1"
)

// source is an object that another one is made from: a copy of its record and
// its content, open, so that its bucket need not stay locked.
type source struct {
	objectRecord
	content
}

// read opens the source of a copy.
func (c *call) readSource(bucketName, name, parameter string) (*source, error) {
	b, err := c.s.lockBucket(bucketName)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	r, err := c.pick(b, name, parameter)
	if err != nil {
		return nil, err
	}
	if err := c.checkObject("Source", r); err != nil {
		return nil, err
	}
	body, err := b.open(r)
	if err != nil {
		return nil, internal(err)
	}
	out := &source{*r, body}
	out.Meta = cloneMap(r.Meta)
	return out, nil
}

// copied is the metadata of a copy: what the body says when it says anything,
// else the source's.
func (s *source) copied(body map[string]any) (map[string]any, error) {
	meta := map[string]any{}
	for _, k := range settable {
		if v := s.Meta[k]; v != nil && !strings.HasSuffix(k, "Hold") && k != "retention" && k != "kmsKeyName" {
			meta[k] = clone(v)
		}
	}
	given := false
	for k := range body {
		given = given || k != "kind" && k != "name" && k != "bucket"
	}
	if !given {
		delete(meta, "storageClass") // the destination's own
		return meta, nil
	}
	return objectMeta(map[string]any{}, body)
}

func (c *call) copyObject() error {
	answer, _, err := c.copyTo()
	if err != nil {
		return err
	}
	return c.json(answer)
}

// rewriteObject always ends in its first answer.
func (c *call) rewriteObject() error {
	answer, size, err := c.copyTo()
	if err != nil {
		return err
	}
	text := strconv.FormatInt(size, 10)
	return c.json(map[string]any{
		"kind": "storage#rewriteResponse", "done": true,
		"objectSize": text, "totalBytesRewritten": text, "resource": answer,
	})
}

func (c *call) copyTo() (map[string]any, int64, error) {
	body, err := decodeObject(c.body)
	if err != nil {
		return nil, 0, err
	}
	dropNulls(body)
	from, err := c.readSource(c.vars["bucket"], c.vars["object"], "sourceGeneration")
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = from.Close() }()
	meta, err := from.copied(body)
	if err != nil {
		return nil, 0, err
	}
	if key := c.q.Get("destinationKmsKeyName"); key != "" {
		meta["kmsKeyName"] = key + "/cryptoKeyVersions/1"
	}
	u := &upload{bucket: c.vars["destination"], name: c.vars["target"], meta: meta, body: map[string]any{}}
	if err := objectNameProblem(u.name); err != nil {
		return nil, 0, err
	}
	answer, err := c.write(u, func(w *blob) error {
		_, err := io.Copy(w, io.NewSectionReader(from, 0, from.Size))
		return err
	}, func(r *objectRecord) {
		if from.MD5 == nil {
			r.MD5, r.Components = nil, from.Components
		}
	})
	return answer, from.Size, err
}

// write makes an object of what fill writes.
func (c *call) write(u *upload, fill func(*blob) error, adjust func(*objectRecord)) (map[string]any, error) {
	w, err := c.begin(u)
	if err != nil {
		return nil, err
	}
	defer w.discard()
	if err := fill(w); err != nil {
		return nil, internal(err)
	}
	if err := w.done(); err != nil {
		return nil, internal(err)
	}
	b, err := c.s.lockBucket(u.bucket)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	if b != w.b {
		return nil, noBucket()
	}
	if err := c.checkUpload(b, u); err != nil {
		return nil, err
	}
	r := &objectRecord{Name: u.name, Meta: u.meta}
	w.sum.into(r)
	adjust(r)
	if err := b.put(r, w); err != nil {
		return nil, internal(err)
	}
	return b.renderObject(c, r), nil
}

func (c *call) composeObject() error {
	body, err := decodeBody(c.body, gcs.ComposeRequest{})
	if err != nil {
		return err
	}
	dropNulls(body)
	names := asList(body["sourceObjects"])
	if len(names) == 0 || len(names) > 32 {
		return invalid("The number of source components provided (%d) must be between 1 and 32.", len(names))
	}
	meta, err := objectMeta(map[string]any{}, asMap(body["destination"]))
	if err != nil {
		return err
	}
	u := &upload{bucket: c.vars["bucket"], name: c.vars["object"], meta: meta, body: map[string]any{}}
	if err := objectNameProblem(u.name); err != nil {
		return err
	}
	var parts []*source
	defer func() {
		for _, p := range parts {
			_ = p.Close()
		}
	}()
	components := 0
	for _, item := range names {
		p, err := c.component(asMap(item))
		if err != nil {
			return err
		}
		parts = append(parts, p)
		components += max(p.Components, 1)
	}
	answer, err := c.write(u, func(w *blob) error {
		for _, p := range parts {
			if _, err := io.Copy(w, io.NewSectionReader(p, 0, p.Size)); err != nil {
				return err
			}
		}
		return nil
	}, func(r *objectRecord) { r.MD5, r.Components = nil, components })
	if err != nil {
		return err
	}
	if asBool(body["deleteSourceObjects"]) {
		if err := c.deleteParts(parts, u.name); err != nil {
			return err
		}
	}
	return c.json(answer)
}

// component opens one source of a composition; its generation is in the body.
func (c *call) component(item map[string]any) (*source, error) {
	b, err := c.need()
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	name := asString(item["name"])
	r, err := b.look(name)
	if err != nil {
		return nil, internal(err)
	}
	if want := asInt(item["generation"]); want != 0 && (r == nil || r.Generation != want) {
		r = nil
		if v := b.objects.byName[name]; v != nil {
			for _, old := range v.noncurrent {
				if old.Generation == want {
					r = old
				}
			}
		}
	}
	if r == nil {
		return nil, noObject(b.name, name)
	}
	if want, ok := asMap(item["objectPreconditions"])["ifGenerationMatch"]; ok && asInt(want) != r.Generation {
		return nil, preconditionFailed()
	}
	body, err := b.open(r)
	if err != nil {
		return nil, internal(err)
	}
	return &source{*r, body}, nil
}

func (c *call) deleteParts(parts []*source, target string) error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	for _, p := range parts {
		r := b.objects.live(p.Name)
		if r == nil || r.Generation != p.Generation || p.Name == target {
			continue
		}
		if err := b.drop(r); err != nil {
			return internal(err)
		}
	}
	return nil
}

// moveObject renames an object within its bucket, in one step.
func (c *call) moveObject() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	name, target := c.vars["object"], c.vars["target"]
	if err := objectNameProblem(target); err != nil {
		return err
	}
	r, err := b.look(name)
	if err != nil {
		return internal(err)
	}
	if r == nil {
		return noObject(b.name, name)
	}
	if err := c.checkObject("Source", r); err != nil {
		return err
	}
	if err := held(r); err != nil {
		return err
	}
	there, err := b.look(target)
	if err != nil {
		return internal(err)
	}
	if err := c.checkObject("", there); err != nil {
		return err
	}
	if err := held(there); err != nil {
		return err
	}
	if name == target {
		return invalid("The source and destination object names must be different.")
	}
	w, err := b.copyOf(r)
	if err != nil {
		return internal(err)
	}
	defer w.discard()
	moved := &objectRecord{Name: target, Meta: cloneMap(r.Meta), Components: r.Components}
	w.sum.into(moved)
	if r.MD5 == nil {
		moved.MD5 = nil
	}
	if err := b.put(moved, w); err != nil {
		return internal(err)
	}
	if err := b.drop(r); err != nil {
		return internal(err)
	}
	return c.json(b.renderObject(c, moved))
}

// restoreObject makes a new generation of a soft-deleted one, which stays.
func (c *call) restoreObject() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	r, err := c.softDeleted(b)
	if err != nil {
		return err
	}
	live, err := b.look(r.Name)
	if err != nil {
		return internal(err)
	}
	if err := c.checkObject("", live); err != nil {
		return err
	}
	if err := held(live); err != nil {
		return err
	}
	w, err := b.copyOf(r)
	if err != nil {
		return internal(err)
	}
	defer w.discard()
	restored := &objectRecord{Name: r.Name, Meta: cloneMap(r.Meta), Components: r.Components}
	w.sum.into(restored)
	if r.MD5 == nil {
		restored.MD5 = nil
	}
	if err := b.put(restored, w); err != nil {
		return internal(err)
	}
	return c.json(b.renderObject(c, restored))
}
