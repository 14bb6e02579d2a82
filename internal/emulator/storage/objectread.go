// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// xmlRead is the XML API's GET and HEAD of an object, by which some clients of
// the JSON API read.
var xmlRead = route{prefixXML, "GET", "", "storage.objects.get", "storage.objects.get", (*call).readXML, false}

func (c *call) getObject() error {
	if c.q.Get("alt") == "media" {
		return c.download()
	}
	b, err := c.need()
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if c.flag("softDeleted") {
		return c.getSoftDeleted(b)
	}
	r, err := c.pick(b, c.vars["object"], "generation")
	if err != nil {
		return err
	}
	if err := c.checkObject("", r); err != nil {
		return err
	}
	return c.json(b.renderObject(c, r))
}

func (c *call) getSoftDeleted(b *bucket) error {
	r, err := c.softDeleted(b)
	if err != nil {
		return err
	}
	if err := c.checkObject("", r); err != nil {
		return err
	}
	return c.json(b.renderObject(c, r))
}

// softDeleted returns the soft-deleted generation that a call names.
func (c *call) softDeleted(b *bucket) (*objectRecord, error) {
	generation, ok, err := c.number("generation")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, required("generation")
	}
	if b.softDelete() == 0 {
		return nil, invalid("Soft delete policy is required.")
	}
	if err := b.expire(); err != nil {
		return nil, err
	}
	if v := b.objects.byName[c.vars["object"]]; v != nil {
		for _, r := range v.deleted {
			if r.Generation == generation {
				return r, nil
			}
		}
	}
	return nil, noObject(b.name, c.vars["object"])
}

