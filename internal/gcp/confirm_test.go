// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
)

// case 67: one answer that something does not exist is not believed.
func TestConfirm(t *testing.T) {
	t.Parallel()
	gone := &Error{Code: codes.NotFound}
	other := errors.New("something else")
	for name, test := range map[string]struct {
		answers []error
		want    error
	}{
		"there":           {[]error{nil}, nil},
		"there after all": {[]error{gone, nil}, nil},
		"gone":            {[]error{gone, gone}, gone},
		"not to be seen":  {[]error{gone, other}, other},
		"another trouble": {[]error{other}, other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clockwork.NewFakeClock()
			c := &Client{clock: clock}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() {
				if len(test.answers) > 1 && clock.BlockUntilContext(ctx, 1) == nil {
					clock.Advance(confirmPause)
				}
			}()
			asked := 0
			err := c.Confirm(ctx, func() error {
				asked++
				return test.answers[asked-1]
			})
			if !errors.Is(err, test.want) || asked != len(test.answers) {
				t.Errorf("asked %d times, and the error is %v", asked, err)
			}
		})
	}
}

// An interrupt does not wait for the second answer.
func TestConfirmInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	err := (&Client{clock: clockwork.NewFakeClock()}).Confirm(ctx, func() error {
		asked++
		cancel()
		return &Error{Code: codes.NotFound}
	})
	if !IsNotFound(err) || asked != 1 {
		t.Errorf("asked %d times, and the error is %v", asked, err)
	}
}
