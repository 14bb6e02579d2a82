// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const (
	// offsetKey is where the store keeps how far the clock is ahead: what is kept
	// beside it has times of this clock.
	offsetKey = "clock/offset"
	// maxForward is the largest jump; ten years.
	maxForward = 10 * 365 * 24 * time.Hour
	// patience is how long a jump waits for programs to start or to end before it
	// goes on: the grace of a task that is killed, and a little.
	patience = runner.DefaultGrace + 5*time.Second
	// glance is how often it looks.
	glance = 2 * time.Millisecond
)

func readOffset(s *store.Store) (time.Duration, error) {
	raw, ok := s.Get(offsetKey)
	if !ok {
		return 0, nil
	}
	offset, err := time.ParseDuration(string(raw))
	if err != nil {
		return 0, fmt.Errorf("record %s: %w", offsetKey, err)
	}
	return offset, nil
}

// Now is the time of the emulator's clock.
func (e *Emulator) Now() time.Time { return e.world().clock.Now() }

// FastForward puts the emulator's clock ahead, as if the time had passed: what
// falls due on the way happens at its time and in its order. The clock stands
// still while programs start and end, which takes real time, and goes on when
// they have. A program sees nothing of it; its own clock does not move.
func (e *Emulator) FastForward(ctx context.Context, by time.Duration) error {
	w := e.world()
	if !w.enter() {
		return errResetting().Err()
	}
	defer w.leave()
	return w.fastForward(ctx, by)
}

func (w *world) fastForward(ctx context.Context, by time.Duration) error {
	if by <= 0 || by > maxForward {
		return status.Errorf(codes.InvalidArgument, "The clock goes ahead only, and by %s at most: %s is not possible. Write how far it is to go, such as \"90s\", \"30m\" or \"6h\".", hours(maxForward), hours(by))
	}
	if !w.forward.TryLock() {
		return errBusy("fast-forward or seed")
	}
	defer w.forward.Unlock()
	if err := w.settle(ctx); err != nil {
		return err
	}
	return w.advance(ctx, by)
}

// advance puts the clock ahead by so much, from one thing that falls due to the
// next; a negative way is none.
func (w *world) advance(ctx context.Context, by time.Duration) error {
	for by > 0 {
		step, err := w.step(ctx, by)
		if err != nil {
			return err
		}
		by -= step
	}
	return nil
}

// step moves the clock to the next event, or by the limit, and waits until things
// are steady again. It returns how far that was. w.forward is held.
func (w *world) step(ctx context.Context, limit time.Duration) (time.Duration, error) {
	step := limit
	if next, waits := w.clock.NextIn(); waits {
		step = max(min(next, limit), 0)
	}
	if err := w.move(step); err != nil {
		return 0, err
	}
	return step, w.settle(ctx)
}

// move moves the clock. The store first: it must hold no time that its clock has
// not reached.
func (w *world) move(by time.Duration) error {
	if err := w.store.Put(offsetKey, []byte((w.clock.Offset() + by).String())); err != nil {
		return status.Errorf(codes.Internal, "The clock cannot be kept: %v", err)
	}
	w.clock.Jump(by)
	return nil
}

// settle waits until nothing is under way but programs that run and time.
func (w *world) settle(ctx context.Context) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !w.steady() {
		again := time.NewTimer(glance)
		select {
		case <-again.C:
		case <-limit.C:
			return nil
		case <-ctx.Done():
			again.Stop()
			return status.FromContextError(context.Cause(ctx)).Err()
		case <-w.ended.Done():
			again.Stop()
			return errResetting().Err()
		}
	}
	return nil
}

// steady reports whether the executions are, and no timer was just being fired.
func (w *world) steady() bool {
	before, done := w.clock.Fired()
	if !done || !w.run.Steady() {
		return false
	}
	after, done := w.clock.Fired()
	return done && after == before
}

// hours writes a duration without the zeros behind it: 6h, 90s, 1h30m.
func hours(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// errResetting is the answer to calls while there is no cloud to be asked.
func errResetting() *status.Status {
	return status.New(codes.Unavailable, "The emulator is being reset or stopped: try again when that is done.")
}

// errBusy is the answer to a control call that excludes itself.
func errBusy(what string) error {
	return status.Errorf(codes.Aborted, "Another %s is under way: wait for its answer and try again.", what)
}
