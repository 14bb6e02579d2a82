// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const freshEmail = "train-0123abcd@p.iam.gserviceaccount.com"

// driven is one signal, as each API gives it for ever, and for how long each kind of call goes on; 0 ends it at once.
type driven struct {
	rule      string // the row of the table that a call goes on by
	grpc      error
	status    int // of Cloud Storage
	reason    string
	text      string
	read      time.Duration
	repeat    time.Duration // a write that may be repeated
	once      time.Duration
	ambiguous bool // a write that must not happen twice may have taken effect

	// The call says of itself what makes the difference.
	fresh, account, recreated bool
}

func withReason(c codes.Code, text, reason string) error {
	st, err := status.New(c, text).WithDetails(&errdetails.ErrorInfo{Reason: reason})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

const perMinute = "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region' of service 'run.googleapis.com'"

var signals = map[string]driven{
	"unavailable": {rule: "an outage, and the call may be repeated", grpc: status.Error(codes.Unavailable, "Service Unavailable"), status: 503, reason: "backendError", text: "Service Unavailable",
		read: transientBudget, repeat: transientBudget, ambiguous: true},
	"internal": {rule: "an outage, and the call may be repeated", grpc: status.Error(codes.Internal, "Internal error."), status: 500, reason: "backendError", text: "Internal error.",
		read: transientBudget, repeat: transientBudget, ambiguous: true},
	"unknown": {rule: "an outage, and the call may be repeated", grpc: status.Error(codes.Unknown, "Unspecified error."), status: 502, text: "Bad Gateway",
		read: transientBudget, repeat: transientBudget, ambiguous: true},
	"too late": {rule: "an outage, and the call may be repeated", grpc: status.Error(codes.DeadlineExceeded, "Deadline expired before operation could complete."), status: 504, text: "Gateway Timeout",
		read: transientBudget, repeat: transientBudget, ambiguous: true},
	"rate limit": {rule: "too many calls", grpc: withReason(codes.ResourceExhausted, "Too Many Requests", "RATE_LIMIT_EXCEEDED"), status: 429, reason: "rateLimitExceeded", text: "The rate limit is exceeded.",
		read: rateBudget, repeat: rateBudget, once: rateBudget},
	"429 without a reason": {rule: "too many calls", grpc: status.Error(codes.ResourceExhausted, "Too Many Requests"), status: 429, text: "Too Many Requests",
		read: rateBudget, repeat: rateBudget, once: rateBudget},
	"calls per minute": {rule: "too many calls", grpc: status.Error(codes.ResourceExhausted, perMinute), status: 403, reason: "userRateLimitExceeded", text: perMinute,
		read: rateBudget, repeat: rateBudget, once: rateBudget},
	"calls per 100 seconds": {rule: "too many calls", grpc: status.Error(codes.ResourceExhausted, "Quota exceeded for 'Queries per 100 seconds per user'"), status: 403, reason: "rateLimitExceeded", text: "Rate Limit Exceeded",
		read: rateBudget, repeat: rateBudget, once: rateBudget},

	"quota":                {grpc: withReason(codes.ResourceExhausted, "Quota exceeded for total allowable count of GPUs per project per region.", "QUOTA_EXCEEDED"), status: 403, reason: "quotaExceeded", text: "Quota exceeded"},
	"quota without reason": {grpc: status.Error(codes.ResourceExhausted, "Quota exceeded for GPUs"), status: 429, text: "Quota exceeded for buckets"},
	"number used up":       {grpc: status.Error(codes.ResourceExhausted, "Maximum number of service accounts on project reached."), status: 429, text: "The maximum number of buckets is reached."},
	"calls per day":        {grpc: withReason(codes.ResourceExhausted, "Quota exceeded for 'requests per day'", "QUOTA_EXCEEDED"), status: 403, reason: "dailyLimitExceeded", text: "Daily Limit Exceeded"},
	"quota as 400":         {grpc: status.Error(codes.InvalidArgument, "You do not have quota for using GPUs"), status: 400, reason: "invalid", text: "You do not have quota"},
	"invalid":              {grpc: status.Error(codes.InvalidArgument, "Invalid value"), status: 400, reason: "invalid", text: "Invalid value"},
	"denied":               {grpc: status.Error(codes.PermissionDenied, "denied"), status: 403, reason: "forbidden", text: "denied"},
	"unauthenticated":      {grpc: status.Error(codes.Unauthenticated, "expired"), status: 401, reason: "authError", text: "expired"},
	"not found":            {grpc: status.Error(codes.NotFound, "missing"), status: 404, reason: "notFound", text: "missing"},
	"conflict":             {grpc: status.Error(codes.Aborted, "Conflict for resource 'J': version '1' was specified but current version is '2'."), status: 412, reason: "conditionNotMet", text: "At least one of the pre-conditions you specified did not hold."},
	"exists":               {grpc: status.Error(codes.AlreadyExists, "exists"), status: 409, reason: "conflict", text: "The requested bucket name is not available."},
	"precondition":         {grpc: status.Error(codes.FailedPrecondition, "Precondition check failed."), status: 412, reason: "conditionNotMet", text: "'us' violates constraint 'constraints/gcp.resourceLocations'"},
	"out of range":         {grpc: status.Error(codes.OutOfRange, "out of range"), status: 416, text: "out of range"},
	"not implemented":      {grpc: status.Error(codes.Unimplemented, "not here"), status: 501, text: "not here"},

	// What was made, or given back, a moment ago; without saying so each ends at once.
	"account does not exist": {rule: "a fresh account is not seen", account: true, grpc: status.Error(codes.InvalidArgument, "Service account "+freshEmail+" does not exist."), once: accountBudget},
	"actAs": {rule: "a fresh account is not seen", account: true, once: accountBudget,
		grpc: status.Error(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account "+freshEmail+" (or it may not exist).")},
	"another account does not exist": {account: true, grpc: status.Error(codes.InvalidArgument, "Service account other@p.iam.gserviceaccount.com does not exist.")},
	"actAs of another": {account: true,
		grpc: status.Error(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account other@p.iam.gserviceaccount.com (or it may not exist).")},
	"account in quota":  {account: true, grpc: status.Error(codes.InvalidArgument, "You do not have quota for "+freshEmail)},
	"fresh and missing": {rule: "a fresh resource is not seen", fresh: true, grpc: status.Error(codes.NotFound, "missing"), status: 404, reason: "notFound", text: "missing", read: freshBudget},
	"fresh and denied": {rule: "a fresh resource is not seen", fresh: true, grpc: status.Error(codes.PermissionDenied, "Permission 'run.jobs.get' denied on resource (or it may not exist)."),
		status: 403, reason: "forbidden", text: "Permission 'storage.buckets.get' denied on resource (or it may not exist).", read: freshBudget},
	"fresh and invalid":    {fresh: true, grpc: status.Error(codes.InvalidArgument, "Invalid value"), status: 400, reason: "invalid", text: "Invalid value"},
	"exists after delete":  {rule: "a name just given back is taken", recreated: true, grpc: status.Error(codes.AlreadyExists, "exists"), status: 409, reason: "conflict", text: "exists", once: recreateBudget},
	"invalid after delete": {recreated: true, grpc: status.Error(codes.InvalidArgument, "Invalid value"), status: 400, reason: "invalid", text: "Invalid value"},
}

// pausesWithin are the pauses, without their random part, that fit into a budget.
func pausesWithin(budget time.Duration) []time.Duration {
	var out []time.Duration
	sum, next := time.Duration(0), 200*time.Millisecond
	for budget > 0 && sum+next <= budget {
		out = append(out, next)
		sum += next
		next = min(2*next, 15*time.Second)
	}
	return out
}

// Every row of the retry policy, by gRPC and by JSON, for each kind of call: how often it is sent, with which pauses, and which error is left
// in the end (cases 37, 38, 64, 65, 67).
func TestRetryTable(t *testing.T) {
	t.Parallel()
	// An independent figure, so that the sums below are not taken from the code alone.
	for budget, attempts := range map[time.Duration]int{3 * time.Second: 5, time.Minute: 10, 2 * time.Minute: 14, 3 * time.Minute: 18} {
		if got := len(pausesWithin(budget)) + 1; got != attempts {
			t.Fatalf("%s: %d attempts, want %d", budget, got, attempts)
		}
	}
	seen := map[string]bool{"no server was reached": true, "nobody listens on this machine": true} // TestRetryUnreachable
	for name, c := range signals {
		seen[c.rule] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drive(t, c, driveGRPC)
			if c.status != 0 {
				drive(t, c, driveStorage)
			}
		})
	}
	for _, rule := range retryTable {
		if !seen[rule.signal] {
			t.Errorf("nothing drives the row %q", rule.signal)
		}
	}
}

// outcomeOf is what became of one call.
type outcomeOf struct {
	calls  int
	pauses []time.Duration
	err    error
}

func drive(t *testing.T, c driven, run func(*testing.T, driven, kind) outcomeOf) {
	t.Helper()
	for how, budget := range map[kind]time.Duration{read: c.read, repeatable: c.repeat, once: c.once} {
		if (c.fresh && how != read) || ((c.account || c.recreated) && how != once) {
			continue // says nothing of such calls
		}
		got := run(t, c, how)
		if want := pausesWithin(budget); !slices.Equal(got.pauses, want) || got.calls != len(want)+1 {
			t.Errorf("kind %d: %d calls, pauses %v, want %v", how, got.calls, got.pauses, want)
		}
		e := wantError(t, got.err)
		if want := c.ambiguous && how != read; e.Ambiguous != want {
			t.Errorf("kind %d: ambiguous %v, want %v", how, e.Ambiguous, want)
		}
		if IsRateLimited(e) != (c.rule == "too many calls") {
			t.Errorf("kind %d: rate limited: %v", how, IsRateLimited(e))
		}
		text := status.Convert(c.grpc).Message()
		if e.Message != text && e.Message != c.text {
			t.Errorf("kind %d: the error says %q", how, e.Message)
		}
	}
}

func driveGRPC(t *testing.T, c driven, how kind) outcomeOf {
	t.Helper()
	f := newFakeCloud(t)
	f.backoff.random = func() float64 { return 0 }
	for _, method := range []string{"GetJob", "UpdateJob", "RunJob", "CreateJob"} {
		f.on(method, answer{err: c.grpc})
	}
	var opts []Option
	if c.fresh {
		opts = append(opts, Fresh())
	}
	if c.account {
		opts = append(opts, FreshAccount(freshEmail))
	}
	var err error
	method := ""
	switch {
	case how == read:
		method = "GetJob"
		_, err = f.GetJob(t.Context(), testJob, opts...)
	case how == repeatable:
		method = "UpdateJob"
		_, err = f.UpdateJob(t.Context(), &runpb.Job{Name: testJob, Etag: "e"})
	case c.account || c.recreated:
		method = "CreateJob"
		if c.recreated {
			f.on("DeleteJob", answer{message: operationOf(t, &runpb.Job{Name: testJob}, true, nil, nil)})
			if _, err := f.DeleteJob(t.Context(), testJob, ""); err != nil {
				t.Fatal(err)
			}
		}
		_, err = f.CreateJob(t.Context(), testParent, "train", &runpb.Job{}, opts...)
	default:
		method = "RunJob"
		_, err = f.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
	}
	return outcomeOf{f.count(method), f.clock.pauses(), err}
}

func driveStorage(t *testing.T, c driven, how kind) outcomeOf {
	t.Helper()
	var calls atomic.Int32
	client, clock := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			return
		}
		calls.Add(1)
		writeError(w, c.status, c.reason, c.text)
	}))
	client.backoff.random = func() float64 { return 0 }
	var err error
	switch how {
	case read:
		var opts []Option
		if c.fresh {
			opts = append(opts, Fresh())
		}
		_, err = client.GetBucket(t.Context(), "b", opts...)
	case repeatable:
		_, err = client.PatchBucket(t.Context(), "b", &storage.Bucket{}, IfMetageneration(1))
	case once:
		if c.recreated {
			if err := client.DeleteBucket(t.Context(), "b"); err != nil {
				t.Fatal(err)
			}
		}
		_, err = client.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
	}
	if e := wantError(t, err); e.HTTP != c.status || e.Reason != c.reason {
		t.Errorf("kind %d: got %+v", how, e)
	}
	return outcomeOf{int(calls.Load()), clock.pauses(), err}
}

