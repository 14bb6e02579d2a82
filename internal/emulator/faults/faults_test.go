// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

var refused = status.New(codes.Unavailable, "The service is currently unavailable.")

// call is one call that is answered with OK; it returns what Begin said.
func call(t *testing.T, s *faults.Script, method string) error {
	t.Helper()
	_, end, err := s.Begin(t.Context(), faults.Call{Method: method})
	if err == nil {
		end(codes.OK)
	}
	return err
}

func TestWhichCallsAreStruck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault faults.Fault
		want  []bool
	}{
		"once by default": {faults.Fault{}, []bool{true, false, false, false}},
		"three times":     {faults.Fault{Times: 3}, []bool{true, true, true, false}},
		"always":          {faults.Fault{Times: -1}, []bool{true, true, true, true}},
		"after two":       {faults.Fault{After: 2}, []bool{false, false, true, false}},
		"when it matches": {faults.Fault{Times: -1, Match: func(c faults.Call) bool { return c.Seq%2 == 0 }}, []bool{false, true, false, true}},
		"other method":    {faults.Fault{Method: "storage.buckets.get", Times: -1}, []bool{false, false, false, false}},
	} {
		s := faults.NewScript(nil)
		c.fault.Status = refused
		h := s.Add(c.fault)
		var got []bool
		struck := 0
		for range c.want {
			hit := call(t, s, "google.cloud.run.v2.Jobs/RunJob") != nil
			if hit {
				struck++
			}
			got = append(got, hit)
		}
		if !slices.Equal(got, c.want) || h.Struck() != struck {
			t.Errorf("%s: struck %v (%d), want %v", name, got, h.Struck(), c.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	const method = "google.cloud.run.v2.Jobs/RunJob"
	for pattern, want := range map[string]int{
		"": 1, "*": 1, method: 1, "*/RunJob": 1, "google.cloud.run.v2.*": 1, "google.*.Jobs/*": 1, "*.Jobs/*Job": 1,
		"*/GetJob": 0, "RunJob": 0, "google.cloud.run.v2.Jobs/Run": 0, "*Job*Job*RunJob": 0, "storage.*": 0,
	} {
		s := faults.NewScript(nil)
		if err := call(t, s, method); err != nil {
			t.Fatal(err)
		}
		if got := s.Count(pattern); got != want {
			t.Errorf("Count(%q) = %d, want %d", pattern, got, want)
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := faults.NewScript(clock)
	var watched []string
	s.Watch(func(c faults.Call) { watched = append(watched, c.Method+" "+c.Code.String()) })
	s.Add(faults.Fault{Method: "b", Status: refused})
	s.Add(faults.Fault{Method: "c", Cut: true})
	req := &runpb.GetJobRequest{Name: "j"}
	_, end, err := s.Begin(t.Context(), faults.Call{Method: "a", Resource: "r", Request: req, UserAgent: "ua"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Calls()[0]; got.Code != codes.Unknown {
		t.Errorf("a call under way has the code %v", got.Code)
	}
	req.Name = "changed afterwards"
	end(codes.NotFound)
	clock.Advance(time.Second)
	if err := call(t, s, "b"); status.Code(err) != codes.Unavailable {
		t.Errorf("refused with %v", err)
	}
	if err := call(t, s, "c"); !errors.Is(err, faults.ErrCut) {
		t.Errorf("cut with %v", err)
	}
	var codesOf []codes.Code
	for i, c := range s.Calls() {
		codesOf = append(codesOf, c.Code)
		if c.Seq != i+1 {
			t.Errorf("call %d has the number %d", i+1, c.Seq)
		}
	}
	if !slices.Equal(codesOf, []codes.Code{codes.NotFound, codes.Unavailable, codes.Unavailable}) {
		t.Errorf("codes %v", codesOf)
	}
	if want := []string{"a NotFound", "b Unavailable", "c Unavailable"}; !slices.Equal(watched, want) {
		t.Errorf("watched %v, want %v", watched, want)
	}
	first := s.Find("a")[0]
	if first.Resource != "r" || first.UserAgent != "ua" || first.Request.(*runpb.GetJobRequest).GetName() != "j" {
		t.Errorf("recorded %+v", first)
	}
	if !s.Find("b")[0].Time.Equal(first.Time.Add(time.Second)) {
		t.Error("the time is not the clock's")
	}
	s.Forget()
	if len(s.Calls()) != 0 {
		t.Error("Forget left calls")
	}
	h := s.Add(faults.Fault{Status: refused, Times: -1})
	if call(t, s, "d") == nil {
		t.Error("Forget took the faults too")
	}
	h.Remove()
	if err := call(t, s, "d"); err != nil {
		t.Errorf("a removed fault struck: %v", err)
	}
	s.Add(faults.Fault{Status: refused, Times: -1})
	before := s.Count("")
	s.Reset()
	if err := call(t, s, "d"); err != nil || s.Count("") != before+1 {
		t.Errorf("after Reset: %v, %d calls, want the record of %d and this one", err, s.Count(""), before)
	}
}

// An emulator that runs for days keeps the newest calls only.
func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	s := faults.NewScript(nil)
	const made = 30_000
	for range made {
		if err := call(t, s, "m"); err != nil {
			t.Fatal(err)
		}
	}
	calls := s.Calls()
	if len(calls) >= made || len(calls) < 10_000 || calls[len(calls)-1].Seq != made || calls[len(calls)-1].Code != codes.OK {
		t.Errorf("%d calls are kept, the last is %+v", len(calls), calls[len(calls)-1])
	}
}

// Large bodies do not pile up: the newest are there, and of the older calls the
// rest.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := faults.NewScript(nil)
	body := make([]byte, 1<<20)
	const made = 25_000 // more than the record holds
	for i := range made {
		c := faults.Call{Method: "storage.buckets.setIamPolicy", Resource: "b"}
		if i%100 == 0 {
			c.Body = body
		}
		_, end, err := s.Begin(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		end(codes.OK)
	}
	held, calls := 0, s.Calls()
	for _, c := range calls {
		held += len(c.Body)
		if c.Resource != "b" {
			t.Fatalf("%v", c)
		}
	}
	if held > 32<<20 || held < 31<<20 || len(calls) < 10_000 {
		t.Errorf("%d calls hold %d bytes", len(calls), held)
	}
	if newest := calls[len(calls)-100]; newest.Seq != made-99 || len(newest.Body) != 1<<20 {
		t.Errorf("the newest body: call %d with %d bytes", newest.Seq, len(newest.Body))
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	s := faults.NewScript(nil)
	var order []string
	s.Add(faults.Fault{Do: func(c faults.Call) { order = append(order, "do "+c.Method+" of "+c.Resource) }})
	s.Add(faults.Fault{Wait: func(context.Context) { order = append(order, "wait") }, Operation: &faults.OperationFault{Never: true}})
	ctx, end, err := s.Begin(t.Context(), faults.Call{Method: "a", Resource: "r"})
	if err != nil {
		t.Fatal(err)
	}
	end(codes.OK)
	if !slices.Equal(order, []string{"do a of r", "wait"}) {
		t.Errorf("hooks ran: %v", order)
	}
	if f := faults.OperationFaultFrom(ctx); f == nil || !f.Never {
		t.Errorf("operation fault %v", f)
	}
	if f := faults.OperationFaultFrom(t.Context()); f != nil {
		t.Errorf("operation fault of another call: %v", f)
	}
}

func TestInterceptor(t *testing.T) {
	t.Parallel()
	const project, location = "projects/p", "projects/p/locations/l"
	for want, req := range map[string]any{
		location + "/jobs/j":             &runpb.CreateJobRequest{Parent: location, JobId: "j"},
		location:                         &runpb.ListJobsRequest{Parent: location},
		location + "/jobs/g":             &runpb.GetJobRequest{Name: location + "/jobs/g"},
		location + "/jobs/u":             &runpb.UpdateJobRequest{Job: &runpb.Job{Name: location + "/jobs/u"}},
		project + "/serviceAccounts/acc": &adminpb.CreateServiceAccountRequest{Name: project, AccountId: "acc"},
		project + "/serviceAccounts/e": &adminpb.PatchServiceAccountRequest{
			ServiceAccount: &adminpb.ServiceAccount{Name: project + "/serviceAccounts/e"}},
	} {
		s := faults.NewScript(nil)
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("user-agent", "terraform/1"))
		fails := status.Error(codes.NotFound, "no")
		_, err := s.UnaryInterceptor()(ctx, req, &grpc.UnaryServerInfo{FullMethod: "/service/Method"},
			func(context.Context, any) (any, error) { return nil, fails })
		if !errors.Is(err, fails) {
			t.Errorf("the answer became %v", err)
		}
		c := s.Find("service/Method")
		if len(c) != 1 || c[0].Resource != want || c[0].Code != codes.NotFound || c[0].UserAgent != "terraform/1" {
			t.Errorf("recorded %+v, want the resource %s", c, want)
		}
	}
}

func TestInterceptorKeepsRefusedCallsOut(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{"refused": {Status: refused}, "cut": {Cut: true}} {
		s := faults.NewScript(nil)
		s.Add(fault)
		_, err := s.UnaryInterceptor()(t.Context(), &runpb.RunJobRequest{}, &grpc.UnaryServerInfo{FullMethod: "/s/m"},
			func(context.Context, any) (any, error) {
				t.Errorf("%s: the call had an effect", name)
				return nil, nil
			})
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault      faults.Fault
		done, lost bool
	}{
		"untouched": {faults.Fault{Method: "other"}, true, false},
		"cut":       {faults.Fault{Cut: true}, false, true},
		"lost":      {faults.Fault{Lose: true}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faults.NewScript(nil)
			s.Add(c.fault)
			done := false
			var mu sync.Mutex
			server := httptest.NewUnstartedServer(s.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, end, err := s.Begin(r.Context(), faults.Call{Method: "m"})
				if err != nil {
					return
				}
				mu.Lock()
				done = true
				mu.Unlock()
				_, _ = io.WriteString(w, strings.Repeat("answer", 2000)) // more than a buffer
				if f, ok := w.(http.Flusher); ok {
					f.Flush()
				}
				end(codes.OK)
			})))
			server.Config.ConnContext = faults.ConnContext
			server.Start()
			defer server.Close()
			resp, err := http.Post(server.URL, "application/json", strings.NewReader("{}"))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if (err != nil) != c.lost {
				t.Errorf("the client got %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if done != c.done {
				t.Errorf("the call was done: %v", done)
			}
		})
	}
}
