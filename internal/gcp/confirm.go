// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"time"
)

// confirmPause lies between the two looks of Confirm.
const confirmPause = time.Second

// Confirm asks for something that was there before. When the answer is that it does not exist, it asks once more a moment later: services
// that agree with each other only after a while say so now and then of what is there, and a state that believed it would lose the thing.
// ask is a call that may be sent again: a read, or a delete.
func (c *Client) Confirm(ctx context.Context, ask func() error) error {
	err := ask()
	if IsNotFound(err) && (Backoff{Initial: confirmPause, Clock: c.clock}).Start().Wait(ctx, 0) {
		return ask()
	}
	return err
}

// answered returns the context for a call that makes or changes something, when it is on its way: an interrupt, or the end of the time allowed for the
// whole, must not make its answer unknown. The time of one request is limited all the same.
func (c *Client) answered(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
}
