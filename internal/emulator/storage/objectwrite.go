// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	gcs "google.golang.org/api/storage/v1"
)

// settable are the fields of an object that a caller decides.
var settable = []string{
	"cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "contexts",
	"customTime", "eventBasedHold", "metadata", "retention", "storageClass", "temporaryHold", "kmsKeyName",
}

// decodeObject reads an object's metadata from a body.
func decodeObject(raw []byte) (map[string]any, error) { return decodeBody(raw, gcs.Object{}) }

// objectMeta takes over what a caller may set; nulls remove.
func objectMeta(into, body map[string]any) (map[string]any, error) {
	for _, k := range settable {
		v, ok := body[k]
		if !ok {
			continue
		}
		switch k {
		case "storageClass":
			class, known := storageClass(asString(v))
			if v != nil && !known {
				return nil, invalid("Invalid storage class \"%s\"", asString(v))
			}
			v = class
			if class == "" {
				v = nil
			}
		case "customTime":
			if t, err := time.Parse(time.RFC3339, asString(v)); err == nil {
				v = stamp(t)
			} else if v != nil {
				return nil, invalid("Invalid value for: Invalid format: \"%s\"", asString(v))
			}
		}
		merge(into, map[string]any{k: v})
		if m, ok := into[k].(map[string]any); ok && len(m) == 0 {
			delete(into, k)
		}
	}
	return into, nil
}

// upload is an object that is being written.
type upload struct {
	bucket, name string
	meta         map[string]any // the settable fields
	body         map[string]any // all that was sent
	contentType  string         // of the media, when the metadata names none
	expect       []string       // values of X-Goog-Hash
}

// newUpload reads what a call says of the object that it writes.
func (c *call) newUpload(raw []byte) (*upload, error) {
	body, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	dropNulls(body)
	u := &upload{bucket: c.vars["bucket"], name: asString(body["name"]), body: body}
	if name := c.q.Get("name"); name != "" {
		u.name = name
	}
	if err := objectNameProblem(u.name); err != nil {
		return nil, err
	}
	if u.meta, err = objectMeta(map[string]any{}, body); err != nil {
		return nil, err
	}
	if v := c.q.Get("contentEncoding"); v != "" {
		u.meta["contentEncoding"] = v
	}
	if key := c.q.Get("kmsKeyName"); key != "" {
		u.meta["kmsKeyName"] = key
	}
	if key := asString(u.meta["kmsKeyName"]); key != "" {
		if !kmsKey.MatchString(key) {
			return nil, invalid("Malformed Cloud KMS crypto key: %s", key)
		}
		u.meta["kmsKeyName"] = key + "/cryptoKeyVersions/1"
	}
	if c.r.Header.Get("X-Goog-Encryption-Algorithm") != "" {
		return nil, unimplemented("customer-supplied encryption keys")
	}
	return u, nil
}

// check holds the upload to its bucket and preconditions, before and after the
// content came in.
func (c *call) checkUpload(b *bucket, u *upload) error {
	if b.uniformAccess() && (c.q.Get("predefinedAcl") != "" || u.body["acl"] != nil) {
		return invalid("Cannot insert legacy ACL for an object when uniform bucket-level access is enabled. %s", uniformHelp)
	}
	live, err := b.look(u.name)
	if err != nil {
		return internal(err)
	}
	if err := c.checkObject("", live); err != nil {
		return err
	}
	return held(live)
}

// finish makes the uploaded content the live generation and answers with it.
func (c *call) finish(u *upload, w *blob) (map[string]any, error) {
	if err := u.verify(w.sum, c.r.Header.Values("X-Goog-Hash")); err != nil {
		return nil, err
	}
	b, err := c.s.lockBucket(u.bucket)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	if b != w.b { // the bucket was deleted and made anew meanwhile
		return nil, noBucket()
	}
	if err := c.checkUpload(b, u); err != nil {
		return nil, err
	}
	r := &objectRecord{Name: u.name, Meta: u.meta}
	if u.contentType != "" && r.Meta["contentType"] == nil {
		r.Meta["contentType"] = u.contentType
	}
	w.sum.into(r)
	if err := b.put(r, w); err != nil {
		return nil, internal(err)
	}
	return b.renderObject(c, r), nil
}

