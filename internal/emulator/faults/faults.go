// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package faults

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// ErrCut is what Begin returns for a call whose connection is to be cut: the
// caller returns without an answer, the middleware closes the connection.
var ErrCut = errors.New("connection cut by a scripted fault")

// Call is one request as it came in.
type Call struct {
	// Seq numbers the calls from 1 in the order of their arrival.
	Seq int
	// Method is "google.cloud.run.v2.Jobs/RunJob" for gRPC, also when the call
	// came by REST, and the id of the discovery document for Cloud Storage:
	// "storage.buckets.insert".
	Method string
	// Resource is what the call is about: the full name, also of what a create
	// is to make. For Cloud Storage "BUCKET" or "BUCKET/OBJECT".
	Resource string
	// Request is a copy of the gRPC request; nil for Cloud Storage.
	Request proto.Message
	// Body and Query are those of a Cloud Storage request.
	Body  []byte
	Query url.Values
	// UserAgent is the client's own.
	UserAgent string
	// Time is when the call arrived.
	Time time.Time
	// Code is the answer, also of a call whose answer was lost. A call that was
	// cut has codes.Unavailable, and one that is not answered yet codes.Unknown.
	Code codes.Code
}

// OperationFault changes how the operation of a call ends.
type OperationFault struct {
	// Status ends it with this error.
	Status *status.Status
	// NoResponse ends it done, with neither response nor error.
	NoResponse bool
	// Unready ends it well, and leaves the job not ready for this reason.
	Unready *status.Status
	// Never leaves it open for ever.
	Never bool
	// Delay is added to the service's own.
	Delay time.Duration
}

// Fault says what goes wrong with which calls. Each fault counts the calls that
// match it by itself. When several strike one call, their hooks run in the order
// they were added, and the first that refuses or cuts ends it.
type Fault struct {
	// Method is the exact method, or a pattern in which * stands for any text:
	// "*/RunJob", "storage.buckets.*". Empty matches every call.
	Method string
	// Match narrows it further; nil means every call of the method. It must not
	// call the script.
	Match func(Call) bool
	// After lets so many matching calls pass first.
	After int
	// Times is how often the fault strikes: 0 means once, -1 always.
	Times int

	// Do is called before the call, without any lock held: it may change what
	// the emulator holds.
	Do func(Call)
	// Wait holds the call up until it returns. The context is the call's.
	Wait func(ctx context.Context)
	// Status refuses the call before it has an effect.
	Status *status.Status
	// Cut closes the connection before the call has an effect.
	Cut bool
	// Lose does the call and closes the connection instead of answering.
	Lose bool
	// Operation changes the end of the call's operation.
	Operation *OperationFault
}

// Handle is a fault that was added.
type Handle struct {
	script *Script
	fault  Fault
	seen   int
	struck int
}

// Struck returns how many calls the fault has struck so far.
func (h *Handle) Struck() int {
	h.script.mu.Lock()
	defer h.script.mu.Unlock()
	return h.struck
}

// Remove takes the fault away.
func (h *Handle) Remove() {
	h.script.mu.Lock()
	defer h.script.mu.Unlock()
	h.script.faults = slices.DeleteFunc(h.script.faults, func(o *Handle) bool { return o == h })
}

// keepCalls bounds the record of an emulator that runs for days: when it is
// full, the older half goes.
const keepCalls = 20_000

// keepBytes bounds the bodies in it: a policy with a thousand members is sent
// with each change of it. Of older calls all but the body stays.
const keepBytes = 32 << 20

// Script holds the faults to come and the record of calls. It is safe for
// concurrent use.
type Script struct {
	clock clockwork.Clock

	mu       sync.Mutex
	faults   []*Handle
	calls    []Call
	bytes    int // of the bodies in calls
	bare     int // so many of calls, from the oldest on, have no body any more
	watchers []func(Call)
	seq      int
}

// NewScript returns a script without faults; a nil clock is the real one.
func NewScript(clock clockwork.Clock) *Script {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	return &Script{clock: clock}
}

// StartAt makes the next call the one after the n-th: for a script that takes over
// from another.
func (s *Script) StartAt(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq = n
}

// Last is the number of the newest call.
func (s *Script) Last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// Add adds a fault behind those that are there.
func (s *Script) Add(f Fault) *Handle {
	h := &Handle{script: s, fault: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, h)
	return h
}

