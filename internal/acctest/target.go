// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// The project and region of tests on the emulator.
const (
	EmulatorProject = "acctest-project"
	EmulatorRegion  = "us-central1"
)

// OnCloud reports whether the tests run against Google Cloud.
func OnCloud() bool { return os.Getenv(targetEnv) == "gcp" }

// Target returns an emulator for this test alone, or nil when the tests run
// against Google Cloud. Everything else here accepts either.
func Target(t testing.TB, opts ...func(*emulator.Options)) *emulator.Emulator {
	t.Helper()
	if !OnCloud() {
		return Emulator(t, opts...)
	}
	for _, name := range []string{"GOOGLE_PROJECT", "GOOGLE_REGION"} {
		if os.Getenv(name) == "" && os.Getenv("TF_ACC") != "" {
			t.Fatalf("%s=gcp needs %s", targetEnv, name)
		}
	}
	return nil
}

// Emulator returns an emulator for this test alone. A test that calls it
// declares that it needs one: against Google Cloud it is skipped.
func Emulator(t testing.TB, opts ...func(*emulator.Options)) *emulator.Emulator {
	t.Helper()
	if OnCloud() {
		t.Skipf("needs the emulator, and %s is gcp", targetEnv)
	}
	var o emulator.Options
	for _, opt := range opts {
		opt(&o)
	}
	e, err := emulator.Start(o)
	if err != nil {
		t.Fatalf("the emulator does not start: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("the emulator does not stop cleanly: %v", err)
		}
	})
	return e
}

// Project returns the project of the target.
func Project(e *emulator.Emulator) string {
	if e == nil {
		return os.Getenv("GOOGLE_PROJECT")
	}
	return EmulatorProject
}

// Region returns the region of the target.
func Region(e *emulator.Emulator) string {
	if e == nil {
		return os.Getenv("GOOGLE_REGION")
	}
	return EmulatorRegion
}

// Name returns a name that no other test uses, and that is recognised as a
// test's: "tfacc-PREFIX-" and six random characters.
func Name(prefix string) string {
	return "tfacc-" + prefix + "-" + strings.ToLower(rand.Text()[:6])
}

// ProviderConfig returns the provider block for the target. Where the emulator
// listens is not in it: a user sets that in the environment, and so do the
// factories and the command line of this package.
func ProviderConfig(e *emulator.Emulator) string {
	return fmt.Sprintf("provider \"resilientjob\" {\n  project = %q\n  region  = %q\n}\n", Project(e), Region(e))
}

// environment returns the variables that a provider sees for the target.
func environment(e *emulator.Emulator) func(string) string {
	if e == nil {
		return os.Getenv
	}
	vars := emulatorVariables(e)
	return func(name string) string { return vars[name] }
}

func emulatorVariables(e *emulator.Emulator) map[string]string {
	return map[string]string{
		"RESILIENTJOB_EMULATOR_HOST": e.Addr(),
		"GOOGLE_PROJECT":             EmulatorProject,
		"GOOGLE_REGION":              EmulatorRegion,
	}
}

// FactoriesWithClock returns the provider by its name, in process and bound to the
// target through an environment of its own, with a clock; nil is the real one.
func FactoriesWithClock(e *emulator.Emulator, clock clockwork.Clock) map[string]func() (tfprotov6.ProviderServer, error) {
	opts := []provider.Option{provider.WithEnvironment(environment(e))}
	if clock != nil {
		opts = append(opts, provider.WithClock(clock))
	}
	return map[string]func() (tfprotov6.ProviderServer, error){
		"resilientjob": func() (tfprotov6.ProviderServer, error) {
			return providerserver.NewProtocol6WithError(provider.New("test", opts...)())()
		},
	}
}
