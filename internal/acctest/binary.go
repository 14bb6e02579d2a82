// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	tfprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

const (
	// providerBinary is the name under which the test binary is a provider.
	providerBinary = "terraform-provider-resilientjob"
	// processesEnv is the folder in which a provider process leaves its number.
	processesEnv = "RESILIENTJOB_ACCTEST_PROCESSES"
	targetEnv    = "RESILIENTJOB_ACC_TARGET"
	terraformEnv = "TF_ACC_TERRAFORM_PATH"
)

// Main is the body of TestMain. The same test binary is also the provider that
// the command line starts: under the name terraform-provider-resilientjob it
// serves, so that nothing has to be built for a test that interrupts or kills
// a provider.
func Main(m *testing.M) {
	runner.MaybeInit()
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case providerBinary:
		os.Exit(serve(provider.New("test"), provider.Address))
	case foreignBinary:
		os.Exit(serve(newForeign, foreignAddress))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance tests:", err)
		return 1
	}
	defer removeOverrides()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a fifth of what tests in process cost was the collector
	}
	return m.Run()
}

// prepare makes the process independent of the developer's own settings.
func prepare() error {
	switch os.Getenv(targetEnv) {
	case "", "emulator", "gcp":
	default:
		return fmt.Errorf("%s is %q: it must be \"emulator\" or \"gcp\"", targetEnv, os.Getenv(targetEnv))
	}
	if os.Getenv("TF_ACC") == "" {
		return nil
	}
	if _, err := terraformPath(); err != nil {
		return err
	}
	// Terraform takes what a provider process logs; here nobody would.
	for _, name := range []string{"SDK", "SDK_PROTO", "SDK_FRAMEWORK", "PROVIDER", "PROVIDER_RESILIENTJOB"} {
		if err := os.Setenv("TF_LOG_"+name, "off"); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Unsetenv("TF_CLI_CONFIG_FILE"),
		os.Setenv("CHECKPOINT_DISABLE", "1"),
	)
}

// terraformPath finds the command line: TF_ACC_TERRAFORM_PATH, else terraform
// on PATH.
func terraformPath() (string, error) {
	if p := os.Getenv(terraformEnv); p != "" {
		found, err := exec.LookPath(p)
		if err != nil {
			return "", fmt.Errorf("%s=%s is not a program that can be started: %w", terraformEnv, p, err)
		}
		return filepath.Abs(found)
	}
	found, err := exec.LookPath("terraform")
	if err != nil {
		return "", fmt.Errorf("the terraform command is not on PATH: install it (https://developer.hashicorp.com/terraform/install), or set %s to terraform or tofu", terraformEnv)
	}
	return filepath.Abs(found)
}

// serve is the provider process. It leaves its number in a file while it lives.
func serve(provider func() tfprovider.Provider, address string) int {
	if dir := os.Getenv(processesEnv); dir != "" {
		file := filepath.Join(dir, strconv.Itoa(os.Getpid()))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.Remove(file) //nolint:errcheck // The folder is removed with the test.
	}
	if err := providerserver.Serve(context.Background(), provider, providerserver.ServeOpts{Address: address}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

var overrides struct {
	once sync.Once
	dir  string
	err  error
}

// overridesDir is a folder in which this test binary has the provider's name.
func overridesDir() (string, error) {
	overrides.once.Do(func() {
		self, err := os.Executable()
		if err != nil {
			overrides.err = err
			return
		}
		dir, err := os.MkdirTemp("", "resilientjob-acctest-")
		if err != nil {
			overrides.err = err
			return
		}
		overrides.dir = dir
		overrides.err = os.Symlink(self, filepath.Join(dir, providerBinary))
	})
	return overrides.dir, overrides.err
}

func removeOverrides() {
	if overrides.dir != "" {
		os.RemoveAll(overrides.dir) //nolint:errcheck // A leftover in the temporary folder harms nobody.
	}
}
