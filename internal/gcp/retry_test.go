// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"fmt"
	"net"
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

// The retry table, over gRPC: what is sent again for a read and for a write that must not happen twice (case 37).
func TestRetryTable(t *testing.T) {
	t.Parallel()
	rateLimit, err := status.New(codes.ResourceExhausted, "Too Many Requests").WithDetails(&errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED"})
	if err != nil {
		t.Fatal(err)
	}
	quota, err := status.New(codes.ResourceExhausted, "Quota exceeded for total allowable count of GPUs per project per region.").
		WithDetails(&errdetails.ErrorInfo{Reason: "QUOTA_EXCEEDED"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err       error
		read      bool // a read goes on
		once      bool // a write that must not happen twice goes on
		ambiguous bool // such a write may have taken effect
	}{
		"unavailable":          {status.Error(codes.Unavailable, "Service Unavailable"), true, false, true},
		"internal":             {status.Error(codes.Internal, "Internal error."), true, false, true},
		"unknown":              {status.Error(codes.Unknown, "Unspecified error."), true, false, true},
		"rate limit":           {rateLimit.Err(), true, true, false},
		"429 without a reason": {status.Error(codes.ResourceExhausted, "Too Many Requests"), true, true, false},
		"quota":                {quota.Err(), false, false, false},
		"quota without reason": {status.Error(codes.ResourceExhausted, "Quota exceeded for GPUs"), false, false, false},
		"calls per minute":     {status.Error(codes.ResourceExhausted, "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region'"), true, true, false},
		"number used up":       {status.Error(codes.ResourceExhausted, "Maximum number of service accounts on project reached."), false, false, false},
		"quota as 400":         {status.Error(codes.InvalidArgument, "You do not have quota for using GPUs"), false, false, false},
		"invalid":              {status.Error(codes.InvalidArgument, "Invalid value"), false, false, false},
		"denied":               {status.Error(codes.PermissionDenied, "denied"), false, false, false},
		"not found":            {status.Error(codes.NotFound, "missing"), false, false, false},
		"exists":               {status.Error(codes.AlreadyExists, "exists"), false, false, false},
		"precondition":         {status.Error(codes.FailedPrecondition, "Precondition check failed."), false, false, false},
		"conflict":             {status.Error(codes.Aborted, "Conflict for resource 'J'"), false, false, false},
		"unauthenticated":      {status.Error(codes.Unauthenticated, "expired"), false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeCloud(t)
			f.on("GetJob", answer{err: c.err}, answer{err: c.err}, answer{message: &runpb.Job{Name: testJob}})
			_, err := f.GetJob(t.Context(), testJob)
			if limited := status.Code(c.err) == codes.ResourceExhausted && c.once; IsRateLimited((&call{}).failure(t.Context(), &attempt{}, c.err)) != limited {
				t.Errorf("a rate limit: %v, want %v", !limited, limited)
			}
			if got := err == nil; got != c.read {
				t.Errorf("read: went on %v, want %v (%v)", got, c.read, err)
			}
			if err != nil && IsAmbiguous(err) {
				t.Error("a read is never ambiguous")
			}
			execution := &runpb.Execution{Name: testJob + "/executions/train-abcde"}
			f.on("RunJob", answer{err: c.err}, answer{message: operationOf(t, execution, false, nil, nil)})
			_, err = f.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
			if got := err == nil; got != c.once {
				t.Errorf("run: went on %v, want %v (%v)", got, c.once, err)
			}
			want := 1
			if c.once {
				want = 2
			}
			if n := f.count("RunJob"); n != want {
				t.Errorf("run was sent %d times, want %d", n, want)
			}
			if got := IsAmbiguous(err); got != c.ambiguous {
				t.Errorf("run: ambiguous %v, want %v", got, c.ambiguous)
			}
		})
	}
}

// The retry table, over JSON.
func TestRetryTableHTTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    int
		reason    string
		code      codes.Code
		read      bool
		create    bool
		ambiguous bool
	}{
		"429":            {429, "rateLimitExceeded", codes.ResourceExhausted, true, true, false},
		"500":            {500, "backendError", codes.Internal, true, false, true},
		"502":            {502, "", codes.Unavailable, true, false, true},
		"503":            {503, "backendError", codes.Unavailable, true, false, true},
		"403 rate limit": {403, "userRateLimitExceeded", codes.PermissionDenied, true, true, false},
		"403":            {403, "forbidden", codes.PermissionDenied, false, false, false},
		"400":            {400, "invalid", codes.InvalidArgument, false, false, false},
		"404":            {404, "notFound", codes.NotFound, false, false, false},
		"412":            {412, "conditionNotMet", codes.FailedPrecondition, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gets, posts atomic.Int32
			client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := &gets
				if r.Method == http.MethodPost {
					n = &posts
				}
				if n.Add(1) == 1 {
					writeError(w, c.status, c.reason, "the text")
					return
				}
				fmt.Fprint(w, `{"name":"b"}`)
			}))
			_, err := client.GetBucket(t.Context(), "b")
			if got := err == nil; got != c.read {
				t.Errorf("read: went on %v, want %v (%v)", got, c.read, err)
			}
			if err != nil {
				e := wantError(t, err)
				if e.Code != c.code || e.HTTP != c.status || e.Reason != c.reason || e.Message != "the text" || e.Ambiguous {
					t.Errorf("got %+v", e)
				}
			}
			_, err = client.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
			if got := err == nil; got != c.create {
				t.Errorf("create: went on %v, want %v (%v)", got, c.create, err)
			}
			if got := IsAmbiguous(err); got != c.ambiguous {
				t.Errorf("create: ambiguous %v, want %v (%v)", got, c.ambiguous, err)
			}
		})
	}
}

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

