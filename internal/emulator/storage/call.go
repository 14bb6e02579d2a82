// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// maxBody is the most that a JSON body may hold, in bytes.
const maxBody = 8 << 20

// call is one request on its way.
type call struct {
	s     *Service
	w     http.ResponseWriter
	r     *http.Request
	q     url.Values
	route *route
	vars  map[string]string
	body  []byte
	// status is what was answered; 0 before.
	status int
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "UploadServer")
	rt, vars := find(r)
	if rt == nil {
		notFound("Not Found").write(w, r)
		return
	}
	c := &call{s: s, w: w, r: r, q: r.URL.Query(), route: rt, vars: vars}
	if !rt.stream {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			failure(http.StatusRequestEntityTooLarge, "uploadTooLarge", "Request payload size exceeds the limit: %d bytes.", maxBody).write(w, r)
			return
		}
		c.body = body
	}
	c.serve()
}

func (c *call) serve() {
	id := c.route.id
	if c.route.prefix == prefixUpload && c.q.Get("upload_id") != "" {
		id = methodChunk
	}
	resource := c.vars["bucket"]
	switch id { // the name of what is to be made is in the body
	case "storage.buckets.insert":
		resource = asString(decodeLoosely(c.body)["name"])
	case "storage.folders.insert", "storage.managedFolders.insert":
		resource += "/" + asString(decodeLoosely(c.body)["name"])
	}
	for _, name := range []string{"object", "folder"} {
		if v := c.vars[name]; v != "" {
			resource += "/" + v
		}
	}
	if id == "storage.objects.insert" && c.route.stream {
		name, err := c.peekName()
		if err != nil {
			c.fail(asAPIError(err))
			return
		}
		resource += "/" + name
	}
	ctx, done, err := c.s.script.Begin(c.r.Context(), faults.Call{
		Method: id, Resource: resource, Body: c.body, Query: c.q, UserAgent: c.r.UserAgent(),
	})
	if errors.Is(err, faults.ErrCut) {
		return
	}
	if err != nil {
		c.fail(asAPIError(err))
		return
	}
	c.r = c.r.WithContext(ctx)
	err = c.answer()
	if why, ok := status.FromError(context.Cause(ctx)); err != nil && ctx.Err() != nil && ok {
		err = why.Err() // of whoever ended the call
	}
	if err != nil && c.status != 0 {
		// The answer is under way: all that is left is to cut it off.
		done(codes.Unavailable)
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		c.fail(asAPIError(err))
	}
	code := CodeOf(c.status)
	if ctx.Err() != nil {
		code = codes.Canceled
	}
	done(code)
}

func (c *call) answer() error {
	name := c.vars["bucket"]
	if name != "" {
		c.s.mu.RLock()
		foreign := c.s.foreign[name]
		c.s.mu.RUnlock()
		if foreign {
			return c.noAccess(c.route.permission)
		}
	}
	if p := c.route.permission; p != "" && c.s.isDenied(name, p) {
		return c.noAccess(p)
	}
	return c.s.repeats.serve(c, c.route.handle)
}

// noAccess is the refusal of a caller without the permission.
func (c *call) noAccess(permission string) error {
	if permission == "" {
		permission = "storage.buckets.get"
	}
	what := "bucket"
	if c.vars["object"] != "" {
		what = "object"
	}
	return forbidden("The caller does not have %s access to the Google Cloud Storage %s. Permission '%s' denied on resource (or it may not exist).", permission, what, permission)
}

func (c *call) fail(e *apiError) {
	c.status = e.code
	e.write(c.w, c.r)
}

// json answers with v, reduced to the fields that the caller asked for.
func (c *call) json(v map[string]any) error {
	if want := c.q.Get("fields"); want != "" {
		mask, err := parseFields(want)
		if err != nil {
			return err
		}
		v = mask.apply(v)
	}
	c.status = http.StatusOK
	writeJSON(c.w, c.status, v)
	return nil
}

func (c *call) noContent() error {
	c.status = http.StatusNoContent
	c.w.WriteHeader(c.status)
	return nil
}

// need returns the bucket of the path, locked. The caller unlocks it.
func (c *call) need() (*bucket, error) { return c.s.lockBucket(c.vars["bucket"]) }

func (s *Service) lockBucket(name string) (*bucket, error) {
	b := s.bucket(name)
	if b == nil {
		return nil, noBucket()
	}
	b.mu.Lock()
	if b.deleted {
		b.mu.Unlock()
		return nil, noBucket()
	}
	return b, nil
}

// flag reads a boolean parameter; one client writes True.
func (c *call) flag(name string) bool {
	v, err := strconv.ParseBool(c.q.Get(name))
	return err == nil && v
}

// number reads an integer parameter and whether it is there.
func (c *call) number(name string) (int64, bool, error) {
	text := c.q.Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false, failure(http.StatusBadRequest, "invalidParameter", "Invalid value '%s'. Values must be integers: parameter %s.", text, name)
	}
	return n, true, nil
}

// pageSize reads maxResults or pageSize, at most and by custom 1000.
func (c *call) pageSize(name string) (int, error) {
	const most = 1000
	n, ok, err := c.number(name)
	if err != nil {
		return 0, err
	}
	if !ok || n > most {
		return most, nil
	}
	if n < 1 {
		return 0, failure(http.StatusBadRequest, "invalidParameter", "Invalid value '%d'. Values must be within the range: [1, 1000]", n)
	}
	return int(n), nil
}

// base is where the emulator was reached, for links that clients follow.
func (c *call) base() string {
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.r.Host
}

// stamp is how Cloud Storage writes a time.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