// readXML reads with the headers of the XML API.
func (c *call) readXML() error {
	for header, parameter := range map[string]string{
		"X-Goog-If-Generation-Match": "ifGenerationMatch", "X-Goog-If-Metageneration-Match": "ifMetagenerationMatch",
	} {
		if v := c.r.Header.Get(header); v != "" {
			c.q.Set(parameter, v)
		}
	}
	err := c.download()
	if err == nil {
		return nil
	}
	e := asAPIError(err)
	if e.code == http.StatusNotModified || c.status != 0 {
		return e
	}
	// That API speaks XML; its clients read the status and the code.
	code := map[int]string{404: "NoSuchKey", 412: "PreconditionFailed", 403: "AccessDenied", 416: "InvalidRange"}[e.code]
	if e.message == noBucket().message {
		code = "NoSuchBucket"
	}
	if code == "" {
		code = "InvalidArgument"
	}
	c.status = e.code
	c.w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
	c.w.WriteHeader(e.code)
	if c.r.Method != http.MethodHead {
		_, _ = io.WriteString(c.w, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>"+code+"</Code><Message>"+xmlText.Replace(e.message)+"</Message></Error>")
	}
	return nil
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// download answers the content of an object, or one range of it.
func (c *call) download() error {
	b, err := c.need()
	if err != nil {
		return err
	}
	r, body, err := c.openForDownload(b)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	h := c.w.Header()
	for header, field := range map[string]string{
		"Cache-Control": "cacheControl", "Content-Disposition": "contentDisposition",
		"Content-Language": "contentLanguage", "Content-Type": "contentType",
	} {
		if v := asString(r.Meta[field]); v != "" {
			h.Set(header, v)
		}
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/octet-stream")
	}
	h.Set("ETag", objectEtag(&r))
	h.Set("Last-Modified", r.Updated.UTC().Format(http.TimeFormat))
	h.Set("X-Goog-Generation", strconv.FormatInt(r.Generation, 10))
	h.Set("X-Goog-Metageneration", strconv.FormatInt(r.Metageneration, 10))
	h.Set("X-Goog-Storage-Class", asString(r.Meta["storageClass"]))
	h.Set("X-Goog-Stored-Content-Length", strconv.FormatInt(r.Size, 10))
	h.Set("X-Goog-Stored-Content-Encoding", "identity")
	h.Add("X-Goog-Hash", "crc32c="+encodeCRC(r.CRC32C))
	if r.MD5 != nil {
		h.Add("X-Goog-Hash", "md5="+base64.StdEncoding.EncodeToString(r.MD5))
	}
	for k, v := range asMap(r.Meta["metadata"]) {
		if text := asString(v); validHeader(k) && validHeader(text) {
			h.Set("X-Goog-Meta-"+k, text)
		}
	}
	if encoding := asString(r.Meta["contentEncoding"]); encoding != "" {
		h.Set("X-Goog-Stored-Content-Encoding", encoding)
		if encoding == "gzip" && !strings.Contains(c.r.Header.Get("Accept-Encoding"), "gzip") {
			return c.downloadUnpacked(&r, body)
		}
		h.Set("Content-Encoding", encoding)
	}
	return c.downloadRange(&r, body)
}

func validHeader(text string) bool { return text != "" && !strings.ContainsAny(text, "\r\n: ") }

// openForDownload returns a copy of the record: it is read without the lock.
func (c *call) openForDownload(b *bucket) (objectRecord, content, error) {
	r, err := c.pick(b, c.vars["object"], "generation")
	if err != nil {
		return objectRecord{}, nil, err
	}
	if err := c.checkObject("", r); err != nil {
		return objectRecord{}, nil, err
	}
	body, err := b.open(r)
	if err != nil {
		return objectRecord{}, nil, internal(err)
	}
	out := *r
	out.Meta = cloneMap(r.Meta)
	return out, body, nil
}

// downloadUnpacked serves what is stored compressed to a client that cannot
// read that: whole, without a length.
func (c *call) downloadUnpacked(r *objectRecord, body content) error {
	unpacked, err := gzip.NewReader(io.NewSectionReader(body, 0, r.Size))
	if err != nil {
		return c.downloadRange(r, body) // not what its metadata says: as it is
	}
	c.w.Header().Set("Warning", `214 UploadServer gunzipped`)
	c.status = http.StatusOK
	c.w.WriteHeader(c.status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(c.w, unpacked)
	return err
}

func (c *call) downloadRange(r *objectRecord, body content) error {
	first, length, partial, err := byteRange(c.r.Header.Get("Range"), r.Size)
	h := c.w.Header()
	h.Set("Accept-Ranges", "bytes")
	if err != nil {
		h.Set("Content-Range", "bytes */"+strconv.FormatInt(r.Size, 10))
		return err
	}
	c.status = http.StatusOK
	if partial {
		c.status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.FormatInt(first, 10)+"-"+strconv.FormatInt(first+length-1, 10)+"/"+strconv.FormatInt(r.Size, 10))
	}
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	c.w.WriteHeader(c.status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_, err = io.CopyN(c.w, io.NewSectionReader(body, first, length), length)
	return err
}

// byteRange reads a Range header of one range. Headers of another form are as
// good as none.
func byteRange(header string, size int64) (first, length int64, partial bool, err error) {
	spec, ok := strings.CutPrefix(header, "bytes=")
	from, to, dash := strings.Cut(spec, "-")
	if !ok || !dash || strings.Contains(spec, ",") {
		return 0, size, false, nil
	}
	outside := failure(http.StatusRequestedRangeNotSatisfiable, "requestedRangeNotSatisfiable", "Request range not satisfiable")
	if from == "" {
		n, err := strconv.ParseInt(to, 10, 64)
		if err != nil {
			return 0, size, false, nil //nolint:nilerr // another form
		}
		if n == 0 || size == 0 {
			return 0, 0, false, outside
		}
		n = min(n, size)
		return size - n, n, true, nil
	}
	if first, err = strconv.ParseInt(from, 10, 64); err != nil || first < 0 {
		return 0, size, false, nil //nolint:nilerr // another form
	}
	last := size - 1
	if to != "" {
		n, err := strconv.ParseInt(to, 10, 64)
		if err != nil || n < first {
			return 0, size, false, nil //nolint:nilerr // another form
		}
		last = min(n, last)
	}
	if first >= size {
		return 0, 0, false, outside
	}
	return first, last - first + 1, true, nil
}