// A server that was never reached has accepted nothing, so that even a run may be sent again; where it is a port of this machine the
// waiting is short.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	clock := newInstantClock()
	client := newTestClient(t, Options{EmulatorHost: address, Clock: clock})
	start := clock.Now()
	_, err = client.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
	if !IsUnavailable(err) || IsAmbiguous(err) {
		t.Errorf("run: got %v, ambiguous %v", err, IsAmbiguous(err))
	}
	_, err = client.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
	if !IsUnavailable(err) || IsAmbiguous(err) {
		t.Errorf("bucket: got %v, ambiguous %v", err, IsAmbiguous(err))
	}
	if len(clock.pauses()) < 4 {
		t.Errorf("pauses %v: each should have been tried again", clock.pauses())
	}
	if d := clock.Since(start); d > 2*localBudget {
		t.Errorf("waited %s for a port on which nobody listens", d)
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
	ctx, cancel = context.WithCancel(t.Context())
	f.on("RunJob", answer{block: true})
	result := make(chan error)
	go func() {
		_, err := f.RunJob(ctx, &runpb.RunJobRequest{Name: testJob})
		result <- err
	}()
	waitFor(t, func() bool { return f.count("RunJob") == 1 })
	cancel()
	if e := wantError(t, <-result); !e.Ambiguous || e.Code != codes.Canceled {
		t.Errorf("cancelled while under way: got %+v", e)
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
	if got, want := clock.pauses(), []time.Duration{150 * time.Millisecond, 7 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if (Backoff{Clock: clock, Initial: time.Hour, Max: time.Hour}).Start().Wait(ctx, 0) {
		t.Error("a pause that ends after the deadline was begun")
	}
}

// Retry-After is honoured in both forms, and as RetryInfo.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	client, clock := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After", "17")
			writeError(w, 429, "rateLimitExceeded", "slow down")
			return
		}
		fmt.Fprint(w, `{"name":"b"}`)
	}))
	if _, err := client.GetBucket(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if got := clock.pauses(); !slices.Equal(got, []time.Duration{17 * time.Second}) {
		t.Errorf("paused %v", got)
	}
	f := newFakeCloud(t)
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
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-3": 0, "soon": 0, "Sun, 29 Nov 2026 12:00:05 GMT": 5 * time.Second, "Sun, 29 Nov 2026 11:00:05 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("retryAfter(%q) = %s, want %s", header, got, want)
		}
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
