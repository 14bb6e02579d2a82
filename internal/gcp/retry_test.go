// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A connection that ends after the request was sent leaves the outcome of a write open (cases 37, 38).
func TestCutConnection(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	client, _ := newStorageClient(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	}))
	_, err := client.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
	e := wantError(t, err)
	if !e.Ambiguous || e.HTTP != 0 || !IsUnavailable(err) {
		t.Errorf("got %+v", e)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("create was sent %d times", n)
	}
	_, err = client.GetBucket(t.Context(), "b")
	if !IsUnavailable(err) || IsAmbiguous(err) {
		t.Errorf("got %v", err)
	}
	if n := calls.Load(); n < 5 {
		t.Errorf("the read gave up after %d calls", n-1)
	}
}

func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t, func(o *Options) { o.RequestTimeout = 50 * time.Millisecond })
	f.on("GetJob", answer{block: true}, answer{message: &runpb.Job{Name: testJob}})
	if _, err := f.GetJob(t.Context(), testJob); err != nil {
		t.Errorf("the read should have been tried again: %v", err)
	}
	f.on("RunJob", answer{block: true})
	_, err := f.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
	if e := wantError(t, err); !e.Ambiguous || e.Code != codes.DeadlineExceeded || !strings.Contains(e.Error(), "no answer within 50ms (request_timeout)") {
		t.Errorf("got %+v", e)
	}
	if n := f.count("RunJob"); n != 1 {
		t.Errorf("run was sent %d times", n)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.RunJob(ctx, &runpb.RunJobRequest{Name: testJob})
	if e := wantError(t, err); e.Ambiguous || e.Code != codes.Canceled || f.count("RunJob") != 0 {
		t.Errorf("cancelled before: got %+v after %d calls", e, f.count("RunJob"))
	}
	// What is on its way is heard to its end, for as long as one request may take, and not sent again.
	execution := &runpb.Execution{Name: testJob + "/executions/train-abcde"}
	ctx, cancel = context.WithCancel(t.Context())
	gate := make(chan struct{})
	f.on("RunJob", answer{gate: gate, message: operationOf(t, execution, false, nil, nil)})
	result := make(chan error, 1)
	go func() {
		_, err := f.RunJob(ctx, &runpb.RunJobRequest{Name: testJob})
		result <- err
	}()
	waitFor(t, func() bool { return f.count("RunJob") == 1 })
	cancel()
	close(gate)
	if err := <-result; err != nil {
		t.Errorf("cancelled while under way: got %v", err)
	}
	short := newFakeCloud(t, func(o *Options) { o.RequestTimeout = 100 * time.Millisecond })
	ctx, cancel = context.WithCancel(t.Context())
	short.on("RunJob", answer{block: true})
	go func() {
		_, err := short.RunJob(ctx, &runpb.RunJobRequest{Name: testJob})
		result <- err
	}()
	waitFor(t, func() bool { return short.count("RunJob") == 1 })
	cancel()
	if e := wantError(t, <-result); !e.Ambiguous || short.count("RunJob") != 1 {
		t.Errorf("cancelled, and never answered: got %+v", e)
	}
	// A read ends at once.
	ctx, cancel = context.WithCancel(t.Context())
	f.on("GetJob", answer{block: true})
	go func() {
		_, err := f.GetJob(ctx, testJob)
		result <- err
	}()
	waitFor(t, func() bool { return f.count("GetJob") == 1 })
	cancel()
	if e := wantError(t, <-result); e.Ambiguous || e.Code != codes.Canceled {
		t.Errorf("a read that was cancelled: got %+v", e)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	clock := newInstantClock()
	p := Backoff{Clock: clock, random: func() float64 { return 0 }, Budget: 10 * time.Second, Max: 3 * time.Second}.Start()
	n := 0
	for p.Wait(t.Context(), 0) {
		n++
	}
	want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3 * time.Second, 3 * time.Second}
	if got := clock.pauses(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	clock = newInstantClock()
	p = Backoff{Clock: clock, random: func() float64 { return 0.5 }, Budget: time.Minute}.Start()
	if !p.Wait(t.Context(), 0) || !p.Wait(t.Context(), 7*time.Second) || p.Wait(t.Context(), time.Hour) {
		t.Error("a wish of the server that fits is honoured, one that does not ends the series")
	}
	// Nor do those come back together that were sent away together.
	if got, want := clock.pauses(), []time.Duration{150 * time.Millisecond, 7*time.Second + 100*time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if (Backoff{Clock: clock, Initial: time.Hour, Max: time.Hour}).Start().Wait(ctx, 0) {
		t.Error("a pause that ends after the deadline was begun")
	}
}

// Retry-After is honoured in both forms, and as RetryInfo, also where it is longer than the signal alone would be waited for; what the server
// puts off for longer than that ends at once.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header string
		status int
		want   []time.Duration
	}{
		"seconds":            {"17", 429, []time.Duration{17 * time.Second}},
		"date":               {"Sun, 29 Nov 2026 12:00:23 GMT", 503, []time.Duration{23 * time.Second}},
		"more than a minute": {"200", 503, []time.Duration{200 * time.Second}},
		"tomorrow":           {"86400", 503, nil},
		"date in the past":   {"Sun, 29 Nov 2026 11:00:00 GMT", 503, []time.Duration{200 * time.Millisecond}},
		"nothing sensible":   {"soon", 503, []time.Duration{200 * time.Millisecond}},
		"not for a quota":    {"17", 403, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			client, clock := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1) == 1 {
					w.Header().Set("Retry-After", c.header)
					w.Header().Set("Date", "Sun, 29 Nov 2026 12:00:00 GMT") // whatever this machine's clock says
					writeError(w, c.status, map[int]string{429: "rateLimitExceeded", 403: "quotaExceeded"}[c.status], "slow down")
					return
				}
				fmt.Fprint(w, `{"name":"b"}`)
			}))
			client.backoff.random = func() float64 { return 0 }
			if _, err := client.GetBucket(t.Context(), "b"); (err == nil) != (c.want != nil) {
				t.Errorf("got %v", err)
			}
			if got := clock.pauses(); !slices.Equal(got, c.want) {
				t.Errorf("paused %v, want %v", got, c.want)
			}
		})
	}
	f := newFakeCloud(t)
	f.backoff.random = func() float64 { return 0 }
	wish, err := status.New(codes.Unavailable, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(9 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	f.on("GetJob", answer{err: wish.Err()}, answer{message: &runpb.Job{Name: testJob}})
	if _, err := f.GetJob(t.Context(), testJob); err != nil {
		t.Fatal(err)
	}
	if got := f.clock.pauses(); !slices.Equal(got, []time.Duration{9 * time.Second}) {
		t.Errorf("paused %v", got)
	}
	// Without a date of the answer the machine's clock must do; none of these may be negative, or overflow.
	for _, wish := range []string{"", "-3", "99999999999999999999", "Sun, 29 Nov 2020 11:00:05 GMT"} {
		if got := retryAfter(http.Header{"Retry-After": {wish}}); got != 0 {
			t.Errorf("retryAfter(%q) = %s", wish, got)
		}
	}
	if got := retryAfter(http.Header{"Retry-After": {"999999999"}}); got != 1e6*time.Second {
		t.Errorf("a wish of many years: %s", got)
	}
}

// The resource's timeout is the last word: no pause begins that would outlast it, whatever the server asks for, and the error is that of the
// last attempt.
func TestRetryInsideTheTimeout(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	client, clock := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 3 {
			w.Header().Set("Retry-After", "45")
		}
		writeError(w, 503, "backendError", "Service Unavailable")
	}))
	client.backoff.random = func() float64 { return 0 }
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := client.GetBucket(ctx, "b")
	if e := wantError(t, err); e.HTTP != 503 || n.Load() != 3 || len(clock.pauses()) != 2 {
		t.Errorf("%v after %d calls, pauses %v", err, n.Load(), clock.pauses())
	}
}