// A server that was never reached has accepted nothing, so that even a run is sent again: for a minute to Google, for a moment to a port of
// this machine.
func TestRetryUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for scheme, budget := range map[string]time.Duration{"http://": localBudget, "https://": transientBudget} {
		for name, send := range map[string]func(*Client) error{
			"grpc": func(c *Client) error {
				_, err := c.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
				return err
			},
			"storage": func(c *Client) error {
				_, err := c.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
				return err
			},
		} {
			clock := newInstantClock()
			at := scheme + address
			client := newTestClient(t, Options{Endpoints: Endpoints{Run: at, IAM: at, Storage: at, SecretManager: at}, AccessToken: "x", Clock: clock})
			client.backoff.random = func() float64 { return 0 }
			err := send(client)
			if !IsUnavailable(err) || IsAmbiguous(err) {
				t.Errorf("%s%s: %v, ambiguous %v", scheme, name, err, IsAmbiguous(err))
			}
			if got, want := clock.pauses(), pausesWithin(budget); !slices.Equal(got, want) {
				t.Errorf("%s%s: pauses %v, want %v", scheme, name, got, want)
			}
		}
	}
}

// Each pause has a random part, so that many clients that failed together do not come back together.
func TestRetryIsJittered(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t)
	f.on("GetJob", answer{err: status.Error(codes.Unavailable, "x")})
	if _, err := f.GetJob(t.Context(), testJob); !IsUnavailable(err) {
		t.Fatal(err)
	}
	plain := pausesWithin(time.Hour)
	differ := 0
	for i, d := range f.clock.pauses() {
		if d > plain[i] || d < plain[i]/2 {
			t.Errorf("pause %d is %s, want between half and all of %s", i, d, plain[i])
		}
		if d != plain[i] {
			differ++
		}
	}
	if differ < 5 {
		t.Errorf("%d of the pauses have a random part", differ)
	}
}

