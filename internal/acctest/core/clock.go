// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"runtime"
	"time"

	"github.com/jonboulle/clockwork"
)

// Clock is a clock for providers: whoever pauses on it moves it on, so that an
// hour of waiting takes no time. A function that is to run after a while
// (AfterFunc) moves nothing: it is a limit, not a pause.
type Clock struct{ *clockwork.FakeClock }

// NewClock returns a clock that begins now.
func NewClock() *Clock { return &Clock{clockwork.NewFakeClockAt(time.Now())} }

// yield lets the emulator come to its end with what it does in the background:
// the pause that is skipped was there for it.
func yield() {
	for range 50 {
		runtime.Gosched()
	}
	<-time.After(2 * time.Millisecond)
}

// After is a pause.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	done := c.FakeClock.After(d)
	yield()
	c.Advance(d)
	return done
}

// NewTimer is a pause.
func (c *Clock) NewTimer(d time.Duration) clockwork.Timer {
	t := c.FakeClock.NewTimer(d)
	yield()
	c.Advance(d)
	return t
}

// Sleep is a pause.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }
