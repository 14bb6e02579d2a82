// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jonboulle/clockwork"
)

// Backoff says how the attempts at one thing are spaced: pauses that double from Initial up to Max, each cut by a random part of its half
// so that many clients do not come back together, until Budget is used up. Zero values take the package's own: 200 ms, 15 s, no limit.
type Backoff struct {
	Initial time.Duration
	Max     time.Duration
	Budget  time.Duration // 0: as long as the context lasts
	Clock   clockwork.Clock

	random func() float64 // [0,1); tests set it
}

// Pauses are the pauses of one series of attempts. Not safe for concurrent use.
type Pauses struct {
	b     Backoff
	start time.Time
	next  time.Duration
}

// Start begins a series now.
func (b Backoff) Start() *Pauses {
	if b.Initial <= 0 {
		b.Initial = 200 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 15 * time.Second
	}
	if b.Clock == nil {
		b.Clock = clockwork.NewRealClock()
	}
	if b.random == nil {
		b.random = rand.Float64
	}
	return &Pauses{b: b, start: b.Clock.Now(), next: b.Initial}
}

// Wait pauses before the next attempt, for atLeast and a little more when the server asked for it. It returns false, at once where it can know, when no
// further attempt fits into the budget or into ctx.
func (p *Pauses) Wait(ctx context.Context, atLeast time.Duration) bool {
	return p.wait(ctx, atLeast, p.b.Budget)
}

func (p *Pauses) wait(ctx context.Context, atLeast, budget time.Duration) bool {
	cut := time.Duration(p.b.random() * float64(p.next) / 2)
	d := p.next - cut
	p.next = min(p.next*2, p.b.Max)
	if atLeast > 0 {
		d = max(d, atLeast+cut) // nor do those come back together whom a server sent away together
	}
	if budget > 0 && p.b.Clock.Since(p.start)+d > budget {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := p.b.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.Chan():
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
