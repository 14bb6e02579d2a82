// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// repeatWindow is how long a repeated write is known again.
const repeatWindow = 2 * time.Minute

// repeatable are the writes whose repeat, with the idempotency token of the
// first, gets the first one's answer and is not done again. A bucket's are not
// among them.
var repeatable = []string{"storage.objects.insert", "storage.objects.patch", "storage.objects.move", "storage.objects.delete"}

// repeats remembers the answers of successful writes by their token.
type repeats struct {
	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	until  time.Time
	status int
	header http.Header
	body   []byte
}

func (r *repeats) init() { r.kept = map[string]kept{} }

// serve answers a call, from memory when it is a repeat.
func (r *repeats) serve(c *call, handle func(*call) error) error {
	token := c.r.Header.Get("X-Goog-Gcs-Idempotency-Token")
	if token == "" || !slices.Contains(repeatable, c.route.id) || c.q.Get("upload_id") != "" || c.q.Get("uploadType") == "resumable" {
		return handle(c)
	}
	key := token + " " + c.r.Method + " " + c.r.URL.EscapedPath() + "?" + c.r.URL.RawQuery
	now := c.s.clock.Now()
	r.mu.Lock()
	for k, v := range r.kept {
		if now.After(v.until) {
			delete(r.kept, k)
		}
	}
	old, again := r.kept[key]
	r.mu.Unlock()
	if again {
		maps.Copy(c.w.Header(), old.header)
		c.status = old.status
		c.w.WriteHeader(old.status)
		_, err := c.w.Write(old.body)
		return err
	}
	copied := &copying{ResponseWriter: c.w}
	c.w = copied
	err := handle(c)
	c.w = copied.ResponseWriter
	if err == nil && c.status < 300 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.kept[key] = kept{now.Add(repeatWindow), c.status, c.w.Header().Clone(), copied.body}
	}
	return err
}

// copying keeps a copy of an answer.
type copying struct {
	http.ResponseWriter
	body []byte
}

func (c *copying) Write(p []byte) (int, error) {
	c.body = append(c.body, p...)
	return c.ResponseWriter.Write(p)
}
