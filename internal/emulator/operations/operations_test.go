// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package operations_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const parent = "projects/p/locations/us-central1"

var (
	before = wrapperspb.String("reconciling")
	after  = wrapperspb.String("ready")
)

func succeed() (proto.Message, proto.Message, *status.Status) { return after, after, nil }

// faulty is the context of a call whose operation a fault changes.
func faulty(t *testing.T, f faults.OperationFault) context.Context {
	t.Helper()
	script := faults.NewScript(nil)
	script.Add(faults.Fault{Operation: &f})
	ctx, _, err := script.Begin(t.Context(), faults.Call{Method: "create"})
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

func start(t *testing.T, s *operations.Service, ctx context.Context) *operations.Operation {
	t.Helper()
	op, first, err := s.Start(ctx, parent, before)
	if err != nil {
		t.Fatal(err)
	}
	if first.GetDone() || first.GetName() != op.Name() || text(t, first.GetMetadata().UnmarshalTo) != "reconciling" {
		t.Fatalf("the first answer is %v", first)
	}
	return op
}

func text(t *testing.T, unmarshal func(proto.Message) error) string {
	t.Helper()
	v := &wrapperspb.StringValue{}
	if err := unmarshal(v); err != nil {
		t.Fatal(err)
	}
	return v.GetValue()
}

func get(t *testing.T, s *operations.Service, name string) *longrunningpb.Operation {
	t.Helper()
	pb, err := s.GetOperation(t.Context(), &longrunningpb.GetOperationRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return pb
}

func service(t *testing.T, clock clockwork.Clock) *operations.Service {
	t.Helper()
	s := operations.New(store.Memory(), clock)
	t.Cleanup(s.Close)
	return s
}

func TestDoneAtTheFirstPoll(t *testing.T) {
	t.Parallel()
	s := service(t, nil)
	op := start(t, s, t.Context())
	uuid := regexp.MustCompile(`^` + parent + `/operations/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	if !uuid.MatchString(op.Name()) {
		t.Errorf("name %q", op.Name())
	}
	// The owner holds its own lock while it calls; finish needs it too.
	lock := make(chan struct{}, 1)
	lock <- struct{}{}
	s.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) {
		lock <- struct{}{}
		return after, after, nil
	})
	<-lock
	got := get(t, s, op.Name())
	if !got.GetDone() || text(t, got.GetResponse().UnmarshalTo) != "ready" || text(t, got.GetMetadata().UnmarshalTo) != "ready" {
		t.Errorf("the first poll finds %v", got)
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := service(t, clock)
	s.SetDelay(time.Minute)
	op := start(t, s, t.Context())
	s.FinishLater(op, succeed)
	clock.Advance(59 * time.Second)
	if get(t, s, op.Name()).GetDone() {
		t.Error("done before the delay is over")
	}
	op.Update(wrapperspb.String("half way"))
	if got := get(t, s, op.Name()); got.GetDone() || text(t, got.GetMetadata().UnmarshalTo) != "half way" {
		t.Errorf("after an update: %v", got)
	}
	clock.Advance(time.Second)
	<-op.Done()
	if got := get(t, s, op.Name()); !got.GetDone() {
		t.Errorf("after the delay: %v", got)
	}
	op.Update(wrapperspb.String("too late"))
	op.Finish(nil, nil, status.New(codes.Internal, "too late"))
	if got := get(t, s, op.Name()); got.GetError() != nil || text(t, got.GetMetadata().UnmarshalTo) != "ready" {
		t.Errorf("the end was changed afterwards: %v", got)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	s := service(t, nil)
	failed := start(t, s, t.Context())
	failed.Finish(after, nil, status.New(codes.Aborted, "Task failed"))
	if got := get(t, s, failed.Name()); !got.GetDone() || got.GetError().GetCode() != 10 || got.GetError().GetMessage() != "Task failed" || got.GetResponse() != nil {
		t.Errorf("a failed operation: %v", got)
	}
	neither := start(t, s, t.Context())
	neither.Finish(nil, nil, nil)
	if got := get(t, s, neither.Name()); !got.GetDone() || got.GetResult() != nil || text(t, got.GetMetadata().UnmarshalTo) != "reconciling" {
		t.Errorf("done with neither: %v", got)
	}
}

// case 32: an operation may end with neither response nor error.
func TestFaults(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := service(t, clock)
	refused := status.New(codes.NotFound, "Image 'x' not found.")
	for name, c := range map[string]struct {
		fault faults.OperationFault
		want  func(*longrunningpb.Operation) bool
	}{
		"error":       {faults.OperationFault{Status: refused}, func(o *longrunningpb.Operation) bool { return o.GetDone() && o.GetError().GetCode() == 5 }},
		"no response": {faults.OperationFault{NoResponse: true}, func(o *longrunningpb.Operation) bool { return o.GetDone() && o.GetResult() == nil }},
		"never":       {faults.OperationFault{Never: true}, func(o *longrunningpb.Operation) bool { return !o.GetDone() }},
		"delay":       {faults.OperationFault{Delay: time.Hour}, func(o *longrunningpb.Operation) bool { return !o.GetDone() }},
	} {
		ctx := faulty(t, c.fault)
		later := start(t, s, ctx)
		called := make(chan struct{})
		s.FinishLater(later, func() (proto.Message, proto.Message, *status.Status) {
			close(called)
			return succeed()
		})
		if c.fault.Status != nil || c.fault.NoResponse {
			<-called // the resource changes all the same
		}
		if got := get(t, s, later.Name()); !c.want(got) {
			t.Errorf("%s, FinishLater: %v", name, got)
		}
		now := start(t, s, ctx)
		now.Finish(after, after, nil)
		if got := get(t, s, now.Name()); !c.want(got) {
			t.Errorf("%s, Finish: %v", name, got)
		}
		if now.Fault() == nil || *now.Fault() != c.fault {
			t.Errorf("%s: Fault() = %v", name, now.Fault())
		}
		if c.fault.Delay > 0 {
			clock.Advance(c.fault.Delay)
			<-later.Done()
			<-now.Done()
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := service(t, clock)
	op := start(t, s, t.Context())
	type answer struct {
		op  *longrunningpb.Operation
		err error
	}
	wait := func(ctx context.Context, timeout time.Duration) chan answer {
		c := make(chan answer, 1)
		req := &longrunningpb.WaitOperationRequest{Name: op.Name()}
		if timeout > 0 {
			req.Timeout = durationpb.New(timeout)
		}
		go func() {
			got, err := s.WaitOperation(ctx, req)
			c <- answer{got, err}
		}()
		if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		return c
	}
	short := wait(t.Context(), time.Second)
	clock.Advance(time.Second)
	if got := <-short; got.err != nil || got.op.GetDone() {
		t.Errorf("a wait that is over answers %v, %v; want the open operation", got.op, got.err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := wait(ctx, 0)
	cancel()
	if got := <-gone; status.Code(got.err) != codes.Canceled {
		t.Errorf("a wait whose caller left: %v", got.err)
	}
	long := wait(t.Context(), 0)
	op.Finish(after, after, nil)
	if got := <-long; got.err != nil || !got.op.GetDone() {
		t.Errorf("a wait answers %v, %v; want the done operation", got.op, got.err)
	}
	if got, err := s.WaitOperation(t.Context(), &longrunningpb.WaitOperationRequest{Name: op.Name()}); err != nil || !got.GetDone() {
		t.Errorf("a wait for a done operation: %v, %v", got, err)
	}
}

func TestListAndDelete(t *testing.T) {
	t.Parallel()
	s := service(t, nil)
	names := map[string]bool{}
	for range 5 {
		op := start(t, s, t.Context())
		op.Finish(nil, after, nil)
		names[op.Name()] = true
	}
	if _, _, err := s.Start(t.Context(), "projects/p/locations/europe-west4", before); err != nil {
		t.Fatal(err)
	}
	token, pages := "", 0
	for {
		resp, err := s.ListOperations(t.Context(), &longrunningpb.ListOperationsRequest{Name: parent, PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, op := range resp.GetOperations() {
			if !names[op.GetName()] {
				t.Errorf("listed twice, or of another location: %s", op.GetName())
			}
			delete(names, op.GetName())
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	if pages != 3 || len(names) != 0 {
		t.Errorf("%d pages, %d operations missing", pages, len(names))
	}
	op := start(t, s, t.Context())
	if _, err := s.DeleteOperation(t.Context(), &longrunningpb.DeleteOperationRequest{Name: op.Name()}); err != nil {
		t.Fatal(err)
	}
	op.Finish(nil, after, nil) // must not bring it back
	for call, err := range map[string]error{
		"get":    second(s.GetOperation(t.Context(), &longrunningpb.GetOperationRequest{Name: op.Name()})),
		"delete": second(s.DeleteOperation(t.Context(), &longrunningpb.DeleteOperationRequest{Name: op.Name()})),
		"wait":   second(s.WaitOperation(t.Context(), &longrunningpb.WaitOperationRequest{Name: op.Name()})),
	} {
		if status.Code(err) != codes.NotFound {
			t.Errorf("%s of a deleted operation: %v", call, err)
		}
	}
	for call, err := range map[string]error{
		"get a bad name":    second(s.GetOperation(t.Context(), &longrunningpb.GetOperationRequest{Name: "operations/1"})),
		"list a bad parent": second(s.ListOperations(t.Context(), &longrunningpb.ListOperationsRequest{Name: "projects/p"})),
		"list by a filter":  second(s.ListOperations(t.Context(), &longrunningpb.ListOperationsRequest{Name: parent, Filter: "done"})),
	} {
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestOpenAfterARestart(t *testing.T) {
	t.Parallel()
	kept := store.Memory()
	first := operations.New(kept, nil)
	open := start(t, first, t.Context())
	done := start(t, first, t.Context())
	done.Finish(nil, after, nil)
	first.Close()

	again := operations.New(kept, nil)
	t.Cleanup(again.Close)
	if _, ok := again.Open(done.Name()); ok {
		t.Error("a done operation can be opened")
	}
	if _, ok := again.Open(parent + "/operations/none"); ok {
		t.Error("a missing operation can be opened")
	}
	op, ok := again.Open(open.Name())
	if !ok {
		t.Fatal("the open operation is lost")
	}
	if same, _ := again.Open(open.Name()); same != op {
		t.Error("opened twice")
	}
	op.Finish(nil, after, nil)
	if got := get(t, again, open.Name()); !got.GetDone() {
		t.Errorf("after the end: %v", got)
	}
}

func TestCloseWaitsAndStops(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := operations.New(store.Memory(), clock)
	op := start(t, s, t.Context())
	begun, ended := make(chan struct{}), errors.New("not ended")
	s.FinishLater(op, func() (proto.Message, proto.Message, *status.Status) {
		close(begun)
		ended = nil
		return succeed()
	})
	<-begun
	s.SetDelay(time.Second)
	late := start(t, s, t.Context())
	s.FinishLater(late, func() (proto.Message, proto.Message, *status.Status) {
		t.Error("finished after Close")
		return succeed()
	})
	s.Close()
	if ended != nil {
		t.Error(ended)
	}
	clock.Advance(time.Second)
}
