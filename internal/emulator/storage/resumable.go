// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Resumable uploads, in all the dialects that Google's clients speak: chunks of
// a known or unknown length, the whole content in one request, content that is
// streamed under `bytes 0-*/*`, questions for what has arrived, and cancelling.

const (
	// granule is what a chunk that is not the last must be a multiple of.
	granule = 256 << 10
	// sessionLife is how long a session waits for its next request.
	sessionLife = 7 * 24 * time.Hour
	// resumeIncomplete is the status of an upload that wants more.
	resumeIncomplete = 308
	clientClosed     = 499
)

// uploads are the sessions under way. They are not kept over a restart: a
// client then gets 404 and begins again, as after a session's week.
type uploads struct {
	mu   sync.Mutex
	byID map[string]*session
}

func (u *uploads) init() { u.byID = map[string]*session{} }

// session is one resumable upload.
type session struct {
	mu      sync.Mutex
	upload  *upload
	query   url.Values // the start's: preconditions hold at the end as well
	blob    *blob
	total   int64 // what the client said it would send; -1 when it did not
	expires time.Time

	answer    map[string]any // of a finished one
	cancelled bool
}

func (c *call) startResumable() error {
	u, err := c.newUpload(c.body)
	if err != nil {
		return err
	}
	u.contentType = c.r.Header.Get("X-Upload-Content-Type")
	u.expect = c.r.Header.Values("X-Goog-Hash")
	s := &session{upload: u, query: c.q, total: -1}
	if text := c.r.Header.Get("X-Upload-Content-Length"); text != "" {
		if s.total, err = strconv.ParseInt(text, 10, 64); err != nil || s.total < 0 {
			return invalid("Invalid value for X-Upload-Content-Length: %s", text)
		}
	}
	if s.blob, err = c.begin(u); err != nil {
		return err
	}
	id := c.s.uploads.add(s, c.s.clock.Now())
	location := c.base() + uploadPath + "/b/" + url.PathEscape(u.bucket) + "/o?uploadType=resumable&name=" + url.QueryEscape(u.name) + "&upload_id=" + id
	c.w.Header().Set("Location", location)
	c.w.Header().Set("X-GUploader-UploadID", id)
	c.status = http.StatusOK
	c.w.Header().Set("Content-Length", "0")
	c.w.WriteHeader(c.status)
	return nil
}

// add keeps a session and ends those that nobody went on with.
func (u *uploads) add(s *session, now time.Time) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, old := range u.byID {
		if now.After(old.expires) {
			old.blob.discard()
			delete(u.byID, id)
		}
	}
	s.expires = now.Add(sessionLife)
	id := uuid.NewString()
	u.byID[id] = s
	return id
}

func (u *uploads) find(id string, now time.Time) *session {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.byID[id]
	if s == nil || now.After(s.expires) {
		return nil
	}
	s.expires = now.Add(sessionLife)
	return s
}

