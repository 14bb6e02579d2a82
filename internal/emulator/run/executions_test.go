// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
)

func TestRunSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	name, op := w.run()
	a := w.attempt(name, "0")
	a.Exit(0)
	e := &runpb.Execution{}
	w.response(op, e)
	if e.GetSucceededCount() != 1 {
		t.Errorf("%v", e)
	}
}
