// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// case 115: who looks while a checkpoint is being written sees the one before, as
// old as it is. The new one is there once it is closed, whole, and as old as that.
func TestCheckpointsWhileOneIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("task-0/step-1.ckpt")
	const chunk = 256 << 10
	send := func(method, url, contentRange, body string, want int) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if contentRange != "" {
			req.Header.Set("Content-Range", contentRange)
		} else {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != want {
			t.Fatalf("%s %s: %s, %v; want %d", method, url, resp.Status, err, want)
		}
		return resp
	}
	before := []string{
		"newest_time=2026-11-29T12:01:00Z", "newest_name=task-0/step-1.ckpt", "newest_size=4", "checkpoint_count=1", "total_size=4", "unfinished_count=0",
		"task-0 0 task-0/step-1.ckpt 2026-11-29T12:01:00Z 4 1 1",
	}
	look := map[string]any{"pattern": "task-{task}/step-*.ckpt"}
	upload := send(http.MethodPost, "http://"+w.Addr()+"/upload/storage/v1/b/"+bucket+"/o?uploadType=resumable&name=task-0%2Fstep-2.ckpt", "", "{}", http.StatusOK).Header.Get("Location")
	w.shows(look, before...)
	w.clock.Advance(10 * time.Minute)
	send(http.MethodPut, upload, fmt.Sprintf("bytes 0-%d/*", chunk-1), strings.Repeat("x", chunk), http.StatusPermanentRedirect)
	w.shows(look, before...)
	w.clock.Advance(10 * time.Minute)
	send(http.MethodPut, upload, fmt.Sprintf("bytes %d-%d/%d", chunk, chunk+3, chunk+4), "last", http.StatusOK)
	w.shows(look,
		"newest_time=2026-11-29T12:21:00Z", "newest_name=task-0/step-2.ckpt", "newest_size=262148", "checkpoint_count=2", "total_size=262152", "unfinished_count=0",
		"task-0 0 task-0/step-2.ckpt 2026-11-29T12:21:00Z 262148 1 2")
}
