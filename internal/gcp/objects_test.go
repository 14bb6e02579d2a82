// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// watched is a bucket's server that sees what bounds the client's memory: how much of what it listed is not deleted yet.
type watched struct {
	*contents

	mu      sync.Mutex
	listed  map[string]int // pages, by kind
	open    int            // calls of any kind under way
	atOnce  int            // deletes under way while a page was asked for
	deletes int
	before  func(n int, w http.ResponseWriter) bool // the n-th delete; false ends it
}

func (s *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, _, single := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/storage/v1/b/ckpt"), "/"), "/")
	s.mu.Lock()
	n := 0
	if single {
		s.open++
		s.deletes++
		n = s.deletes
	} else if kind != "" {
		s.listed[kind]++
		s.atOnce = max(s.atOnce, s.open)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if single {
			s.open--
		}
	}()
	if single && s.before != nil && !s.before(n, w) {
		return
	}
	s.contents.ServeHTTP(w, r)
}

// rest waits until no delete is under way, does something then, and returns how many objects are left.
func (s *watched) rest(t *testing.T, do func()) (left int) {
	t.Helper()
	waitFor(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open > 0 {
			return false
		}
		s.contents.mu.Lock()
		defer s.contents.mu.Unlock()
		left = len(s.objects)
		do()
		return true
	})
	return left
}

func watch(t *testing.T, c *contents) (*watched, *Client, *instantClock) {
	t.Helper()
	s := &watched{contents: c, listed: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	clock := newInstantClock()
	client := newTestClient(t, Options{EmulatorHost: strings.TrimPrefix(server.URL, "http://"), Clock: clock})
	return s, client, clock
}

// What bounds the memory: one page at a time, none asked for while the one before is worked on, each asked for once (case 88).
func TestEmptyBucketPageByPage(t *testing.T) {
	t.Parallel()
	c := newContents(t, 700)
	c.page = 7
	for i := range 60 {
		for _, f := range []string{"a%d/", "a%d/b/", "a%d/b/c/"} {
			c.folders[fmt.Sprintf(f, i)] = true
		}
	}
	s, client, _ := watch(t, c)
	deleted, err := client.EmptyBucket(t.Context(), "ckpt")
	if err != nil || deleted != 700 || len(c.objects)+len(c.folders) != 0 {
		t.Fatalf("deleted %d, left %d objects and %d folders, %v", deleted, len(c.objects), len(c.folders), err)
	}
	if s.listed["o"] != 100 {
		t.Errorf("%d pages of 7 of 700 objects were asked for", s.listed["o"])
	}
	if s.atOnce != 0 {
		t.Errorf("a page was asked for while %d of the one before were being deleted", s.atOnce)
	}
	if most := c.most.Load(); most > deleteWorkers {
		t.Errorf("%d calls at once", most)
	}
	// No folder is asked to go before what is in it, and the pages of each kind are gone through once.
	if s.deletes != 700+180 || s.listed["folders"] > 180/7+1 {
		t.Errorf("%d deletes of 700 objects and 180 folders, of %d pages of folders", s.deletes, s.listed["folders"])
	}
}

// The same for folders: what stops it in the middle leaves the rest, the next call lists only that, and ends it. One that fails for good
// keeps those above it, and no other.
func TestEmptyFoldersGoesOn(t *testing.T) {
	t.Parallel()
	unavailable := func(w http.ResponseWriter) bool {
		writeError(w, http.StatusServiceUnavailable, "backendError", "Backend Error")
		return false
	}
	for name, c := range map[string]struct {
		before func(n int, w http.ResponseWriter) bool
		deny   func(method, path string) bool
		left   func(n int) bool
		check  func(error) bool
	}{
		"unavailable for the whole budget": {
			before: func(n int, w http.ResponseWriter) bool { return n <= 100 || unavailable(w) },
			left:   func(n int) bool { return n == 80 }, check: IsUnavailable,
		},
		"all denied from one on": {
			before: func(n int, w http.ResponseWriter) bool {
				if n > 100 {
					writeError(w, http.StatusForbidden, "forbidden", "denied")
				}
				return n <= 100
			},
			left: func(n int) bool { return n == 80 }, check: IsPermissionDenied,
		},
		"one denied": {
			deny: func(method, path string) bool {
				return method == http.MethodDelete && path == "/folders/a30/b/c/"
			},
			left: func(n int) bool { return n == 3 }, check: IsPermissionDenied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := newContents(t, 0)
			bucket.page, bucket.deny = 7, c.deny
			for i := range 60 {
				for _, f := range []string{"a%d/", "a%d/b/", "a%d/b/c/"} {
					bucket.folders[fmt.Sprintf(f, i)] = true
				}
			}
			s, client, clock := watch(t, bucket)
			s.before = c.before
			begun := clock.Now()
			_, err := client.EmptyBucket(t.Context(), "ckpt")
			if !c.check(err) {
				t.Errorf("got %v", err)
			}
			if took := clock.Since(begun); took > 5*time.Minute {
				t.Errorf("it took %s", took)
			}
			left := 0
			s.rest(t, func() {
				left = len(bucket.folders)
				s.before, bucket.deny = nil, nil
				s.listed, s.deletes = map[string]int{}, 0
			})
			if !c.left(left) {
				t.Errorf("%d folders are left", left)
			}
			if _, err := client.EmptyBucket(t.Context(), "ckpt"); err != nil || len(bucket.folders) != 0 {
				t.Errorf("the second call leaves %d folders, %v", len(bucket.folders), err)
			}
			if s.deletes != left || s.listed["folders"] > left/7+1 || s.listed["o"] != 1 {
				t.Errorf("the second call: %d deletes and %v pages for %d folders", s.deletes, s.listed, left)
			}
		})
	}
}

