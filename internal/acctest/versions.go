// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/hashicorp/go-version"
)

// Feature is what only newer command lines have, with the first version of each
// that has it; empty for none.
type Feature struct{ Name, Terraform, OpenTofu string }

// The features that tests need beyond Terraform 1.5 and OpenTofu 1.7.
var (
	Functions        = Feature{"functions of providers", "1.8", "1.7"}
	MovesAcrossTypes = Feature{"moved blocks between types", "1.8", "1.10"}
	TestCommand      = Feature{"the command test", "1.6", "1.6"}
	TestMocks        = Feature{"mocks in the command test", "1.7", "1.8"}
	Ephemeral        = Feature{"ephemeral variables", "1.10", "1.11"}
	Identities       = Feature{"identities", "1.12", "1.12"}
)

// Needs skips the test, and says so, when the command line lacks the feature.
func (tf *Terraform) Needs(f Feature) {
	tf.t.Helper()
	product, have, err := productOf(tf.path)
	if err != nil {
		tf.t.Fatal(err)
	}
	if !f.in(product, have) {
		tf.t.Skipf("NOT TESTED: %s %s has no %s (Terraform %s and newer have; OpenTofu: %s); set %s to one that has", product, have, f.Name, f.Terraform, orNone(f.OpenTofu), terraformEnv)
	}
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

func (f Feature) in(product string, have *version.Version) bool {
	first := f.Terraform
	if product == "OpenTofu" {
		first = f.OpenTofu
	}
	return first != "" && have.Core().GreaterThanOrEqual(version.Must(version.NewVersion(first)))
}

var products sync.Map // path → func() (product, error): asked once

type product struct {
	name    string
	version *version.Version
}

// productOf asks a command line for its name and version.
func productOf(path string) (string, *version.Version, error) {
	ask, _ := products.LoadOrStore(path, sync.OnceValues(func() (product, error) {
		out, err := exec.Command(path, "version").Output()
		if err != nil {
			return product{}, fmt.Errorf("%s version: %w", path, err)
		}
		return parseProduct(string(out))
	}))
	answer, ok := ask.(func() (product, error))
	if !ok {
		panic("nothing else is stored")
	}
	p, err := answer()
	return p.name, p.version, err
}

// parseProduct reads the first line of what the command version writes, such as
// "Terraform v1.11.4".
func parseProduct(out string) (product, error) {
	line, _, _ := strings.Cut(out, "\n")
	name, number, _ := strings.Cut(line, " ")
	v, err := version.NewVersion(number)
	if err != nil || name != "Terraform" && name != "OpenTofu" {
		return product{}, fmt.Errorf("%q is no version of Terraform or OpenTofu", line)
	}
	return product{name, v}, nil
}
