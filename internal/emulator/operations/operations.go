// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package operations

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const keyPrefix = "operations/"

// Service holds the operations. It is safe for concurrent use.
type Service struct {
	longrunningpb.UnimplementedOperationsServer

	store *store.Store
	clock clockwork.Clock

	mu     sync.Mutex
	delay  time.Duration
	open   map[string]*Operation // those that are not done
	closed bool
	work   sync.WaitGroup
}

// New returns a service over what the store holds; a nil clock is the real one.
func New(s *store.Store, clock clockwork.Clock) *Service {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	return &Service{store: s, clock: clock, open: map[string]*Operation{}}
}

// SetDelay says how long operations stay open that FinishLater ends. The
// default 0 ends them before the first poll.
func (s *Service) SetDelay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Close stops waiting for delays; operations that are open stay so. It returns
// when no finish function runs any more.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	for _, op := range s.open {
		if op.timer != nil {
			op.timer.Stop()
		}
	}
	s.mu.Unlock()
	s.work.Wait()
}

// Operation is one operation that its owner has still to finish.
type Operation struct {
	service *Service
	name    string
	fault   *faults.OperationFault
	done    chan struct{} // closed when the store has the end

	// Guarded by service.mu.
	timer  clockwork.Timer
	due    bool // a finish function runs: a poll waits for it
	ending bool // Finish was called
}

// Name is the full name: projects/P/locations/L/operations/UUID.
func (o *Operation) Name() string { return o.name }

// Fault is what is to happen to the operation instead of its own end; nil when
// nothing is. Finish and FinishLater see to it; the owner may look when its
// resource must show the failure too.
func (o *Operation) Fault() *faults.OperationFault { return o.fault }

// Done is closed when the operation is done.
func (o *Operation) Done() <-chan struct{} { return o.done }

// Start makes an operation below the parent, projects/P/locations/L, and
// returns it with the first answer, which is not done.
func (s *Service) Start(ctx context.Context, parent string, metadata proto.Message) (*Operation, *longrunningpb.Operation, error) {
	op := s.operation(parent + "/operations/" + uuid.NewString())
	op.fault = faults.OperationFaultFrom(ctx)
	pb := &longrunningpb.Operation{Name: op.name}
	if err := pack(&pb.Metadata, metadata); err != nil {
		return nil, nil, err
	}
	if err := store.PutProto(s.store, keyPrefix+op.name, pb); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[op.name] = op
	return op, pb, nil
}

// Open returns an operation that an earlier emulator on the same folder left
// open, for the owner to go on with; false when there is none or it is done.
func (s *Service) Open(name string) (*Operation, bool) {
	pb := &longrunningpb.Operation{}
	found, err := store.GetProto(s.store, keyPrefix+name, pb)
	if err != nil || !found || pb.GetDone() {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	op, ok := s.open[name]
	if !ok {
		op = s.operation(name)
		s.open[name] = op
	}
	return op, true
}

func (s *Service) operation(name string) *Operation {
	return &Operation{service: s, name: name, done: make(chan struct{})}
}

// FinishLater calls finish after the service's delay and ends the operation with
// what it returns. It is called without any lock of this room, by another
// goroutine: the caller may hold its own. A poll that comes when the delay is
// over waits for it. With a fault that leaves the operation open for ever, finish
// is not called.
func (s *Service) FinishLater(op *Operation, finish func() (metadata, response proto.Message, st *status.Status)) {
	if op.fault != nil && op.fault.Never {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := func() {
		metadata, response, st := finish()
		op.end(metadata, response, st)
	}
	delay := s.delay
	if op.fault != nil {
		delay += op.fault.Delay
	}
	s.afterLocked(op, delay, run)
}

// afterLocked runs the end of the operation once the delay is over.
func (s *Service) afterLocked(op *Operation, delay time.Duration, run func()) {
	if s.closed {
		return
	}
	if delay <= 0 {
		op.due = true
		s.work.Add(1)
		go func() {
			defer s.work.Done()
			run()
		}()
		return
	}
	op.timer = s.clock.AfterFunc(delay, func() {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		op.due = true
		s.work.Add(1)
		s.mu.Unlock()
		defer s.work.Done()
		run()
	})
}

// Update replaces the metadata of an operation that is not done.
func (o *Operation) Update(metadata proto.Message) {
	o.change(func(pb *longrunningpb.Operation) error { return pack(&pb.Metadata, metadata) })
}

// Finish ends the operation now, or after the delay of its fault. A nil metadata
// leaves what is there; with neither response nor status it is done with neither.
// Only the first call counts.
func (o *Operation) Finish(metadata, response proto.Message, st *status.Status) {
	if o.fault != nil && o.fault.Never {
		return
	}
	if o.fault == nil || o.fault.Delay <= 0 {
		o.end(metadata, response, st)
		return
	}
	o.service.mu.Lock()
	defer o.service.mu.Unlock()
	o.service.afterLocked(o, o.fault.Delay, func() { o.end(metadata, response, st) })
}

func (o *Operation) end(metadata, response proto.Message, st *status.Status) {
	if o.fault != nil {
		if o.fault.Status != nil {
			response, st = nil, o.fault.Status
		}
		if o.fault.NoResponse {
			response, st = nil, nil
		}
	}
	o.service.mu.Lock()
	first := !o.ending
	o.ending = true
	o.service.mu.Unlock()
	if !first {
		return
	}
	o.change(func(pb *longrunningpb.Operation) error {
		pb.Done = true
		switch {
		case st != nil:
			pb.Result = &longrunningpb.Operation_Error{Error: st.Proto()}
		case response != nil:
			result := &longrunningpb.Operation_Response{}
			if err := pack(&result.Response, response); err != nil {
				return err
			}
			pb.Result = result
		}
		if metadata == nil {
			return nil
		}
		return pack(&pb.Metadata, metadata)
	})
	o.service.mu.Lock()
	delete(o.service.open, o.name)
	o.service.mu.Unlock()
	close(o.done)
}

// change rewrites the record. The store can only fail when the folder does; the
// operation then stays as it was, which is what a client would see of a service
// that lost its disk.
func (o *Operation) change(f func(*longrunningpb.Operation) error) {
	o.service.mu.Lock()
	defer o.service.mu.Unlock()
	pb := &longrunningpb.Operation{}
	found, err := store.GetProto(o.service.store, keyPrefix+o.name, pb)
	if err != nil || !found || pb.GetDone() { // deleted meanwhile
		return
	}
	if f(pb) == nil {
		_ = store.PutProto(o.service.store, keyPrefix+o.name, pb)
	}
}

func pack(to **anypb.Any, m proto.Message) error {
	if m == nil {
		return nil
	}
	packed, err := anypb.New(m)
	if err != nil {
		return fmt.Errorf("packing %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	*to = packed
	return nil
}

// parse splits projects/P/locations/L/operations/ID.
func parse(name string) (project, location, id string, ok bool) {
	p := strings.Split(name, "/")
	if len(p) != 6 || p[0] != "projects" || p[2] != "locations" || p[4] != "operations" || p[1] == "" || p[3] == "" || p[5] == "" {
		return "", "", "", false
	}
	return p[1], p[3], p[5], true
}
