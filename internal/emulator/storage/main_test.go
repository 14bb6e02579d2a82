// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets the model run less often than the library's hundred times; a
// flag of the command line says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
