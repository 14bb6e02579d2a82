// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// BenchmarkEmptyBucket empties a big bucket and reports what it costs the client: the growth of its heap at the peak, requests, and time. The
// emulator runs in a process of its own, so that its memory is not counted.
//
//	go test ./internal/gcp -run '^$' -bench EmptyBucket -benchtime 1x
//
// BENCHMARKS.md has figures.
func BenchmarkEmptyBucket(b *testing.B) {
	for _, c := range []struct {
		name              string
		objects, versions int // of them overwritten once
		folders           int
	}{
		{"5000-objects", 5_000, 500, 0},
		{"50000-objects-with-versions", 45_000, 5_000, 0},
		{"5000-objects-in-500-folders", 5_000, 0, 500},
		{"50000-objects-in-5000-folders", 50_000, 0, 5_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			address, data := startEmulator(b)
			client, err := gcp.New(b.Context(), gcp.Options{EmulatorHost: address})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = client.Close() })
			for b.Loop() {
				b.StopTimer()
				bucket := &storage.Bucket{Name: "big", Location: "us-central1",
					IamConfiguration:      &storage.BucketIamConfiguration{UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
					Versioning:            &storage.BucketVersioning{Enabled: c.versions > 0},
					HierarchicalNamespace: &storage.BucketHierarchicalNamespace{Enabled: c.folders > 0},
					SoftDeletePolicy:      &storage.BucketSoftDeletePolicy{ForceSendFields: []string{"RetentionDurationSeconds"}}}
				if _, err := client.CreateBucket(b.Context(), "p", bucket); err != nil {
					b.Fatal(err)
				}
				want := seed(b, address, filepath.Join(data, "data", "storage", "buckets", "big", "live"), c.objects, c.versions, c.folders)
				peak := watchHeap()
				b.StartTimer()
				start := time.Now()
				var requests atomic.Int64
				counted := httptrace.WithClientTrace(b.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { requests.Add(1) }})
				deleted, err := client.EmptyBucket(counted, "big")
				took := time.Since(start)
				b.StopTimer()
				grown := peak()
				if err != nil || deleted != want {
					b.Fatalf("deleted %d of %d, %v", deleted, want, err)
				}
				if err := client.DeleteBucket(b.Context(), "big"); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(grown)/(1<<20), "MiB-peak")
				b.ReportMetric(float64(deleted)/took.Seconds(), "objects/s")
				b.ReportMetric(float64(requests.Load()), "requests")
				b.StartTimer()
			}
		})
	}
}

// startEmulator builds and starts the emulator, and returns its address and its folder.
func startEmulator(b *testing.B) (address, data string) {
	b.Helper()
	program := filepath.Join(b.TempDir(), "emulator")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, "../../cmd/resilientjob-emulator").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	data = b.TempDir()
	cmd := exec.CommandContext(b.Context(), program, "--listen", "127.0.0.1:0", "--data", data, "--log-level", "error")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "RESILIENTJOB_EMULATOR_HOST="); ok {
			go func() {
				for lines.Scan() { // so that it is never stopped by a full pipe
				}
			}()
			return strings.TrimSpace(after), data
		}
	}
	b.Fatal("the emulator did not start")
	return "", ""
}

// seed fills a bucket, mostly by files, as a task would by its mount, and returns how many generations there are then.
func seed(b *testing.B, address, live string, objects, versions, folders int) int {
	b.Helper()
	for i := range objects - versions {
		dir := live // in a bucket without folders a directory would be an object, too
		if folders > 0 {
			dir = filepath.Join(live, fmt.Sprintf("run-%d", i%folders))
		}
		if i < folders {
			if err := os.Mkdir(dir, 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("step-%06d.pt", i)), []byte("x"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var group sync.WaitGroup
	var failed atomic.Int64
	next := make(chan int)
	for range 8 {
		group.Go(func() {
			for i := range next {
				for range 2 {
					resp, err := http.Post(fmt.Sprintf("http://%s/upload/storage/v1/b/big/o?uploadType=media&name=kept/step-%06d.pt", address, i), "", strings.NewReader("y"))
					if err != nil {
						failed.Add(1)
						continue
					}
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						failed.Add(1)
					}
				}
			}
		})
	}
	for i := range versions {
		next <- i
	}
	close(next)
	group.Wait()
	if n := failed.Load(); n > 0 {
		b.Fatalf("%d uploads failed", n)
	}
	return objects + versions
}

// watchHeap measures how much the heap grows until the function that it returns is called.
func watchHeap() func() uint64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := heap()
	peak := before
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, heap())
			case <-done:
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-ended
		return peak - before
	}
}
