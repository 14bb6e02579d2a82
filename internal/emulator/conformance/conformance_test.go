// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package conformance

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func TestMain(m *testing.M) {
	runner.MaybeInit()
	os.Exit(m.Run())
}

// start runs an emulator with real processes for one test.
func start(t *testing.T) *emulator.Emulator {
	t.Helper()
	e, err := emulator.Start(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// closeAfter closes a client at the end of the test.
func closeAfter(t *testing.T, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// command finds an outside client. One that is not installed is no fault of the
// emulator, except in CI, which installs what it can.
func command(t *testing.T, name string, inCI bool) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if inCI && os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed: CI must run this judge", name)
	}
	t.Skipf("%s is not installed, so it cannot judge the emulator here", name)
	return ""
}

const (
	project = "conformance-project"
	parent  = "projects/" + project + "/locations/us-central1"
)
