// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// faultBefore does something once, before the next call of a method. The hook may use the same emulator.
func faultBefore(method string, do func()) faults.Fault {
	var once sync.Once
	return faults.Fault{Method: method, Do: func(faults.Call) { once.Do(do) }}
}

// copyState puts the state of one configuration under another.
func copyState(t *testing.T, from, to *acctest.Terraform) {
	t.Helper()
	state, err := os.ReadFile(filepath.Join(from.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	to.WriteFile("terraform.tfstate", string(state))
}

// keyIn returns the name of a key in a location.
func keyIn(location string) string {
	return "projects/keys/locations/" + location + "/keyRings/ring/cryptoKeys/key"
}
