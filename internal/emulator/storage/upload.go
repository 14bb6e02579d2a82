// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
)

// upload takes an object's content: POST /upload/…/o.
func (c *call) upload() error {
	if c.q.Get("upload_id") != "" {
		return c.resume()
	}
	switch kind := c.q.Get("uploadType"); kind {
	case "media":
		return c.uploadMedia()
	case "multipart":
		return c.uploadMultipart()
	case "resumable":
		return c.startResumable()
	default:
		return invalid("Invalid upload type: '%s'", kind)
	}
}

// begin checks what can be checked before the content comes in, and opens a
// blob for it.
func (c *call) begin(u *upload) (*blob, error) {
	b, err := c.s.lockBucket(u.bucket)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	if err := c.checkUpload(b, u); err != nil {
		return nil, err
	}
	w, err := b.newBlob()
	if err != nil {
		return nil, internal(err)
	}
	return w, nil
}

// receive copies the content into the blob. What a client breaks off is never
// an object.
func receive(w *blob, from io.Reader) error {
	if _, err := io.Copy(w, from); err != nil {
		return failure(http.StatusBadRequest, "badRequest", "The upload was broken off: %v", err)
	}
	if err := w.done(); err != nil {
		return internal(err)
	}
	return nil
}

func (c *call) uploadMedia() error {
	u, err := c.newUpload(nil)
	if err != nil {
		return err
	}
	u.contentType = c.r.Header.Get("Content-Type")
	return c.uploadFrom(u, c.r.Body)
}

func (c *call) uploadFrom(u *upload, from io.Reader) error {
	w, err := c.begin(u)
	if err != nil {
		return err
	}
	defer w.discard()
	if err := receive(w, from); err != nil {
		return err
	}
	answer, err := c.finish(u, w)
	if err != nil {
		return err
	}
	return c.json(answer)
}

// uploadMultipart takes metadata and content in one body.
func (c *call) uploadMultipart() error {
	bad := func(err error) error {
		return failure(http.StatusBadRequest, "badContent", "Malformed multipart body: %v", err)
	}
	boundary, err := boundaryOf(c.r.Header.Get("Content-Type"))
	if err != nil {
		return bad(err)
	}
	parts := multipart.NewReader(c.r.Body, boundary)
	first, err := parts.NextRawPart()
	if err != nil {
		return bad(err)
	}
	raw, err := io.ReadAll(io.LimitReader(first, maxBody))
	if err != nil {
		return bad(err)
	}
	c.body = raw
	u, err := c.newUpload(raw)
	if err != nil {
		return err
	}
	media, err := parts.NextRawPart()
	if err != nil {
		return bad(err)
	}
	u.contentType = media.Header.Get("Content-Type")
	return c.uploadFrom(u, media)
}

// boundaryOf reads the boundary of a multipart body. One client writes it in
// single quotes, which are no quotes to the rules and hold characters that
// would need them.
func boundaryOf(contentType string) (string, error) {
	kind, rest, _ := strings.Cut(contentType, ";")
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "multipart/") {
		return "", errors.New("the content type is not multipart/related")
	}
	at := strings.Index(strings.ToLower(rest), "boundary=")
	if at < 0 {
		return "", errors.New("the content type names no boundary")
	}
	value := strings.TrimSpace(rest[at+len("boundary="):])
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end > 0 {
			return value[1 : end+1], nil
		}
	}
	value, _, _ = strings.Cut(value, ";")
	if value = strings.TrimSpace(value); value == "" {
		return "", errors.New("the boundary is empty")
	}
	return value, nil
}

// peekName is for the record of calls: the object that an upload is to make.
// What it reads of the body stays to be read.
func (c *call) peekName() (string, error) {
	switch c.q.Get("uploadType") {
	case "resumable":
		raw, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
		if err != nil {
			return "", failure(http.StatusBadRequest, "badRequest", "The upload was broken off: %v", err)
		}
		c.body = raw
	case "multipart":
		head := make([]byte, 4096)
		n, _ := io.ReadFull(c.r.Body, head)
		head = head[:n]
		c.r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), c.r.Body), c.r.Body}
		boundary, err := boundaryOf(c.r.Header.Get("Content-Type"))
		if err != nil {
			break
		}
		if first, err := multipart.NewReader(bytes.NewReader(head), boundary).NextRawPart(); err == nil {
			c.body, _ = io.ReadAll(first)
		}
	}
	if name := c.q.Get("name"); name != "" {
		return name, nil
	}
	return asString(decodeLoosely(c.body)["name"]), nil
}