// resume takes the next request of a session.
func (c *call) resume() error {
	s := c.s.uploads.find(c.q.Get("upload_id"), c.s.clock.Now())
	if s == nil || s.upload.bucket != c.vars["bucket"] {
		return notFound("Not Found")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.r.Method == http.MethodDelete && s.answer == nil {
		s.cancelled = true
		s.blob.discard()
	}
	if s.cancelled {
		return &apiError{code: clientClosed, reason: "cancelled", plain: true}
	}
	if s.answer != nil { // finished: the answer again, whatever is sent
		return c.json(s.answer)
	}
	r, err := parseContentRange(c.r.Header.Get("Content-Range"))
	if err != nil {
		return err
	}
	if r.total >= 0 {
		s.total = r.total
	}
	if err := c.append(s, r); err != nil {
		return err
	}
	have := s.blob.sum.size
	last := s.total >= 0 && have >= s.total
	if r.query && !last {
		return c.incomplete(s)
	}
	if r.open && s.total < 0 {
		last = true // the end of the body is the end of the object
	}
	if s.total >= 0 && have > s.total {
		return invalid("Invalid request.  The number of bytes uploaded is required to be equal or greater than %d, except for the final request (it's recommended to be the exact multiple of %d).", granule, granule)
	}
	if !last {
		return c.incomplete(s)
	}
	return c.complete(s)
}

func (c *call) complete(s *session) error {
	// The last request may come after the bucket, the object or the conditions
	// changed: those of the start hold to the end.
	query := c.q
	c.q = s.query
	answer, err := c.finish(s.upload, s.blob)
	c.q = query
	if err != nil {
		if e := asAPIError(err); e.code < 500 { // it will never succeed
			s.blob.discard()
			s.cancelled = true
			return e
		}
		return err
	}
	_ = s.blob.done()
	s.answer = answer
	return c.json(answer)
}

// append adds a request's content behind what is there.
func (c *call) append(s *session, r contentRange) error {
	if r.query {
		return nil
	}
	have := s.blob.sum.size
	if r.first > have {
		e := failure(http.StatusServiceUnavailable, "backendError", "Invalid request.  According to the Content-Range header, the upload offset is %d byte(s), which exceeds already uploaded size of %d byte(s).", r.first, have)
		e.plain = true
		return e
	}
	body := io.Reader(c.r.Body)
	if r.last >= 0 {
		body = io.LimitReader(body, r.last-r.first+1)
	}
	// What was sent before is skipped.
	if _, err := io.CopyN(io.Discard, body, have-r.first); err != nil {
		return c.brokenOff(s, err)
	}
	before := s.blob.sum.size
	n, err := io.Copy(s.blob, body)
	if err != nil {
		return c.brokenOff(s, err)
	}
	if r.last >= 0 && before+n < r.last+1 {
		return c.brokenOff(s, io.ErrUnexpectedEOF)
	}
	final := r.open && s.total < 0 || s.total >= 0 && s.blob.sum.size >= s.total
	if !final && s.blob.sum.size%granule != 0 {
		// Only whole granules are kept; the client is told how far it got.
		return s.cut()
	}
	return nil
}

// brokenOff ends a request whose content did not come whole. Whole granules of
// it stay, and the client can ask.
func (c *call) brokenOff(s *session, cause error) error {
	if err := s.cut(); err != nil {
		return err
	}
	return failure(http.StatusBadRequest, "badRequest", "The upload was broken off: %v", cause)
}

// cut drops what is behind the last whole granule.
func (s *session) cut() error {
	keep := s.blob.sum.size / granule * granule
	if keep == s.blob.sum.size {
		return nil
	}
	if err := s.blob.rewind(keep); err != nil {
		return internal(err)
	}
	return nil
}

// rewind keeps the first bytes and sums them again.
func (w *blob) rewind(size int64) error {
	if err := w.f.Truncate(size); err != nil {
		return err
	}
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w.sum = newDigest()
	_, err := io.Copy(w.sum, w.f) // ends behind the last byte
	return err
}

// incomplete says how far the upload is. A client that cannot bear a 308 says
// so and gets 200.
func (c *call) incomplete(s *session) error {
	h := c.w.Header()
	if have := s.blob.sum.size; have > 0 {
		h.Set("Range", "bytes=0-"+strconv.FormatInt(have-1, 10))
	}
	h.Set("Content-Length", "0")
	c.status = resumeIncomplete
	if c.r.Header.Get("X-GUploader-No-308") == "yes" {
		h.Set("X-Http-Status-Code-Override", strconv.Itoa(resumeIncomplete))
		c.status = http.StatusOK
	}
	c.w.WriteHeader(c.status)
	return nil
}

// contentRange is a Content-Range of an upload.
type contentRange struct {
	first, last int64 // last is -1 when it is not said
	total       int64 // -1 when it is not said
	query       bool  // bytes */N and bytes */*: no content
	open        bool  // bytes N-*/* and no header at all: up to the body's end
}

var contentRangeForm = regexp.MustCompile(`^bytes (?:(\*)|(\d{1,18})-(\d{1,18}|\*))/(\d{1,18}|\*)$`)

func parseContentRange(header string) (contentRange, error) {
	r := contentRange{last: -1, total: -1}
	if header == "" {
		r.open = true
		return r, nil
	}
	m := contentRangeForm.FindStringSubmatch(header)
	if m == nil {
		e := invalid("Failed to parse Content-Range header.")
		e.plain = true
		return r, e
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return -1 // *
		}
		return n
	}
	r.total = number(m[4])
	if m[1] == "*" {
		r.query = true
		return r, nil
	}
	r.first, r.last = number(m[2]), number(m[3])
	r.open = r.last < 0
	if !r.open && (r.last < r.first || r.total >= 0 && r.last >= r.total) {
		e := invalid("Failed to parse Content-Range header.")
		e.plain = true
		return r, e
	}
	return r, nil
}
