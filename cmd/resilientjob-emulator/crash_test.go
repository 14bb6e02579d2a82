// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// An emulator that is killed in the middle of its writes leaves a folder that the
// next one reads, with everything in it that was answered.
func TestKilledInTheMiddleOfWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var written sync.Map // path → what is read from it
	for round := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "--listen", "127.0.0.1:0", "--data", dir)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		e := watch(t, out)
		go func() { // nobody else reads what it says
			for range e.lines {
			}
		}()
		if round == 0 {
			e.post(t, "/storage/v1/b?project=p", `{"name":"ckpt-bucket","versioning":{"enabled":true}}`)
		}
		written.Range(func(path, want any) bool {
			if got, err := get(t.Context(), e.addr, fmt.Sprint(path)); err != nil || !strings.Contains(got, fmt.Sprint(want)) {
				t.Errorf("%s after %d kills: %q, %v; want %q in it", path, round, got, err, want)
			}
			return true
		})
		var answered atomic.Int32
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					object := fmt.Sprintf("run/%d-%d-%d", round, w, i)
					jobID := fmt.Sprintf("train-%d-%d-%d", round, w, i)
					content := strings.Repeat(object, 1000)
					if try(t.Context(), e.addr, "/upload/storage/v1/b/ckpt-bucket/o?uploadType=media&name="+object, content) != nil {
						return
					}
					written.Store("/download/storage/v1/b/ckpt-bucket/o/"+strings.ReplaceAll(object, "/", "%2F")+"?alt=media", content)
					if try(t.Context(), e.addr, parent+"?jobId="+jobID, `{"template":{"template":{"containers":[{"image":"x"}]}}}`) != nil {
						return
					}
					written.Store(parent+"/"+jobID, jobID)
					if answered.Add(1) == 40 {
						_ = cmd.Process.Kill()
					}
				}
			})
		}
		writers.Wait()
		_ = cmd.Wait() // killed
	}
}

func try(ctx context.Context, addr, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return err
}

func get(ctx context.Context, addr, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