// verify compares the content with every checksum that the client sent.
func (u *upload) verify(sum *digest, header []string) error {
	md5Sum := base64.StdEncoding.EncodeToString(sum.md5.Sum(nil))
	crcSum := encodeCRC(sum.crc.Sum32())
	wantMD5, wantCRC := []string{asString(u.body["md5Hash"])}, []string{asString(u.body["crc32c"])}
	for _, line := range slices.Concat(u.expect, header) {
		for item := range strings.SplitSeq(line, ",") {
			kind, value, _ := strings.Cut(strings.TrimSpace(item), "=")
			switch kind {
			case "md5":
				wantMD5 = append(wantMD5, value)
			case "crc32c":
				wantCRC = append(wantCRC, value)
			}
		}
	}
	for _, want := range wantMD5 {
		if want != "" && want != md5Sum {
			return invalid("Provided MD5 hash \"%s\" doesn't match calculated MD5 hash \"%s\".", want, md5Sum)
		}
	}
	for _, want := range wantCRC {
		if want != "" && want != crcSum {
			return invalid("Provided CRC32C \"%s\" doesn't match calculated CRC32C \"%s\".", want, crcSum)
		}
	}
	return nil
}

// patchObject merges, updateObject replaces what can be set.
func (c *call) patchObject() error { return c.changeObject(true) }

func (c *call) updateObject() error { return c.changeObject(false) }

func (c *call) changeObject(keep bool) error {
	body, err := decodeObject(c.body)
	if err != nil {
		return err
	}
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	r, err := c.pick(b, c.vars["object"], "generation")
	if err != nil {
		return err
	}
	if err := c.checkObject("", r); err != nil {
		return err
	}
	if b.uniformAccess() && (c.q.Get("predefinedAcl") != "" || len(asList(body["acl"])) > 0) {
		return invalid("Cannot update access control for an object when uniform bucket-level access is enabled. %s", uniformHelp)
	}
	from := map[string]any{"storageClass": r.Meta["storageClass"]}
	if key := r.Meta["kmsKeyName"]; key != nil {
		from["kmsKeyName"] = key
	}
	if keep {
		from = cloneMap(r.Meta)
	}
	// Neither can be changed without writing the content again.
	delete(body, "storageClass")
	delete(body, "kmsKeyName")
	meta, err := objectMeta(from, body)
	if err != nil {
		return err
	}
	r.Meta = meta
	r.Metageneration++
	r.Updated = b.s.clock.Now().UTC()
	if err := b.saveObject(r); err != nil {
		return internal(err)
	}
	return c.json(b.renderObject(c, r))
}

func (c *call) deleteObject() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	r, err := c.pick(b, c.vars["object"], "generation")
	if err != nil {
		return err
	}
	if err := c.checkObject("", r); err != nil {
		return err
	}
	if err := held(r); err != nil {
		return err
	}
	switch {
	case r.NoncurrentAt == nil && c.q.Get("generation") == "":
		err = b.drop(r)
	case r.NoncurrentAt == nil: // a generation that is named is deleted for good
		if err = b.unplace(r); err == nil {
			b.objects.remove(r)
			err = b.discard(r, b.s.clock.Now().UTC())
		}
	default:
		b.objects.remove(r)
		err = b.discard(r, b.s.clock.Now().UTC())
	}
	if err != nil {
		return internal(err)
	}
	return c.noContent()
}

// insertObject without an upload path is a mistake that clients make.
func (c *call) insertObject() error {
	return failure(http.StatusBadRequest, "wrongUrlForUpload", "Upload requests must include an uploadType URL parameter and a URL path beginning with /upload/")
}
