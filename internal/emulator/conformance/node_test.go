// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The packages @google-cloud/run and @google-cloud/secret-manager (gRPC and REST)
// and @google-cloud/storage.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	node := command(t, "node", true)
	if _, err := os.Stat(filepath.Join("node", "node_modules")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the Node.js packages are not installed: npm ci in internal/emulator/conformance/node")
		}
		t.Skip("the Node.js packages are not installed (make conformance installs them), so they cannot judge the emulator here")
	}
	e := start(t)
	cmd := exec.CommandContext(t.Context(), node, "--test", "conformance.test.mjs")
	cmd.Dir = "node"
	cmd.Env = append(os.Environ(), "EMULATOR_HOST="+e.Addr())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
