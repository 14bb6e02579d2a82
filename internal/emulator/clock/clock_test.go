// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package clock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/clock"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// A jump fires what falls due, in order, and leaves the rest as much shorter.
func TestJump(t *testing.T) {
	t.Parallel()
	base := clockwork.NewFakeClockAt(start)
	c := clock.New(base, 0)
	var fired []string
	c.AfterFunc(2*time.Hour, func() { fired = append(fired, "2h") })
	c.AfterFunc(time.Hour, func() { fired = append(fired, "1h") })
	c.AfterFunc(time.Hour, func() { fired = append(fired, "1h again") })
	stopped := c.AfterFunc(time.Minute, func() { fired = append(fired, "stopped") })
	late := c.NewTimer(4 * time.Hour)
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer is stopped once")
	}
	if next, ok := c.NextIn(); !ok || next != time.Hour {
		t.Errorf("next in %s, %t", next, ok)
	}
	c.Jump(3 * time.Hour)
	if want := []string{"1h", "1h again", "2h"}; !slices.Equal(fired, want) {
		t.Errorf("fired %q, want %q", fired, want)
	}
	if got := c.Now(); !got.Equal(start.Add(3*time.Hour)) || c.Offset() != 3*time.Hour {
		t.Errorf("now %s, offset %s", got, c.Offset())
	}
	select {
	case <-late.Chan():
		t.Error("fired an hour early")
	default:
	}
	base.Advance(time.Hour)
	select {
	case <-late.Chan():
	case <-time.After(10 * time.Second):
		t.Error("the base does not fire what a jump has made shorter")
	}
	if _, ok := c.NextIn(); ok {
		t.Error("something still waits")
	}
	if late.Reset(time.Minute) {
		t.Error("the timer had fired")
	}
	c.Jump(time.Minute)
	select {
	case <-late.Chan():
	default:
		t.Error("a timer that was set again does not fire")
	}
}

// A timer waits for its base once, so that tests may count who waits for a fake
// clock.
func TestOneWaiterEach(t *testing.T) {
	t.Parallel()
	base := clockwork.NewFakeClockAt(start)
	c := clock.New(base, time.Hour)
	go c.Sleep(time.Minute)
	c.NewTimer(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := base.BlockUntilContext(ctx, 2); err != nil {
		t.Error(err)
	}
}

// Before a jump it was earlier by the jump.
func TestAgo(t *testing.T) {
	t.Parallel()
	base := clockwork.NewFakeClockAt(start)
	c := clock.New(base, time.Hour)
	base.Advance(time.Minute)
	c.Jump(6 * time.Hour)
	base.Advance(time.Minute)
	for age, want := range map[time.Duration]time.Duration{
		0:                 7*time.Hour + 2*time.Minute,
		30 * time.Second:  7*time.Hour + 90*time.Second,
		90 * time.Second:  time.Hour + 30*time.Second,
		120 * time.Minute: time.Hour - 118*time.Minute,
	} {
		if got := c.Ago(func() time.Duration { return age }).Sub(start); got != want {
			t.Errorf("%s ago: %s after the start, want %s", age, got, want)
		}
	}
	if c.Until(c.Now().Add(time.Hour)) != time.Hour || c.Since(c.Now().Add(-time.Hour)) != time.Hour {
		t.Error("Since and Until do not go by the clock")
	}
}