// Cloud Storage answers a stale etag and what a policy forbids with the same status and reason; only the first is a conflict.
func TestForbiddenIsNoConflict(t *testing.T) {
	t.Parallel()
	for text, conflict := range map[string]bool{
		"At least one of the pre-conditions you specified did not hold.": true,
		"Precondition Failed": true,
		"":                    true,
		"The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced.":  false,
		"'us' violates constraint 'constraints/gcp.resourceLocations'":                                                        false,
		"One or more users named in the policy do not belong to a permitted customer, perhaps due to an organization policy.": false,
		"To set IAM conditions in this bucket, enable uniform bucket-level access.":                                           false,
		"Request violates constraint 'constraints/storage.publicAccessPrevention'":                                            false,
	} {
		client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, 412, "conditionNotMet", text)
		}))
		_, err := client.PatchBucket(t.Context(), "b", &storage.Bucket{}, IfMetageneration(1))
		if e := wantError(t, err); IsConflict(e) != conflict || e.HTTP != 412 {
			t.Errorf("%q: conflict %v, want %v", text, IsConflict(e), conflict)
		}
	}
	if !IsConflict(fmt.Errorf("wrapped: %w", &Error{Code: codes.Aborted, Message: "constraint"})) {
		t.Error("ABORTED is a conflict whatever it says")
	}
}

// What a policy forbids ends a change of members with one write, not with a series of them, also while others write; what travelled with it
// is written.
func TestPolicyForbidden(t *testing.T) {
	t.Parallel()
	s, client, clock := newPolicyServer(t)
	gate := make(chan struct{})
	s.beforeWrite = func(n int) {
		if n == 1 {
			<-gate
		}
		s.touch("", "") // somebody writes all the time
	}
	s.refuse = func(_ int, body string) (int, string, string) {
		if strings.Contains(body, "allUsers") {
			return 412, "conditionNotMet", "The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced."
		}
		s.version-- // touched before, and this once that is not seen
		return 0, "", ""
	}
	add := func(member string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := client.AddMember(t.Context(), Grant{testGrant.Resource, viewer, member})
			done <- err
		}()
		return done
	}
	waiting := func(n int) {
		waitFor(t, func() bool {
			client.policies.mu.Lock()
			defer client.policies.mu.Unlock()
			return len(client.policies.waiting[testGrant.Resource]) == n
		})
	}
	first := add("user:first@x.example")
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.calls == 1 })
	public := add("allUsers")
	waiting(1)
	var good []chan error
	for i := range 20 {
		good = append(good, add(fmt.Sprintf("user:good%d@x.example", i)))
		waiting(i + 2)
	}
	close(gate)
	if err := <-public; !strings.Contains(fmt.Sprint(err), "public access prevention is enforced") || IsAmbiguous(err) {
		t.Errorf("got %v", err)
	}
	for _, c := range append(good, first) {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	// The first, all together, the good ones, the bad one; none was written again after a pause.
	again := slices.ContainsFunc(clock.pauses(), func(d time.Duration) bool { return d > gatherPause })
	if s.calls != 4 || again {
		t.Errorf("%d writes, pauses %v", s.calls, clock.pauses())
	}
}

// One change that is refused among many, by a text that does not say which, is found by halves.
func TestPolicyRefusalIsFoundByHalves(t *testing.T) {
	t.Parallel()
	s, client, _ := newPolicyServer(t)
	s.refuse = func(_ int, body string) (int, string, string) {
		if strings.Contains(body, "user:m37@") {
			return 412, "conditionNotMet", "One or more users named in the policy do not belong to a permitted customer, perhaps due to an organization policy."
		}
		return 0, "", ""
	}
	var changes []*policyChange
	for i := range 64 {
		changes = append(changes, &policyChange{grant: Grant{testGrant.Resource, viewer, fmt.Sprintf("user:m%d@x.example", i)}, ctx: t.Context(), done: make(chan policyResult, 1)})
	}
	b := newBatch(changes)
	err := client.policies.apply(testGrant.Resource, b, false)
	b.end()
	client.policies.settle(testGrant.Resource, b.changes, err)
	for i, change := range changes {
		if r := <-change.done; (r.err != nil) != (i == 37) {
			t.Errorf("%d: %v", i, r.err)
		}
	}
	if s.calls > 2*7 {
		t.Errorf("%d writes", s.calls)
	}
}