// What services answer for an account that they do not see yet is waited out only for an account that was just made (cases 65, 67).
func TestFreshAccount(t *testing.T) {
	t.Parallel()
	const email = "train-0123abcd@p.iam.gserviceaccount.com"
	actAs := status.Error(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account "+email+" (or it may not exist).")
	f := newFakeCloud(t)
	f.on("CreateJob", answer{err: actAs}, answer{err: actAs}, answer{message: operationOf(t, &runpb.Job{Name: testJob}, false, nil, nil)})
	if _, err := f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}); !IsPermissionDenied(err) || f.count("CreateJob") != 1 {
		t.Errorf("an account of somebody: got %v after %d calls", err, f.count("CreateJob"))
	}
	if _, err := f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}, FreshAccount(email)); err != nil {
		t.Errorf("a fresh account: %v", err)
	}

	f.on("GetServiceAccount",
		answer{err: status.Error(codes.NotFound, "Unknown service account")},
		answer{err: status.Error(codes.PermissionDenied, "Permission 'iam.serviceAccounts.get' denied on resource (or it may not exist).")},
		answer{message: &adminpb.ServiceAccount{Email: email}})
	if _, err := f.GetServiceAccount(t.Context(), "p", email, Fresh()); err != nil {
		t.Errorf("a fresh account is read: %v", err)
	}
	f.on("GetServiceAccount", answer{err: status.Error(codes.NotFound, "Unknown service account")})
	start := f.clock.Now()
	if _, err := f.GetServiceAccount(t.Context(), "p", email, Fresh()); !IsNotFound(err) {
		t.Errorf("an account that never appears: %v", err)
	}
	if d := f.clock.Since(start); d < 30*time.Second || d > freshBudget {
		t.Errorf("waited %s for it", d)
	}
}

// A name that this client has just given back may be answered as taken for a moment.
func TestRecreate(t *testing.T) {
	t.Parallel()
	taken := status.Error(codes.AlreadyExists, "Resource already exists.")
	f := newFakeCloud(t)
	made := operationOf(t, &runpb.Job{Name: testJob}, false, nil, nil)
	f.on("CreateJob", answer{err: taken}, answer{message: made})
	if _, err := f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}); !IsAlreadyExists(err) {
		t.Errorf("a job of somebody: got %v", err)
	}
	f.on("DeleteJob", answer{message: made})
	if _, err := f.DeleteJob(t.Context(), testJob, ""); err != nil {
		t.Fatal(err)
	}
	f.on("CreateJob", answer{err: taken}, answer{err: taken}, answer{message: made})
	if _, err := f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}); err != nil {
		t.Errorf("after the delete: got %v", err)
	}
}

// waitFor polls a condition that other goroutines bring about.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

func writeError(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"domain":"global","reason":%q,"message":%q}]}}`, code, message, reason, message)
}