// Folders of one depth are deleted together: a bucket with thousands of them is not emptied one by one.
func TestFoldersAreDeletedTogether(t *testing.T) {
	t.Parallel()
	c := newContents(t, 0)
	for i := range 40 {
		c.folders[fmt.Sprintf("f%d/", i)] = true
	}
	s, client, _ := watch(t, c)
	second := make(chan struct{})
	s.before = func(n int, _ http.ResponseWriter) bool {
		switch n {
		case 1: // waits for company
			select {
			case <-second:
			case <-time.After(10 * time.Second):
				t.Error("folders are deleted one by one")
			}
		case 2:
			close(second)
		}
		return true
	}
	if _, err := client.EmptyBucket(t.Context(), "ckpt"); err != nil || len(c.folders) != 0 {
		t.Errorf("left %d folders, %v", len(c.folders), err)
	}
	if got := levels([]string{"a/", "a/b/", "c/", "a/b/c/", "c/d/"}); !slices.EqualFunc(got, [][]string{{"a/b/c/"}, {"a/b/", "c/d/"}, {"a/", "c/"}}, slices.Equal[[]string]) {
		t.Errorf("levels: %q", got)
	}
}

// Whatever stops it in the middle, what was deleted is counted, the rest is there, and the next call goes on where it ended (case 85).
func TestEmptyBucketGoesOn(t *testing.T) {
	t.Parallel()
	const objects = 400
	for name, c := range map[string]struct {
		before func(cancel func(), server *watched) func(n int, w http.ResponseWriter) bool
		deny   func(method, path string) bool
		left   func(n int) bool
		check  func(error) bool
		says   string
	}{
		"one object is denied": {
			deny: func(method, path string) bool {
				return method == http.MethodDelete && path == "/o/run/step 50?#/model.pt"
			},
			left:  func(n int) bool { return n == 2 }, // its two versions
			check: IsPermissionDenied, says: "delete object gs://ckpt/run/step 50?#/model.pt: denied",
		},
		"the server is gone": {
			before: func(_ func(), _ *watched) func(int, http.ResponseWriter) bool {
				return func(n int, _ http.ResponseWriter) bool {
					if n > 200 {
						panic(http.ErrAbortHandler)
					}
					return true
				}
			},
			left: func(n int) bool { return n >= 200 && n < 250 }, check: IsUnavailable, says: "delete object gs://ckpt/run/step",
		},
		"unavailable for the whole budget": {
			before: func(_ func(), _ *watched) func(int, http.ResponseWriter) bool {
				return func(n int, w http.ResponseWriter) bool {
					if n > 200 {
						writeError(w, http.StatusServiceUnavailable, "backendError", "Backend Error")
					}
					return n <= 200
				}
			},
			left: func(n int) bool { return n == 200 }, check: IsUnavailable, says: "Backend Error",
		},
		"interrupted": {
			before: func(cancel func(), _ *watched) func(int, http.ResponseWriter) bool {
				return func(n int, _ http.ResponseWriter) bool {
					if n == 200 {
						cancel()
					}
					return true
				}
			},
			left: func(n int) bool { return n > 150 && n <= 200+deleteWorkers }, check: func(err error) bool { return strings.Count(err.Error(), "it was interrupted") == 1 }, says: "it was interrupted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := newContents(t, objects)
			bucket.page = 10
			bucket.folders["run/"] = true
			bucket.deny = c.deny
			s, client, _ := watch(t, bucket)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.before != nil {
				s.before = c.before(cancel, s)
			}
			first, err := client.EmptyBucket(ctx, "ckpt")
			left := s.rest(t, func() {})
			if err == nil || !c.check(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			if strings.Contains(fmt.Sprint(err), "not empty") {
				t.Errorf("that a folder is not empty says nothing new: %v", err)
			}
			if !c.left(left) {
				t.Errorf("%d objects are left", left)
			}
			// A delete whose answer was lost is not counted, and one that was given up in flight neither.
			if first > objects-left || first < objects-left-deleteWorkers {
				t.Errorf("%d counted, and %d of %d are left", first, left, objects)
			}
			left = s.rest(t, func() { s.before, bucket.deny, s.listed = nil, nil, map[string]int{} })
			second, err := client.EmptyBucket(t.Context(), "ckpt")
			if err != nil || second > left || second < left-deleteWorkers || len(bucket.objects)+len(bucket.folders) != 0 {
				t.Errorf("the second call: deleted %d of %d, %v", second, left, err)
			}
			if s.listed["o"] > left/10+1 {
				t.Errorf("the second call lists %d pages of 10 of %d objects", s.listed["o"], left)
			}
		})
	}
}

// Many that are denied end it after a few, not after a page of them.
func TestEmptyBucketGivesUpSoon(t *testing.T) {
	t.Parallel()
	c := newContents(t, 800)
	c.page = 1000
	c.deny = func(method, _ string) bool { return method == http.MethodDelete }
	s, client, _ := watch(t, c)
	deleted, err := client.EmptyBucket(t.Context(), "ckpt")
	if deleted != 0 || !IsPermissionDenied(err) {
		t.Errorf("deleted %d, %v", deleted, err)
	}
	if s.deletes > maxErrors+deleteWorkers || s.listed["o"] != 1 {
		t.Errorf("%d deletes of %d pages", s.deletes, s.listed["o"])
	}
}