// Reset takes every fault away and leaves the record.
func (s *Script) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Forget forgets the record and leaves the faults.
func (s *Script) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.bytes, s.bare = nil, 0, 0
}

// keep adds a call to the record; s.mu is held.
func (s *Script) keep(c Call) {
	if len(s.calls) >= keepCalls {
		old := len(s.calls) - keepCalls/2
		for _, gone := range s.calls[:old] {
			s.bytes -= len(gone.Body)
		}
		s.calls = append([]Call{}, s.calls[old:]...)
		s.bare = max(s.bare-old, 0)
	}
	s.calls = append(s.calls, c)
	s.bytes += len(c.Body)
	for ; s.bytes > keepBytes && s.bare < len(s.calls)-1; s.bare++ {
		s.bytes -= len(s.calls[s.bare].Body)
		s.calls[s.bare].Body = nil
	}
}

// Calls returns the record, oldest first.
func (s *Script) Calls() []Call { return s.Find("") }

// Find returns the recorded calls of a method, exact or with * as in
// Fault.Method, oldest first.
func (s *Script) Find(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if Matches(method, c.Method) {
			found = append(found, c)
		}
	}
	return found
}

// Count returns how many calls of a method were recorded.
func (s *Script) Count(method string) int { return len(s.Find(method)) }

// Matches reports whether a pattern, as in Fault.Method, matches a method.
func Matches(pattern, method string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(method, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// Begin records a call and lets the faults that match strike. It returns the
// context to go on with and a function to be called with the code of the answer.
// The error is ErrCut, or a status error to answer with; then the call must have
// no effect, and its end is recorded already.
func (s *Script) Begin(ctx context.Context, c Call) (context.Context, func(codes.Code), error) {
	if ctx.Value(quietKey{}) != nil {
		return ctx, func(codes.Code) {}, nil
	}
	if c.Request != nil {
		c.Request = proto.Clone(c.Request)
	}
	s.mu.Lock()
	s.seq++
	c.Seq, c.Time, c.Code = s.seq, s.clock.Now(), codes.Unknown
	s.keep(c)
	var struck []Fault
	for _, h := range s.faults {
		f := h.fault
		if !Matches(f.Method, c.Method) || f.Match != nil && !f.Match(c) {
			continue
		}
		h.seen++
		if h.seen <= f.After || f.Times >= 0 && h.struck >= max(f.Times, 1) {
			continue
		}
		h.struck++
		struck = append(struck, f)
	}
	s.mu.Unlock()

	end := func(code codes.Code) { s.end(c, code) }
	for _, f := range struck {
		if f.Do != nil {
			f.Do(c)
		}
		if f.Wait != nil {
			f.Wait(ctx)
		}
		if f.Operation != nil {
			ctx = context.WithValue(ctx, operationKey{}, f.Operation)
		}
		switch {
		case f.Cut:
			markOf(ctx).cut()
			end(codes.Unavailable)
			return ctx, func(codes.Code) {}, ErrCut
		case f.Status != nil:
			end(f.Status.Code())
			return ctx, func(codes.Code) {}, f.Status.Err()
		case f.Lose:
			markOf(ctx).lose()
		}
	}
	return ctx, end, nil
}

type quietKey struct{}

// Quiet marks calls that are the emulator's own: they are not recorded, and no
// fault strikes them.
func Quiet(ctx context.Context) context.Context {
	return context.WithValue(ctx, quietKey{}, true)
}

// Watch calls f with each call when it ends, without any lock held. Reset leaves
// it.
func (s *Script) Watch(f func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, f)
}

func (s *Script) end(c Call, code codes.Code) {
	c.Code = code
	s.mu.Lock()
	for i := range slices.Backward(s.calls) {
		if s.calls[i].Seq == c.Seq {
			s.calls[i].Code = code
			break
		}
	}
	watchers := slices.Clone(s.watchers)
	s.mu.Unlock()
	for _, f := range watchers {
		f(c)
	}
}

type operationKey struct{}

// OperationFaultFrom returns what is to happen to the operation of the call that
// the context belongs to; nil when nothing is.
func OperationFaultFrom(ctx context.Context) *OperationFault {
	f, _ := ctx.Value(operationKey{}).(*OperationFault)
	return f
}
