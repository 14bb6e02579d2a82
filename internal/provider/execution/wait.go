// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// How often an execution is looked at: a tenth of the time that the watch has
// taken so far, within these bounds, so that a short run is noticed quickly and
// a long one costs few calls.
const (
	pollFastest = 500 * time.Millisecond
	pollSlowest = 30 * time.Second
	pollShare   = 10
)

const (
	// outagePatience is how long a watch goes on while the API gives no answer.
	outagePatience = 5 * time.Minute
	// freshPatience is how long "not found" may be the answer about an execution
	// that the API itself has just named.
	freshPatience = 30 * time.Second
)

// watcher looks at one execution until something happens. It changes nothing:
// when it stops, for whatever reason, the execution goes on.
type watcher struct {
	api   api
	clock clockwork.Clock
}

// The reasons why a watch ends before its goal. Any other error is that of a
// call that cannot succeed.
var (
	errInterrupted = errors.New("interrupted")
	errTimeout     = errors.New("the time limit ran out")
	errForgotten   = errors.New("the execution is not known any more")
	errOutage      = errors.New("no answer from Cloud Run")
	errDenied      = errors.New("the permission to look at the execution is missing")
)

// until looks at the execution until reached says yes or the execution has
// ended, and returns what it knows last: at least e. The error says why it
// stopped before.
func (w watcher) until(ctx context.Context, name resourcename.Execution, e *runpb.Execution, limit time.Duration, reached func(*runpb.Execution) bool) (*runpb.Execution, error) {
	begin := w.clock.Now()
	answered := begin
	seen := false // a read has found it
	ctx, cancel := withLimit(ctx, w.clock, limit)
	defer cancel()
	for {
		if reached(e) || StateOf(e).Finished() {
			return e, nil
		}
		latest, err := w.api.GetExecution(ctx, name.String())
		switch {
		case err == nil:
			if StateOf(latest) != StateOf(e) {
				tflog.Info(ctx, "The execution has a new state.", map[string]any{"execution": name.Name, "state": string(StateOf(latest))})
			}
			e, answered, seen = latest, w.clock.Now(), true
			if reached(e) || StateOf(e).Finished() {
				return e, nil
			}
		case ctx.Err() != nil:
			return e, why(ctx) // the call was cut short
		case gcp.IsNotFound(err):
			if seen || w.clock.Since(begin) >= freshPatience {
				return e, fmt.Errorf("%w: %w", errForgotten, err)
			}
		case denied(err):
			return e, fmt.Errorf("%w: %w", errDenied, err)
		case !gcp.IsUnavailable(err):
			return e, err
		case w.clock.Since(answered) >= outagePatience:
			return e, fmt.Errorf("%w for %s: %w", errOutage, outagePatience, err)
		}
		pause := min(max(w.clock.Since(begin)/pollShare, pollFastest), pollSlowest)
		select {
		case <-ctx.Done():
			return e, why(ctx)
		case <-w.clock.After(pause):
		}
	}
}

// withLimit returns a context that ends with its parent, or after the limit on
// the clock: see why. It has no deadline of its own: the deadline of a clock
// that is not the real one would mean nothing to a connection.
func withLimit(parent context.Context, clock clockwork.Clock, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if limit <= 0 {
		cancel(errTimeout)
	}
	timer := clock.AfterFunc(limit, func() { cancel(errTimeout) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// why says what ended a context made by withLimit: Terraform cancels its parent
// when it is interrupted.
func why(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return errTimeout
	}
	return errInterrupted
}

func denied(err error) bool {
	e, ok := gcp.AsError(err)
	return ok && (e.Code == codes.PermissionDenied || e.Code == codes.Unauthenticated)
}

// theEnd is the goal of a watch that only the end of the execution stops.
func theEnd(*runpb.Execution) bool { return false }
