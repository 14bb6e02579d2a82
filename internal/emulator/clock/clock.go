// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package clock

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Clock goes with its base, ahead of it by an offset. It is safe for concurrent
// use. Tickers are the base's own: they do not notice a jump.
type Clock struct {
	clockwork.Clock // the base

	mu      sync.Mutex
	jumps   []jump // the last one counts now
	waiting map[*timer]bool
	made    int
	fired   int // timers that the base has fired
	firing  int // of those, the ones that are not done
}

// jump is the offset since a time of the base.
type jump struct {
	at     time.Time
	offset time.Duration
}

// New returns a clock that is ahead of the base by the offset; a nil base is the
// real time.
func New(base clockwork.Clock, offset time.Duration) *Clock {
	if base == nil {
		base = clockwork.NewRealClock()
	}
	return &Clock{Clock: base, waiting: map[*timer]bool{}, jumps: []jump{{offset: offset}}}
}

// Now is the present of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time { return c.Clock.Now().Add(c.offset()) }

func (c *Clock) offset() time.Duration { return c.jumps[len(c.jumps)-1].offset }

// Offset is how far the clock is ahead of its base.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset()
}

// Since is how long ago t was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is how far away t is.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Ago is what the clock showed when the base was younger by the age. A file that
// was written before a jump was written at the time before it. The age is asked
// for here, so that no time passes between it and the look at the base.
func (c *Clock) Ago(age func() time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	at := now.Add(-age())
	offset := c.jumps[0].offset
	for _, j := range c.jumps[1:] {
		if j.at.After(at) {
			break
		}
		offset = j.offset
	}
	return at.Add(offset)
}

// NextIn is how long it is until something falls due; false when nothing waits.
// It is negative for what is being fired.
func (c *Clock) NextIn() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first time.Time
	for t := range c.waiting {
		if first.IsZero() || t.due.Before(first) {
			first = t.due
		}
	}
	return first.Sub(c.now()), !first.IsZero()
}

// Fired is how many timers the base has fired so far, and whether all of them are
// done: what such a function leaves may come a moment after NextIn has forgotten
// its timer.
func (c *Clock) Fired() (timers int, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fired, c.firing == 0
}

// Jump puts the clock ahead and fires what has fallen due, the oldest first. It
// returns when the functions of AfterFunc have returned; a negative jump is for a
// clock that nothing has been read from.
func (c *Clock) Jump(by time.Duration) {
	c.mu.Lock()
	c.jumps = append(c.jumps, jump{c.Clock.Now(), c.offset() + by})
	now := c.now()
	var due []*timer
	for t := range c.waiting {
		if t.due.After(now) {
			t.base.Reset(t.due.Sub(now))
			continue
		}
		t.base.Stop()
		delete(c.waiting, t)
		due = append(due, t)
	}
	c.mu.Unlock()
	slices.SortFunc(due, func(a, b *timer) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.number, b.number))
	})
	for _, t := range due {
		t.deliver(now)
	}
}

// After is the channel of a new timer.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// Sleep waits for the time to be over.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// NewTimer sends the time on its channel once d is over.
func (c *Clock) NewTimer(d time.Duration) clockwork.Timer { return c.start(d, nil) }

// AfterFunc calls f once d is over: by a goroutine of its own, or by that of the
// jump.
func (c *Clock) AfterFunc(d time.Duration, f func()) clockwork.Timer { return c.start(d, f) }

func (c *Clock) start(d time.Duration, f func()) *timer {
	t := &timer{clock: c, f: f}
	if f == nil {
		t.ch = make(chan time.Time, 1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	t.number = c.made
	t.arm(d)
	return t
}

// timer is one of the clock, by one of its base. Guarded by the clock's lock, but
// for what never changes: clock, ch, f and number.
type timer struct {
	clock  *Clock
	ch     chan time.Time
	f      func()
	number int
	due    time.Time
	base   clockwork.Timer
}

func (t *timer) arm(d time.Duration) {
	t.due = t.clock.now().Add(d)
	t.clock.waiting[t] = true
	if t.base == nil {
		t.base = t.clock.Clock.AfterFunc(d, t.fire)
	} else {
		t.base.Reset(d)
	}
}

// fire is called by the base, which may have been overtaken by a jump.
func (t *timer) fire() {
	t.clock.mu.Lock()
	now := t.clock.now()
	if !t.clock.waiting[t] {
		t.clock.mu.Unlock()
		return
	}
	delete(t.clock.waiting, t)
	t.clock.fired++
	t.clock.firing++
	t.clock.mu.Unlock()
	t.deliver(now)
	t.clock.mu.Lock()
	t.clock.firing--
	t.clock.mu.Unlock()
}

func (t *timer) deliver(now time.Time) {
	if t.f != nil {
		t.f()
		return
	}
	select {
	case t.ch <- now:
	default:
	}
}

// Chan is the channel of a timer of NewTimer.
func (t *timer) Chan() <-chan time.Time { return t.ch }

// Stop lets the timer never fire; false when it has fired, or was stopped.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *timer) stop() bool {
	waited := t.clock.waiting[t]
	delete(t.clock.waiting, t)
	t.base.Stop()
	return waited
}

// Reset lets the timer fire when d is over from now; false when it had fired or
// was stopped before.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	waited := t.stop()
	t.arm(d)
	return waited
}
